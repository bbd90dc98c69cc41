//! Methods that custom kinds answer differently from built-in ones. Source: upstream's `crdHandler`, which has
//! no router of its own.

use crate::body::ApiBody;
use crate::path::Route;
use crate::respond;
use crate::status::Failure;
use hindsight_core::kind::KindRef;
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;

/// The kind and the method of a request.
pub(super) struct Methods {
    kind: KindRef,
    method: Method,
    is_of_one: bool,
}

impl Methods {
    /// A `HEAD` of a custom kind is carried out as a `GET`.
    pub(super) fn of(kind: &KindRef, route: &Route, parts: &mut Parts) -> Self {
        let method = parts.method.clone();
        if kind.is_custom() && method == Method::HEAD {
            parts.method = Method::GET;
        }
        Self {
            kind: Arc::clone(kind),
            method,
            is_of_one: route.name.is_some(),
        }
    }

    /// Names the resource and the verb in the failure, where a custom kind does not support the method.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        if !self.kind.is_custom() {
            return failure;
        }
        let verb = match (&self.method, self.is_of_one) {
            (&Method::GET | &Method::HEAD, true) => "get",
            (&Method::GET | &Method::HEAD, false) => "list",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, true) => "delete",
            (&Method::DELETE, false) => "deletecollection",
            (other, _) => &other.as_str().to_lowercase(),
        };
        failure.of_method(&self.kind.resource, verb)
    }

    /// The answer as it is sent: to a `HEAD` of a custom kind, without its body.
    pub(super) fn shown(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        if self.kind.is_custom() && self.method == Method::HEAD {
            return respond::without_body(answer);
        }
        answer
    }
}
