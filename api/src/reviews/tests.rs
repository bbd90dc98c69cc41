//! How reviews report the answers of an authorizer.

use super::*;
use crate::admission::Admission;
use crate::api::Api;
use crate::authorizer::{AllowAll, Authorizer};
use crate::backend::fake::Fake;
use crate::restricted::Restricted;
use bytes::Bytes;
use http::response::Parts;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use std::sync::Arc;

/// Allows one action to one group.
#[derive(Debug)]
struct OneGrant;

impl Authorizer for OneGrant {
    fn authorize(&self, actor: &Actor, access: &Access<'_>) -> Verdict {
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
    let (head, document) = sent(authorizer, path, review);
    (head.status.as_u16(), document)
}

fn sent(authorizer: Arc<dyn Authorizer>, path: &str, review: &Value) -> (Parts, Value) {
    let path = format!("/apis/authorization.k8s.io/v1/{path}");
    let request = Request::post(path).body(Full::from(review.to_string()));
    heard(authorizer, request.expect("a request"))
}

fn heard(authorizer: Arc<dyn Authorizer>, request: Request<Full<Bytes>>) -> (Parts, Value) {
    heard_by(&api(authorizer), "owners", request)
}

fn api(authorizer: Arc<dyn Authorizer>) -> Api {
    let admission = Admission {
        authorizer,
        ..Admission::default()
    };
    Api::new(Arc::new(Fake::new()), Arc::new(admission))
}

/// The answer to a user of this group.
fn heard_by(api: &Api, group: &str, request: Request<Full<Bytes>>) -> (Parts, Value) {
    let actor = Actor {
        groups: vec![group.into()],
        ..Actor::new("ann")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let answer = async {
        let answer = api.handle(request, Some(Arc::new(actor))).await;
        let (head, body) = answer.into_parts();
        (head, body.collect().await.expect("a body"))
    };
    let (head, body) = runtime.expect("a runtime").block_on(answer);
    let document = serde_json::from_slice(&body.to_bytes());
    (head, document.expect("JSON"))
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

/// Impersonation is refused whoever asks for it; who may reach a path of the program says the program.
#[test]
fn reviews_refuse_what_requests_are_refused() {
    let user = Request::get("/version").header("impersonate-user", "bob");
    let (head, answer) = heard(
        Arc::new(AllowAll),
        user.body(Full::default()).expect("a request"),
    );
    assert_eq!(head.status.as_u16(), 403, "{answer}");
    let told = answer["message"].as_str().expect("a message");
    for authorizer in [
        Arc::new(AllowAll) as Arc<dyn Authorizer>,
        Arc::new(OneGrant),
    ] {
        for verb in [
            "impersonate",
            "impersonate:user-info",
            "impersonate-on:user-info:get",
        ] {
            let spec = json!({"user": "ann", "groups": ["system:masters"],
                "resourceAttributes": {"verb": verb, "resource": "users", "name": "bob"}});
            let said = status(Arc::clone(&authorizer), "subjectaccessreviews", &spec);
            assert_eq!(said["allowed"], false, "{verb}");
            let why = said["reason"].as_str().expect("a reason");
            assert!(told.ends_with(&format!(": {why}")), "{told}");
        }
    }
    let spec = json!({"resourceAttributes": {"verb": "impersonated", "resource": "users"}});
    let said = status(Arc::new(AllowAll), "selfsubjectaccessreviews", &spec);
    assert_eq!(said["allowed"], true);
}

#[test]
fn a_restricted_path_is_refused_to_all_but_its_group() {
    let restricted = Restricted {
        path: "/p/secret".into(),
        group: "few".into(),
        why: "it is secret".into(),
        others: vec!["/p/open".into()],
    };
    let allow_all: Arc<dyn Authorizer> = Arc::new(AllowAll);
    let program = api(Arc::clone(&allow_all)).with_restricted(restricted);
    let asked = |group: &str, path: &str, spec: &Value| {
        let path = format!("/apis/authorization.k8s.io/v1/{path}");
        let request = Request::post(path).body(Full::from(json!({"spec": spec}).to_string()));
        heard_by(&program, group, request.expect("a request")).1["status"].take()
    };
    for (path, refused) in [
        ("/p/secret", true),
        ("/p/*", true),
        ("/p/secret/", false),
        ("/p/s", false),
        ("/p/open", false),
        ("/p/o*", false),
    ] {
        let of_path = json!({"path": path, "verb": "get"});
        let own = json!({"nonResourceAttributes": of_path});
        let other =
            |group| json!({"nonResourceAttributes": of_path, "user": "bob", "groups": [group]});
        let (mine, theirs) = ("selfsubjectaccessreviews", "subjectaccessreviews");
        for said in [
            asked("many", mine, &own),
            asked("few", theirs, &other("many")),
        ] {
            assert_eq!(said["allowed"], !refused, "{path}");
            assert_eq!(said["reason"] == "it is secret", refused, "{said}");
        }
        for said in [
            asked("few", mine, &own),
            asked("many", theirs, &other("few")),
        ] {
            assert_eq!(said["allowed"], true, "{path}");
        }
    }
    let rules = |group| asked(group, "selfsubjectrulesreviews", &json!({"namespace": "d"}));
    let paths = |group| rules(group)["nonResourceRules"][0]["nonResourceURLs"].take();
    assert_eq!(paths("few"), json!(["*"]));
    let named = paths("many");
    let named = named.as_array().expect("paths");
    assert!(named.contains(&json!("/p/open")) && named.contains(&json!("/version")));
    let covers = |one: &Value| {
        let one = one.as_str().expect("a path");
        one == "/p/secret"
            || one
                .strip_suffix('*')
                .is_some_and(|start| "/p/secret".starts_with(start))
    };
    assert!(!named.iter().any(covers), "{named:?}");
}

#[test]
fn all_rules_are_known_where_everybody_may_do_everything() {
    let spec = json!({"namespace": "d"});
    let path = "selfsubjectrulesreviews";
    let all = status(Arc::new(AllowAll), path, &spec);
    assert_eq!(all["incomplete"], false);
    assert_eq!(all["resourceRules"][0]["resources"], json!(["*"]));
    let verbs = &all["resourceRules"][0]["verbs"];
    assert!(
        verbs
            .as_array()
            .is_some_and(|verbs| verbs.contains(&json!("deletecollection")))
    );
    assert!(
        !verbs.to_string().contains('*'),
        "it would include impersonate: {verbs}"
    );
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
            422,
        ),
    ] {
        let (code, answer) = answered(Arc::new(AllowAll), path, &review);
        assert_eq!(code, expected, "{path} {review}: {answer}");
    }
}

#[test]
fn fields_that_no_review_has_are_judged_as_those_of_any_object() {
    let asked = json!({"resource": "pods", "verb": "get", "nam": "p"});
    let review = json!({"spec": {"user": "a", "resourceAttributes": asked, "use": "b"}, "x": 1});
    let warned = [
        r#"299 - "unknown field \"spec.resourceAttributes.nam\"""#,
        r#"299 - "unknown field \"spec.use\"""#,
        r#"299 - "unknown field \"x\"""#,
    ];
    for (query, expected, warnings) in [
        ("", 201, &warned[..]),
        ("?fieldValidation=Warn", 201, &warned),
        ("?fieldValidation=Ignore", 201, &[]),
        ("?fieldValidation=Strict", 400, &[]),
    ] {
        let path = format!("subjectaccessreviews{query}");
        let (head, answer) = sent(Arc::new(AllowAll), &path, &review);
        assert_eq!(head.status.as_u16(), expected, "{query}: {answer}");
        let told: Vec<_> = head.headers.get_all(header::WARNING).iter().collect();
        assert_eq!(told, warnings, "{query}");
        let message = answer["message"].as_str().unwrap_or_default();
        let strict = message.starts_with(
            r#"SubjectAccessReview in version "v1" cannot be handled as a SubjectAccessReview: strict decoding error: unknown field "spec.res"#,
        );
        assert_eq!(strict, expected == 400, "{message}");
        assert_eq!(answer["spec"]["use"], Value::Null, "{answer}");
    }
}

/// Source: upstream's `pkg/apis/authorization/validation`.
#[test]
fn a_review_has_no_metadata_but_its_namespace() {
    let (own, local) = (
        "selfsubjectaccessreviews",
        "namespaces/d/localsubjectaccessreviews",
    );
    let other = "the namespace of the provided object does not match";
    let system = json!({"uid": "u", "creationTimestamp": null, "name": "", "generation": 0});
    for (path, metadata, code, told) in [
        (own, Value::Null, 201, ""),
        (own, system, 201, ""),
        (
            own,
            json!({"namespace": "e", "managedFields": [{}]}),
            201,
            "",
        ),
        (own, json!({"name": "x"}), 422, "}: must be empty"),
        (own, json!({"labels": {"a": "b"}}), 422, "}: must be empty"),
        (own, json!("x"), 400, "cannot be handled as a"),
        (local, json!({"namespace": "d"}), 201, ""),
        (local, json!({"namespace": "e"}), 400, other),
        (
            local,
            json!({"name": "x"}),
            422,
            "}: must be empty except for namespace",
        ),
    ] {
        let asked = json!({"resource": "pods", "verb": "get", "namespace": "d"});
        let spec = json!({"user": "a", "resourceAttributes": asked});
        let review = json!({"metadata": metadata, "spec": spec});
        let (found, answer) = answered(Arc::new(AllowAll), path, &review);
        assert_eq!(found, code, "{path} {metadata}: {answer}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains(told), "{path} {metadata}: {message}");
    }
}

#[test]
fn a_review_in_a_namespace_is_of_that_namespace_and_of_no_path() {
    let local = "namespaces/d/localsubjectaccessreviews";
    let path = json!({"path": "/livez", "verb": "get"});
    for (spec, causes) in [
        (json!({"resourceAttributes": {"namespace": "d"}}), &[][..]),
        (
            json!({"resourceAttributes": {"namespace": "e"}}),
            &["spec.resourceAttributes.namespace: \"e\": must match metadata.namespace"],
        ),
        (
            json!({"resourceAttributes": {}}),
            &["spec.resourceAttributes.namespace: \"\": must match metadata.namespace"],
        ),
        (
            json!({"nonResourceAttributes": path}),
            &["spec.nonResourceAttributes: {...}: disallowed on this kind of request"],
        ),
    ] {
        let mut spec = spec;
        spec["user"] = json!("a");
        let (_, answer) = answered(Arc::new(AllowAll), local, &json!({"spec": spec}));
        assert_eq!(answer["metadata"]["namespace"] == "d", causes.is_empty());
        let told = answer["details"]["causes"].as_array().cloned();
        let told: Vec<_> = told.iter().flatten().map(cause).collect();
        assert_eq!(told, causes, "{answer}");
    }
}

/// Source: upstream's `AllowsMediaTypeTransform` and `doTransformObject`.
#[test]
fn a_review_has_a_form_of_its_metadata_and_no_table() {
    const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let either = format!("{TABLE},{METADATA}");
    let list = METADATA.replace("Metadata;", "MetadataList;");
    for (accepted, code, kind) in [
        ("application/json", 201, "LocalSubjectAccessReview"),
        (METADATA, 201, "PartialObjectMetadata"),
        (&either, 201, "PartialObjectMetadata"),
        (TABLE, 406, "Status"),
        (&list, 406, "Status"),
        ("text/html", 406, "Status"),
    ] {
        let review = json!({"spec": {"user": "a", "resourceAttributes": {"namespace": "d"}}});
        let path = "/apis/authorization.k8s.io/v1/namespaces/d/localsubjectaccessreviews";
        let request = Request::post(path).header(header::ACCEPT, accepted);
        let request = request.body(Full::from(review.to_string()));
        let (head, answer) = heard(Arc::new(AllowAll), request.expect("a request"));
        assert_eq!(head.status.as_u16(), code, "{accepted}: {answer}");
        assert_eq!(answer["kind"], kind, "{accepted}");
        if kind == "PartialObjectMetadata" {
            assert_eq!(answer["apiVersion"], "meta.k8s.io/v1");
            assert_eq!(answer["metadata"], json!({"namespace": "d"}));
            assert_eq!(answer.get("status"), None);
        }
    }
}

/// Source: `Create` of upstream's `selfsubjectreview` and `selfsubjectrulesreview`.
#[test]
fn who_asks_about_itself_is_told_no_more_than_the_answer() {
    let rules = json!({"incomplete": false,
        "resourceRules": [{"verbs": VERBS, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]});
    let user = json!({"userInfo": {"username": "ann", "groups": ["owners"]}});
    let now = json!({"creationTimestamp": "1970-01-01T00:00:00Z"});
    for (version, resource, kind, answered) in [
        (
            "authentication.k8s.io/v1",
            "selfsubjectreviews",
            "SelfSubjectReview",
            json!({"metadata": now, "status": user}),
        ),
        (
            "authorization.k8s.io/v1",
            "selfsubjectrulesreviews",
            "SelfSubjectRulesReview",
            json!({"metadata": {}, "spec": {}, "status": rules}),
        ),
    ] {
        let mut review = json!({"metadata": {"name": "n", "labels": {"a": "b"}}});
        if resource == "selfsubjectrulesreviews" {
            review["spec"] = json!({"namespace": "d"});
        }
        let request = Request::post(format!("/apis/{version}/{resource}"));
        let request = request.body(Full::from(review.to_string()));
        let (head, answer) = heard(Arc::new(AllowAll), request.expect("a request"));
        assert_eq!(head.status.as_u16(), 201, "{answer}");
        let mut expected = answered;
        expected["apiVersion"] = json!(version);
        expected["kind"] = json!(kind);
        assert_eq!(answer, expected);
    }
}

/// A cause as its field and its message; objects in the message are abbreviated.
fn cause(cause: &Value) -> String {
    let text = |member: &str| cause[member].as_str().unwrap_or_default();
    let message = text("message").trim_start_matches("Invalid value: ");
    let why = message
        .rsplit_once("}: ")
        .map(|(_, why)| format!("{{...}}: {why}"));
    format!("{}: {}", text("field"), why.unwrap_or(message.to_owned()))
}
