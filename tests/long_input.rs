//! Requests that are as long as they may be, and list much: none keeps others waiting, and none is answered with much
//! more than it says. In process, through the same handler that the server has.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::{Config, ControlPlane};
use hindsight_tests::http::Client;
use hindsight_tests::manifests::widgets;
use serde_json::{Map, Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

fn client() -> Client {
    let plane = ControlPlane::open(Config::default()).expect("opened");
    Client::new(&plane)
}

/// Each compared with each other would keep a thread for a minute.
#[test]
fn a_hundred_thousand_unknown_members_are_told_of_as_far_as_headers_go() {
    let client = client();
    let unknown: Map<String, Value> = (0..100_000).map(|n| (format!("u{n}"), json!(0))).collect();
    let mut body = json!({"metadata": {"name": "many"}});
    body.as_object_mut().expect("an object").extend(unknown);
    for code in [201, 409] {
        let answer = client.send("POST", MAPS, JSON, &body.to_string());
        assert_eq!(answer.code, code, "{}", answer.text);
        assert!(
            (100..1_000).contains(&answer.warnings.len()),
            "{}",
            answer.warnings.len()
        );
    }
}

/// The same of items: whoever decides would keep everybody waiting.
#[test]
fn long_lists_are_not_compared_each_with_each() {
    let client = client();
    let list = |count, item: fn(u32) -> Value| -> Vec<Value> { (1..count).map(item).collect() };
    let pod = json!({"containers": [{"name": "c", "image": "i"}]});
    for (resource, place, mut spec, mut items) in [
        (
            "configmaps",
            "/metadata/finalizers",
            json!({}),
            list(30_000, |n| json!(format!("a/{n}"))),
        ),
        (
            "configmaps",
            "/metadata/ownerReferences",
            json!({}),
            list(
                15_000,
                |n| json!({"apiVersion": "v1", "kind": "A", "name": "a", "uid": n.to_string()}),
            ),
        ),
        (
            "pods",
            "/spec/schedulingGates",
            pod.clone(),
            list(10_000, |n| json!({"name": format!("a/{n}")})),
        ),
        (
            "pods",
            "/spec/tolerations",
            pod,
            list(
                20_000,
                |n| json!({"key": n.to_string(), "operator": "Exists"}),
            ),
        ),
        (
            "services",
            "/spec/ports",
            json!({}),
            list(10_000, |n| json!({"name": format!("p{n}"), "port": n})),
        ),
    ] {
        let name = place.replace('/', "").to_lowercase();
        let (parent, member) = place.rsplit_once('/').expect("a path");
        let mut document = json!({"metadata": {"name": name}, "spec": spec.take()});
        let path = format!("/api/v1/namespaces/default/{resource}");
        for (method, path, code) in [
            ("POST", path.clone(), 201),
            ("PUT", format!("{path}/{name}"), 200),
        ] {
            items.reverse();
            document.pointer_mut(parent).expect("there")[member] = json!(items);
            let answer = client.send(method, &path, JSON, &document.to_string());
            assert_eq!(
                answer.code,
                code,
                "{place}: {}",
                answer.text.chars().take(300).collect::<String>()
            );
        }
    }
}

/// All that is wrong with a document may take a thousand times more than it does itself.
#[test]
fn a_refusal_ends_after_so_many_causes() {
    let client = client();
    let names: Vec<String> = (0..100).map(|n| format!("name{n}")).collect();
    let texts: Vec<String> = (0..5_000).map(|n| format!("text{n}")).collect();
    let list = |items: Value| json!({"type": "array", "items": items});
    let properties = json!({"required": list(json!({"type": "object", "required": names})),
        "enum": list(json!({"type": "string", "enum": texts}))});
    let definition = widgets(&json!({"type": "object", "properties": properties}).to_string());
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = client.send("POST", path, "application/yaml", &definition);
    assert_eq!(answer.code, 201, "{}", answer.text);
    let widget = |member: &str, items: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, member: items})
    };
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": vec![json!({}); 10_000]}});
    let finalizers: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    for (path, document) in [
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            widget("required", json!(vec![json!({}); 10_000])),
        ),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            widget("enum", json!(vec!["other"; 10_000])),
        ),
        ("/api/v1/namespaces/default/pods", pod),
        (
            MAPS,
            json!({"metadata": {"name": "m", "finalizers": finalizers}}),
        ),
    ] {
        let answer = client.send("POST", path, JSON, &document.to_string());
        assert_eq!(answer.code, 422, "{path}: {}", answer.text.len());
        assert!(answer.text.len() < 4 << 20, "{path}: {}", answer.text.len());
        let causes = answer.json()["details"]["causes"]
            .as_array()
            .map_or(0, Vec::len);
        assert!((1..=1_000).contains(&causes), "{path}: {causes}");
    }
}
