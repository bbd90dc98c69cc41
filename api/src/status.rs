//! `metav1.Status`: the one place where a rejection becomes an HTTP status code.

use crate::offload::LONG_BYTES;
use hindsight_core::kind::{GroupResource, Kind};
use hindsight_core::rejection::FieldCause;
use hindsight_core::{Rejection, Unavailable};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Reasons that say what a failure is, whatever its code is. Source: upstream's `knownReasons`.
const KNOWN_REASONS: [&str; 18] = [
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
];

/// A failure as clients see it: a `Status` and its code.
#[derive(Debug, Clone)]
pub struct Failure {
    pub(crate) code: u16,
    reason: Cow<'static, str>,
    message: Box<str>,
    details: Option<Value>,
    /// The continue token for a list that cannot be continued as it was.
    token: Option<Box<str>>,
    /// Warnings that are sent with the refusal, as `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into().into_boxed_str(),
            details: None,
            token: None,
            warnings: Vec::new(),
        }
    }

    /// Whether the message is as long as a long body.
    pub(crate) fn is_long(&self) -> bool {
        self.message.len() > LONG_BYTES
    }

    /// 504: admission took too long.
    pub(crate) fn admission_timed_out() -> Self {
        let message = "Timeout: request did not complete within requested timeout";
        Self::new(504, "Timeout", message).with(json!({}))
    }

    /// 504: the request itself did not arrive in time. Source: upstream's
    /// `WithTimeoutForNonLongRunningRequests`.
    pub(crate) fn body_timed_out() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(504, "Timeout", message).with(json!({}))
    }

    /// 429: try again in a second.
    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(429, "TooManyRequests", message).with(json!({"retryAfterSeconds": 1}))
    }

    /// 429: other requests occupy the room for bodies.
    pub(crate) fn no_room() -> Self {
        Self::too_many("too many requests are under way; try again in a second")
    }

    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NotFound", message)
    }

    /// 405.
    pub fn only_get() -> Self {
        Self::new(405, "MethodNotAllowed", "only GET is supported here")
    }

    /// A failure in the words of a webhook.
    pub(crate) fn refused(
        code: u16,
        reason: String,
        message: String,
        details: Option<Value>,
    ) -> Self {
        Self {
            reason: reason.into(),
            details,
            ..Self::new(code, "", message)
        }
    }

    /// 500: what should have worked did not.
    pub fn internal(why: String) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self::new(500, "InternalError", message).with(json!({"causes": [{"message": why}]}))
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(json!({}))
    }

    /// The same failure in the words of custom kinds, if it is about a method that is not supported. A write
    /// under `/as-of/` keeps its own words.
    pub(crate) fn of_method(self, resource: &GroupResource, verb: &str) -> Self {
        if self.code != 405 || self.details.is_none() {
            return self;
        }
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self {
            message: message.into(),
            ..self.with(json!({"group": &*resource.group, "kind": &*resource.resource}))
        }
    }

    /// The failure with this kind as the one that the object is of, where another kind stores it.
    pub(crate) fn about(mut self, kind: &Kind) -> Self {
        let (asked, stored) = (&kind.resource, kind.stored_under());
        let named = format!("{stored} \"");
        if *asked == stored || !self.message.contains(&named) {
            return self;
        }
        let message = self.message.replacen(&named, &format!("{asked} \""), 1);
        self.message = message.into();
        if let Some(Value::Object(details)) = &mut self.details {
            details.insert("group".into(), Value::from(&*asked.group));
        }
        self
    }

    pub(crate) fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).with(json!({}))
    }

    /// There is no such object; or, without a name, no such kind any more, of which one was to be created.
    fn missing(resource: &GroupResource, name: &str, message: String) -> Self {
        if name.is_empty() {
            return Self::no_such_resource();
        }
        Self::new(404, "NotFound", message).with(details(resource, name))
    }

    /// 406 where no media type is known, in the words of upstream's router.
    pub(crate) fn no_representation() -> Self {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json, \
                       application/yaml";
        Self::new(406, "NotAcceptable", message).with(json!({}))
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, \
                       application/yaml";
        Self::new(406, "NotAcceptable", message)
    }

    /// 406 for a watch, which has no other form.
    pub(crate) fn not_streamable() -> Self {
        let message = "only the following media types are accepted: application/json;stream=watch";
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 410: what was asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 410: the version of the list's first pages is no longer kept. A client that continues with this token is
    /// shown the rest as it is now. Clients look for the beginning of the text.
    pub(crate) fn too_old_to_continue(token: &str) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list: start a new list, or \
            go on with the continue token of this answer, which shows the rest as it is now";
        Self {
            token: Some(token.into()),
            ..Self::expired(message)
        }
    }

    pub(crate) fn too_large_version(asked: u64, newest: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
        Self::new(504, "Timeout", message).with(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }))
    }

    /// 422 on an options type of `meta.k8s.io`.
    pub(crate) fn invalid_options(kind: &str, causes: Vec<FieldCause>) -> Self {
        Self::from(Rejection::Invalid {
            group: "meta.k8s.io".into(),
            kind: kind.into(),
            name: "".into(),
            causes,
        })
    }

    /// What went wrong, in words.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether it says that the object is not there. A webhook that refuses may use the code for another reason.
    /// Source: upstream's `IsNotFound`.
    pub(crate) fn is_not_found(&self) -> bool {
        self.reason == "NotFound" || (self.code == 404 && !KNOWN_REASONS.contains(&&*self.reason))
    }

    /// Whether what was asked for is no longer kept.
    pub(crate) const fn is_expired(&self) -> bool {
        self.code == 410
    }

    /// The failure with these warnings before its own.
    pub(crate) fn with_warnings(mut self, mut warnings: Vec<String>) -> Self {
        warnings.append(&mut self.warnings);
        self.warnings = warnings;
        self
    }

    /// What is said instead if a part of a request for many was carried out before: whoever is told to try again would
    /// also change what was made since.
    pub(crate) fn after_a_part(self) -> Self {
        const PART: &str = "a part of it was carried out";
        if self.retry_after().is_none() {
            let message = format!("{PART}; of the rest: {}", self.message).into_boxed_str();
            return Self { message, ..self };
        }
        let message = format!(
            "{PART}, and the rest was answered with {} {}: look at what is left before you ask for it, because what was \
             made since would go as well",
            self.code, self.reason
        );
        Self::new(500, "InternalError", message).with_warnings(self.warnings)
    }

    pub(crate) fn with(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// The `Status` document.
    pub(crate) fn to_json(&self) -> Value {
        let metadata = match &self.token {
            Some(token) => json!({"continue": token}),
            None => json!({}),
        };
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(members) = status.as_object_mut() {
            if !self.reason.is_empty() {
                members.insert("reason".into(), Value::from(&*self.reason));
            }
            if let Some(details) = &self.details {
                members.insert("details".into(), details.clone());
            }
        }
        status
    }

    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }
}

