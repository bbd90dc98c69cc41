//! Reviews of tokens: whose they are, and that they are for this server. Source: upstream's
//! `pkg/registry/authentication/tokenreview` and its `WrapAudienceAgnosticToken`.

use crate::authenticator::Authenticator;
use crate::fragments;
use serde_json::{Value, json};

/// What every token is for: upstream's default for the server itself, there the issuer of service accounts.
const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";
/// Source: upstream's `bearertoken`.
const INVALID: &str = "invalid bearer token";

/// The status of the review with this spec. A token is not vouched for before another audience.
pub(super) fn status(authenticator: Option<&dyn Authenticator>, spec: &Value) -> Value {
    let token = spec.get("token").and_then(Value::as_str);
    let audiences = spec.get("audiences").and_then(Value::as_array);
    let for_us = audiences.is_none_or(|audiences| {
        audiences.is_empty() || audiences.iter().any(|audience| audience == AUDIENCE)
    });
    let known = authenticator.filter(|_| for_us).zip(token);
    let actor = known.and_then(|(authenticator, token)| authenticator.authenticate(token.trim()));
    match actor {
        Some(actor) => {
            let user = fragments::user_info(&actor);
            json!({"authenticated": true, "user": user, "audiences": [AUDIENCE]})
        }
        None => json!({"authenticated": false, "user": {}, "error": INVALID}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::Actor;
    use std::sync::Arc;

    #[derive(Debug)]
    struct OneToken;

    impl Authenticator for OneToken {
        fn authenticate(&self, token: &str) -> Option<Arc<Actor>> {
            let actor = Actor {
                uid: "u".into(),
                groups: vec!["g".into(), "system:authenticated".into()],
                ..Actor::new("ann")
            };
            (token == "t").then(|| Arc::new(actor))
        }
    }

    #[test]
    fn a_token_is_vouched_for_with_its_user_before_the_audience_that_it_is_for() {
        let known = json!({"authenticated": true, "audiences": [AUDIENCE], "user": {"username": "ann",
            "uid": "u", "groups": ["g", "system:authenticated"]}});
        let unknown = json!({"authenticated": false, "user": {}, "error": INVALID});
        for (spec, expected) in [
            (json!({"token": "t"}), &known),
            (json!({"token": "t", "audiences": []}), &known),
            (json!({"token": "t", "audiences": ["x", AUDIENCE]}), &known),
            (json!({"token": "t", "audiences": ["x"]}), &unknown),
            (json!({"token": "s"}), &unknown),
        ] {
            assert_eq!(status(Some(&OneToken), &spec), *expected, "{spec}");
            assert_eq!(status(None, &spec), unknown, "{spec}");
        }
    }
}
