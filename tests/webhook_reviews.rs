//! What webhooks are asked about reviews and bindings, which are answered and never stored.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::Scene;
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};

/// Lines of `group | path | kind | body`.
const REVIEWS: &str = r#"
authentication.k8s.io | selfsubjectreviews | SelfSubjectReview | {}
authentication.k8s.io | tokenreviews | TokenReview | {"spec": {"token": "t"}}
authorization.k8s.io | selfsubjectrulesreviews | SelfSubjectRulesReview | {"spec": {"namespace": "default"}}
authorization.k8s.io | selfsubjectaccessreviews | SelfSubjectAccessReview | {"spec": {"resourceAttributes": {"verb": "get"}}}
authorization.k8s.io | subjectaccessreviews | SubjectAccessReview | {"spec": {"user": "u", "resourceAttributes": {"verb": "get"}}}
authorization.k8s.io | namespaces/default/localsubjectaccessreviews | LocalSubjectAccessReview | {"spec": {"user": "u", "resourceAttributes": {"namespace": "default"}}}
"#;

#[test]
fn webhooks_are_asked_about_reviews_and_may_refuse_them() {
    let scene = Scene::new(|path, _| {
        Answer::Response(json!({"allowed": path != "/refuse", "warnings": ["careful"]}))
    });
    let everything = json!({"rules": [{"operations": ["CREATE"], "apiGroups": ["*"],
        "apiVersions": ["*"], "resources": ["*"]}]});
    for line in REVIEWS.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split(" | ").collect();
        let path = format!("/apis/{}/v1/{}", columns[0], columns[1]);
        let body: Value = serde_json::from_str(columns[3]).expect(line);
        for kind in ["mutating", "validating"] {
            scene.configure(kind, &[("/allow", everything.clone())]);
            let answer = scene.send("POST", &path, &body);
            assert_eq!(answer.code, 201, "{line}: {}", answer.text);
            assert_eq!(answer.warnings, ["299 - \"careful\""]);
            assert!(answer.json()["status"].is_object(), "{}", answer.text);
            let (_, request) = scene.webhook.take().pop().expect("a question");
            assert_eq!(request["operation"], "CREATE");
            assert_eq!(request["kind"]["kind"], columns[2]);
            assert_eq!(request["object"]["kind"], columns[2]);
            assert_eq!(request["options"]["kind"], "CreateOptions");
            scene.configure(kind, &[("/refuse", everything.clone())]);
            let answer = scene.send("POST", &format!("{path}?dryRun=All"), &body);
            assert_eq!(answer.code, 400, "{line}: {}", answer.text);
            let (_, request) = scene.webhook.take().pop().expect("a question");
            assert_eq!(request["dryRun"], true);
            scene.configure(kind, &[]);
            scene.webhook.take();
        }
    }
}

#[test]
fn a_binding_is_shown_as_what_it_was_posted_to() {
    let scene = Scene::new(|_, _| Answer::allow());
    let pods = "/api/v1/namespaces/default/pods";
    let bindings = "/api/v1/namespaces/default/bindings";
    let rules = json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["bindings", "pods/binding"]}]});
    scene.configure("mutating", &[("/see", rules)]);
    for (name, path, resource, subresource) in [
        ("a", bindings.to_owned(), "bindings", Value::Null),
        ("b", format!("{pods}/b/binding"), "pods", json!("binding")),
    ] {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        scene.ok(
            "POST",
            pods,
            &json!({"metadata": {"name": name}, "spec": spec}),
        );
        let binding = json!({"metadata": {"name": name}, "target": {"name": "n"}});
        scene.ok("POST", &path, &binding);
        let (_, request) = scene.webhook.take().pop().expect("a question");
        assert_eq!(request["resource"]["resource"], resource);
        assert_eq!(request["subResource"], subresource);
        assert_eq!(request["kind"]["kind"], "Binding");
        assert_eq!(request["object"]["kind"], "Binding");
        assert_eq!(request["name"], name);
        let pod = scene.ok("GET", &format!("{pods}/{name}"), &Value::Null);
        assert_eq!(pod["spec"]["nodeName"], "n");
    }
}

#[test]
fn what_is_answered_is_the_review_as_mutating_webhooks_left_it() {
    let scene = Scene::new(|_, _| {
        Answer::patch(&json!([{"op": "add", "path": "/spec/user", "value": "u"}]))
    });
    let rules = json!({"rules": [{"operations": ["*"], "apiGroups": ["authorization.k8s.io"],
        "apiVersions": ["v1"], "resources": ["subjectaccessreviews"]}]});
    scene.configure("mutating", &[("/name", rules)]);
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let asked = json!({"spec": {"resourceAttributes": {"verb": "get"}}});
    let made = scene.ok("POST", path, &asked);
    assert_eq!(made["spec"]["user"], "u");
    assert_eq!(made["status"]["allowed"], true);
}
