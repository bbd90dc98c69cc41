//! What reviews say of an authorizer's answers.

use super::*;
use crate::admission::Admission;
use crate::authorizer::AllowAll;
use crate::backend::fake::Fake;
use crate::handler::Api;
use http::Request;
use http_body_util::{BodyExt, Full};
use std::sync::Arc;

/// Allows this one thing to this one group.
#[derive(Debug)]
struct OneGrant;

impl Authorizer for OneGrant {
    fn allowed(&self, actor: &Actor, access: &Access<'_>) -> Verdict {
        let expected = Access {
            verb: "update",
            resource: &GroupResource::new("apps", "deployments"),
            subresource: "finalizers",
            namespace: "d",
            name: "w",
        };
        if actor.groups.iter().any(|group| &**group == "owners") && *access == expected {
            return Verdict::Allowed;
        }
        Verdict::Denied(format!("{} may not", actor.user))
    }
}

fn status(authorizer: Arc<dyn Authorizer>, path: &str, spec: &Value) -> Value {
    let (_, review) = answered(authorizer, path, &json!({"spec": spec}));
    review["status"].clone()
}

fn answered(authorizer: Arc<dyn Authorizer>, path: &str, review: &Value) -> (u16, Value) {
    let admission = Admission {
        authorizer,
        ..Admission::default()
    };
    let api = Api::new(Arc::new(Fake::new()), Arc::new(admission));
    let body = Full::from(review.to_string());
    let path = format!("/apis/authorization.k8s.io/v1/{path}");
    let request = Request::post(path).body(body).expect("a request");
    let actor = Actor {
        groups: vec!["owners".into()],
        ..Actor::new("ann")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let answer = async {
        let answer = api.handle(request, Some(Arc::new(actor))).await;
        let code = answer.status().as_u16();
        (code, answer.into_body().collect().await.expect("a body"))
    };
    let (code, body) = runtime.expect("a runtime").block_on(answer);
    let document = serde_json::from_slice(&body.to_bytes());
    (code, document.expect("JSON"))
}

#[test]
fn a_review_says_what_the_authorizer_says() {
    let of = |verb: &str, name: &str| {
        json!({"group": "apps", "resource": "deployments", "subresource": "finalizers",
            "namespace": "d", "name": name, "verb": verb})
    };
    let spec = |who: &Value, what: Value| {
        let mut spec = who.clone();
        spec["resourceAttributes"] = what;
        spec
    };
    let (own, local) = (
        "selfsubjectaccessreviews",
        "namespaces/d/localsubjectaccessreviews",
    );
    let other = "subjectaccessreviews";
    let owner = json!({"user": "bob", "groups": ["owners"]});
    let nobody = json!({"user": "bob"});
    let allowed = json!({"allowed": true});
    let refused = |who: &str| json!({"allowed": false, "reason": format!("{who} may not")});
    for (path, spec, expected) in [
        (own, spec(&json!({}), of("update", "w")), allowed.clone()),
        (own, spec(&json!({}), of("delete", "w")), refused("ann")),
        (own, spec(&json!({}), of("update", "v")), refused("ann")),
        (other, spec(&owner, of("update", "w")), allowed.clone()),
        (other, spec(&nobody, of("update", "w")), refused("bob")),
        (local, spec(&owner, of("update", "w")), allowed),
        (local, spec(&nobody, of("update", "w")), refused("bob")),
    ] {
        let said = status(Arc::new(OneGrant), path, &spec);
        assert_eq!(said, expected, "{path} {spec}");
        let said = status(Arc::new(AllowAll), path, &spec);
        assert_eq!(said["allowed"], true, "{path} {spec}");
    }
    let path = json!({"nonResourceAttributes": {"path": "/livez", "verb": "get"}});
    assert_eq!(status(Arc::new(OneGrant), own, &path)["allowed"], true);
}

#[test]
fn all_rules_are_known_where_everybody_may_do_everything() {
    let spec = json!({"namespace": "d"});
    let path = "selfsubjectrulesreviews";
    let all = status(Arc::new(AllowAll), path, &spec);
    assert_eq!(all["incomplete"], false);
    assert_eq!(all["resourceRules"][0]["resources"], json!(["*"]));
    let unknown = status(Arc::new(OneGrant), path, &spec);
    assert_eq!(unknown["incomplete"], true);
    assert_eq!(unknown["resourceRules"], json!([]));
    assert!(unknown["evaluationError"].is_string());
}

#[test]
fn what_is_no_review_is_not_answered_as_one() {
    let of = |spec: Value| json!({"spec": spec});
    let asked = json!({"resource": "pods", "verb": "get", "namespace": "d"});
    let subject = "subjectaccessreviews";
    for (path, review, expected) in [
        (
            subject,
            of(json!({"user": "a", "resourceAttributes": asked})),
            201,
        ),
        (
            subject,
            of(json!({"groups": ["a"], "resourceAttributes": asked})),
            201,
        ),
        (
            subject,
            of(json!({"groups": "a", "resourceAttributes": asked})),
            400,
        ),
        (
            subject,
            of(json!({"groups": ["a", 5], "resourceAttributes": asked})),
            400,
        ),
        (
            subject,
            of(json!({"user": 5, "resourceAttributes": asked})),
            400,
        ),
        (
            subject,
            of(json!({"user": "a", "resourceAttributes": "x"})),
            400,
        ),
        (subject, of(json!("x")), 400),
        (subject, of(Value::Null), 422),
        (subject, json!({"kind": "Foo", "apiVersion": "x/v9"}), 400),
        ("subjectaccessreviews?dryRun=x", of(json!({})), 422),
        (
            "namespaces/d/localsubjectaccessreviews",
            of(json!({"user": "a", "resourceAttributes": asked})),
            201,
        ),
        (
            "namespaces/e/localsubjectaccessreviews",
            of(json!({"user": "a", "resourceAttributes": asked})),
            400,
        ),
    ] {
        let (code, answer) = answered(Arc::new(AllowAll), path, &review);
        assert_eq!(code, expected, "{path} {review}: {answer}");
    }
}
