//! Answers that depend on the kind: methods that custom kinds answer differently from built-in ones, for upstream's
//! `crdHandler` has no router of its own, and failures about a kind that is stored under another one.

use crate::body::ApiBody;
use crate::path::Route;
use crate::respond;
use crate::status::Failure;
use crate::verbs;
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

    /// Names the resource and the verb in the failure, where a custom kind does not support the method; and the
    /// resource that was asked for, where another one stores it.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        if !self.kind.is_custom() {
            return failure.about(&self.kind);
        }
        let is_head = self.method == Method::HEAD;
        let method = if is_head { &Method::GET } else { &self.method };
        let verb = verbs::verb(method, self.is_of_one);
        let other = || method.as_str().to_lowercase();
        let verb = verb.map_or_else(other, str::to_owned);
        failure.of_method(&self.kind.resource, &verb)
    }

    /// The answer as it is sent: to a `HEAD` of a custom kind, without its body.
    pub(super) fn shown(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        if self.kind.is_custom() && self.method == Method::HEAD {
            return respond::without_body(answer);
        }
        answer
    }
}
