//! The `Host` header of HTTP/1. Without exactly one, those on the way may take a request for another host's.

use hindsight_api::ApiBody;
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};

/// The refusal of a request that names no host, or several. Source: RFC 9112, 3.2, and Go's `conn.readRequest`, which
/// asks before anybody looks at the credentials.
pub(super) fn refuse<B>(request: &Request<B>) -> Option<Response<ApiBody>> {
    let hosts = request.headers().get_all(HOST).iter().count();
    let is_required = request.version() == Version::HTTP_11 && request.method() != Method::CONNECT;
    let why = match hosts {
        _ if request.version() > Version::HTTP_11 => return None,
        0 if is_required => "400 Bad Request: missing required Host header",
        0 | 1 => return None,
        _ => "400 Bad Request: too many Host headers",
    };
    let mut response = Response::new(ApiBody::full(why));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, text);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}
