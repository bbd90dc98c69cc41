//! Documents with a tag: who has one already is not sent it again.

use crate::body::ApiBody;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

/// A client that has this document already is told so.
pub(crate) fn tagged(
    headers: &HeaderMap,
    tag: &str,
    make: impl FnOnce() -> Response<ApiBody>,
) -> Response<ApiBody> {
    let quoted = format!("\"{tag}\"");
    let known = headers.get(header::IF_NONE_MATCH);
    let mut response = if known.is_some_and(|known| known.as_bytes() == quoted.as_bytes()) {
        not_modified()
    } else {
        make()
    };
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        response.headers_mut().insert(header::ETAG, value);
    }
    let vary = HeaderValue::from_static("Accept");
    response.headers_mut().insert(header::VARY, vary);
    response
}

/// Without a body, and so without a type of one.
fn not_modified() -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}