fn details(resource: &GroupResource, name: &str) -> Map<String, Value> {
    let mut details = Map::from_iter([("kind".into(), Value::from(&*resource.resource))]);
    for (member, text) in [("name", name), ("group", &*resource.group)] {
        if !text.is_empty() {
            details.insert(member.into(), text.into());
        }
    }
    details
}

fn causes(causes: &[FieldCause]) -> Value {
    let one = |cause: &FieldCause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field});
    causes.iter().map(one).collect()
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        let message = rejection.to_string();
        match rejection {
            Rejection::BadRequest(_) => Self::bad_request(message),
            Rejection::Forbidden {
                resource,
                name,
                causes: found,
                ..
            } => {
                let mut details = details(&resource, &name);
                if !found.is_empty() {
                    details.insert("causes".into(), causes(&found));
                }
                Self::new(403, "Forbidden", message).with(details)
            }
            Rejection::NotFound { resource, name } => Self::missing(&resource, &name, message),
            Rejection::AlreadyExists {
                resource,
                name,
                generated,
                ..
            } => {
                let mut details = details(&resource, &name);
                if generated {
                    details.insert("retryAfterSeconds".into(), json!(1));
                }
                Self::new(409, "AlreadyExists", message).with(details)
            }
            Rejection::Conflict { resource, name, .. } => {
                Self::new(409, "Conflict", message).with(details(&resource, &name))
            }
            Rejection::Contested { causes: found, .. } => {
                Self::new(409, "Conflict", message).with(json!({"causes": causes(&found)}))
            }
            Rejection::TooLarge(_) => Self::new(413, "RequestEntityTooLarge", message),
            Rejection::Invalid {
                group,
                kind,
                name,
                causes: found,
            } => {
                let mut details = Map::from_iter([("causes".into(), causes(&found))]);
                for (member, text) in [("name", name), ("group", group), ("kind", kind)] {
                    if !text.is_empty() {
                        details.insert(member.into(), Value::from(&*text));
                    }
                }
                Self::new(422, "Invalid", message).with(details)
            }
            Rejection::Disruption {
                message: why,
                retry_after_seconds,
            } => {
                let cause = json!({"reason": "DisruptionBudget", "message": why});
                let mut details = Map::from_iter([("causes".into(), json!([cause]))]);
                if retry_after_seconds > 0 {
                    details.insert("retryAfterSeconds".into(), json!(retry_after_seconds));
                }
                Self::new(429, "TooManyRequests", message).with(details)
            }
            Rejection::Unprocessable => Self::new(422, "Invalid", message).with(json!({})),
            Rejection::Internal(_) => Self::new(500, "", message),
            Rejection::Stale { .. } => Self::new(409, "Conflict", message),
            Rejection::Warned { refusal, warnings } => Self::from(*refusal).with_warnings(warnings),
        }
    }
}

