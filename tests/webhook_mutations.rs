//! What a mutating webhook sees of the changes of others.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::{Scene, map};
use hindsight_tests::http::{DEFINITIONS, MAPS};
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};

/// The rules of webhooks that are asked about this resource.
fn of(resource: &str) -> Value {
    json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"],
        "resources": [resource]}]})
}

#[test]
fn what_a_webhook_adds_is_read_and_completed_before_the_next_is_asked() {
    let added = json!({"name": "beside", "image": "i", "unknown": "x",
        "resources": {"limits": {"cpu": "1.0"}}});
    let scene = Scene::new(move |path, _| match path {
        "/add" => Answer::patch(&json!([
            {"op": "add", "path": "/spec/containers/-", "value": added}
        ])),
        _ => Answer::allow(),
    });
    let pulled = "object.spec.containers.all(c, c.imagePullPolicy == 'Always')";
    let mut after = of("pods");
    after["matchConditions"] = json!([{"name": "pulled", "expression": pulled}]);
    scene.configure("mutating", &[("/add", of("pods")), ("/next", after)]);
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let pods = "/api/v1/namespaces/default/pods";
    scene.ok(
        "POST",
        pods,
        &json!({"metadata": {"name": "p"}, "spec": spec}),
    );
    let (path, request) = scene.webhook.take().pop().expect("a question");
    assert_eq!(path, "/next");
    let seen = &request["object"]["spec"]["containers"][1];
    assert_eq!(seen["terminationMessagePath"], "/dev/termination-log");
    assert_eq!(seen["resources"]["limits"]["cpu"], "1");
    assert_eq!(seen["unknown"], Value::Null);
}

#[test]
fn what_a_webhook_takes_out_of_a_custom_kind_has_its_default_before_the_next_is_asked() {
    let scene = Scene::new(|path, _| match path {
        "/take" => Answer::patch(&json!([{"op": "remove", "path": "/size"}])),
        _ => Answer::allow(),
    });
    let schema =
        json!({"type": "object", "properties": {"size": {"type": "integer", "default": 3}}});
    let definition = json!({"metadata": {"name": "toys.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster",
        "names": {"plural": "toys", "kind": "Toy", "singular": "toy"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}}]}});
    scene.ok("POST", DEFINITIONS, &definition);
    scene.configure("mutating", &[("/take", of("toys")), ("/next", of("toys"))]);
    let toy = json!({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "a"}, "size": 7});
    scene.ok("POST", "/apis/example.com/v1/toys", &toy);
    let (path, request) = scene.webhook.take().pop().expect("a question");
    assert_eq!((&*path, &request["object"]["size"]), ("/next", &json!(3)));
}

/// A rule may name another version than the one in which the object is written. Here only a conversion webhook could
/// make that version of it.
#[test]
fn what_only_a_conversion_webhook_could_show_is_refused() {
    let scene = Scene::new(|_, _| Answer::allow());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": schema}})
    };
    let client = json!({"service": {"name": "converter", "namespace": "default"}});
    let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": client});
    let definition = json!({"metadata": {"name": "hubs.example.com"}, "spec": {
        "group": "example.com", "scope": "Cluster", "names": {"plural": "hubs", "kind": "Hub"},
        "conversion": {"strategy": "Webhook", "webhook": webhook},
        "versions": [version("v1", false), version("v2", true)]}});
    scene.ok("POST", DEFINITIONS, &definition);
    let of_version = |version: &str| {
        json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": [version],
            "resources": ["hubs"]}]})
    };
    let create = |name: &str| {
        let hub =
            json!({"apiVersion": "example.com/v2", "kind": "Hub", "metadata": {"name": name}});
        scene.send("POST", "/apis/example.com/v2/hubs", &hub)
    };
    scene.configure("mutating", &[("/old", of_version("v1"))]);
    let refused = create("a");
    assert_eq!(refused.code, 500, "{}", refused.text);
    assert!(
        refused
            .text
            .contains("conversion webhook for example.com/v1")
    );
    assert!(scene.webhook.take().is_empty());
    scene.configure("mutating", &[("/new", of_version("v2"))]);
    assert_eq!(create("a").code, 201);
    assert_eq!(scene.webhook.take().len(), 1);
}

#[test]
fn an_event_is_shown_and_changed_in_the_group_that_a_rule_names() {
    let scene = Scene::new(|_, request| {
        assert!(request["object"].get("message").is_none());
        Answer::patch(&json!([{"op": "replace", "path": "/note", "value": "theirs"}]))
    });
    let rules = json!([{"operations": ["*"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"],
        "resources": ["events"]}]);
    scene.configure("mutating", &[("/note", json!({"rules": rules}))]);
    let involved = json!({"kind": "ConfigMap", "namespace": "default", "name": "x"});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": involved, "message": "ours"});
    let made = scene.ok("POST", "/api/v1/namespaces/default/events", &event);
    assert_eq!(
        (&made["apiVersion"], &made["message"]),
        (&json!("v1"), &json!("theirs"))
    );
    let (_, request) = scene.webhook.take().pop().expect("a question");
    let group = |member: &str| request[member]["group"].clone();
    assert_eq!(["kind", "resource"].map(group), ["events.k8s.io"; 2]);
    assert_eq!(["requestKind", "requestResource"].map(group), [""; 2]);
    assert_eq!(request["object"]["apiVersion"], "events.k8s.io/v1");
    assert_eq!(request["object"]["regarding"], involved);
}

#[test]
fn a_deletion_of_an_event_is_asked_about_in_the_group_that_it_was_sent_to() {
    let scene = Scene::new(|_, _| Answer::Response(json!({"allowed": false})));
    let rules = json!([{"operations": ["DELETE"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"],
        "resources": ["events"]}]);
    let exact = json!({"rules": rules, "matchPolicy": "Exact"});
    scene.configure("validating", &[("/keep", exact)]);
    let involved = json!({"kind": "ConfigMap", "namespace": "default", "name": "x"});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": involved});
    scene.ok("POST", "/api/v1/namespaces/default/events", &event);
    let events = "apis/events.k8s.io/v1/namespaces/default/events";
    for (path, code) in [
        (format!("/{events}/e"), 400),
        (format!("/{events}"), 400),
        ("/api/v1/namespaces/default/events/e".into(), 200),
    ] {
        let answer = scene.send("DELETE", &path, &Value::Null);
        assert_eq!(answer.code, code, "{path}: {}", answer.text);
        let asked = scene.webhook.take();
        let groups: Vec<&Value> = asked
            .iter()
            .map(|(_, request)| &request["requestResource"]["group"])
            .collect();
        assert!(
            groups.iter().all(|group| *group == "events.k8s.io"),
            "{groups:?}"
        );
        assert_eq!(groups.len(), usize::from(code == 400), "{path}");
    }
}

#[test]
fn what_a_webhook_leaves_that_its_kind_cannot_hold_is_an_error_of_the_server_whatever_its_policy() {
    let scene = Scene::new(|_, _| {
        Answer::patch(&json!([{"op": "add", "path": "/data", "value": {"a": 1}}]))
    });
    for policy in ["Fail", "Ignore"] {
        scene.configure("mutating", &[("/break", json!({"failurePolicy": policy}))]);
        let answer = scene.send("POST", MAPS, &map("a"));
        assert_eq!(answer.code, 500, "{policy}: {}", answer.text);
        assert_eq!(answer.json()["reason"], "InternalError");
    }
}
