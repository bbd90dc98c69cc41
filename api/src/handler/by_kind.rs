//! Answers that depend on the kind: methods that custom kinds answer differently from built-in ones, for upstream's
//! `crdHandler` has no router of its own, and failures about a kind that is stored under another one.

use crate::body::ApiBody;
use crate::path::Route;
use crate::request;
use crate::respond;
use crate::status::Failure;
use hindsight_core::kind::{Kind, KindRef};
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;

/// Has a `HEAD` of a custom kind carried out as a `GET`; returns whether it was one.
pub(super) fn head_as_get(kind: &Kind, parts: &mut Parts) -> bool {
    let is_head = kind.is_custom() && parts.method == Method::HEAD;
    if is_head {
        parts.method = Method::GET;
    }
    is_head
}

/// What is asked of a kind.
pub(super) struct KindRequest {
    kind: KindRef,
    method: Method,
    is_of_one: bool,
    /// Whether the answer is sent without its body.
    is_head: bool,
}

impl KindRequest {
    pub(super) fn new(kind: &KindRef, method: &Method, route: &Route, is_head: bool) -> Self {
        Self {
            kind: Arc::clone(kind),
            method: method.clone(),
            is_of_one: route.name.is_some(),
            is_head,
        }
    }

    /// Names the resource and the verb in the failure, where a custom kind does not support the method; and the
    /// resource that was asked for, where another one stores it.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        if !self.kind.is_custom() {
            return failure.about(&self.kind);
        }
        let verb = request::verb(&self.method, self.is_of_one);
        let other = || self.method.as_str().to_lowercase();
        let verb = verb.map_or_else(other, str::to_owned);
        failure.of_method(&self.kind.resource, &verb)
    }

    /// The answer as it is sent: to a `HEAD` of a custom kind, without its body.
    pub(super) fn shown(&self, answer: Response<ApiBody>) -> Response<ApiBody> {
        if self.is_head {
            return respond::without_body(answer);
        }
        answer
    }
}