impl From<Unavailable> for Failure {
    fn from(unavailable: Unavailable) -> Self {
        let message = unavailable.to_string();
        let retry = json!({"retryAfterSeconds": 1});
        match unavailable {
            Unavailable::Overloaded => Self::new(429, "TooManyRequests", message).with(retry),
            Unavailable::Poisoned(_) => Self::new(500, "InternalError", message),
            // Without a time to retry after: clients would silently wait for it.
            Unavailable::Full => Self::new(507, "InsufficientStorage", message),
            Unavailable::Stopping => Self::new(503, "ServiceUnavailable", message).with(retry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_not_there_by_the_reason_and_not_by_the_code_alone() {
        for (code, reason, is_absent) in [
            (404, "NotFound", true),
            (400, "NotFound", true),
            (404, "", true),
            (404, "ItRained", true),
            (404, "Forbidden", false),
            (403, "Forbidden", false),
            (403, "ItRained", false),
        ] {
            let failure = Failure::refused(code, reason.into(), String::new(), None);
            assert_eq!(failure.is_not_found(), is_absent, "{code} {reason}");
        }
    }

    #[test]
    fn what_has_no_name_yet_is_not_told_to_be_missing() {
        let resource = GroupResource::new("a.io", "widgets");
        for (name, told) in [
            ("", "the server could not find the requested resource"),
            ("w", "widgets.a.io \"w\" not found"),
        ] {
            let (resource, name) = (resource.clone(), name.into());
            let failure = Failure::from(Rejection::NotFound { resource, name });
            assert_eq!((failure.code, &*failure.message), (404, told));
        }
    }

    /// Of these only the first and the last say when to come again, and only after the third it is unknown what was
    /// written.
    #[test]
    fn what_was_not_written_is_told_from_what_may_be() {
        let poisoned = Unavailable::Poisoned("it rained".into());
        for (why, code, reason, retry_after) in [
            (Unavailable::Overloaded, 429, "TooManyRequests", Some(1)),
            (Unavailable::Full, 507, "InsufficientStorage", None),
            (poisoned, 500, "InternalError", None),
            (Unavailable::Stopping, 503, "ServiceUnavailable", Some(1)),
        ] {
            let message = why.to_string();
            let failure = Failure::from(why);
            assert_eq!(&*failure.message, message);
            let told = (failure.code, &*failure.reason, failure.retry_after());
            assert_eq!(told, (code, reason, retry_after), "{message}");
        }
    }
}
