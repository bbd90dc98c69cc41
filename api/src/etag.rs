//! Documents with an `ETag`, which are not sent to a client that has them already.

use crate::body::ApiBody;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

/// Answers with the document, or with 304 if the client has it already.
pub(crate) fn tagged(
    headers: &HeaderMap,
    tag: &str,
    make: impl FnOnce() -> Response<ApiBody>,
) -> Response<ApiBody> {
    let quoted = quoted(tag);
    let mut response = if is_known(headers, tag) {
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

/// Whether the client has the document already.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH);
    known.is_some_and(|known| known.as_bytes() == quoted(tag).as_bytes())
}

fn quoted(tag: &str) -> String {
    format!("\"{tag}\"")
}

/// 304, without a body and so without its media type.
fn not_modified() -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    response
}
