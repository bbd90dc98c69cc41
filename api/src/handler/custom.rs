//! Methods that custom kinds answer otherwise than built-in ones. Source: upstream's `crdHandler`, which
//! has no router of its own.

use crate::body::ApiBody;
use crate::path::Route;
use crate::respond;
use crate::status::Failure;
use hindsight_core::kind::KindRef;
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;

/// What was asked of which kind.
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

    /// A kind that has no such method is named.
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

    /// What is answered of what would come.
    pub(super) fn shown(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        if self.kind.is_custom() && self.method == Method::HEAD {
            return respond::without_body(answer);
        }
        answer
    }
}
