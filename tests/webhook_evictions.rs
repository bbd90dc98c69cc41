//! What webhooks are asked about an eviction, and how they may change it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::admission::Scene;
use hindsight_tests::http::Answer as Answered;
use hindsight_tests::webhook::Answer;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// The rules of webhooks that are asked about evictions.
fn of_evictions() -> Value {
    json!({"rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["pods/eviction"]}]})
}

/// Creates a pod that runs on a node.
fn run(scene: &Scene, name: &str) {
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    let metadata = json!({"name": name, "labels": {"app": "x"}});
    scene.ok("POST", PODS, &json!({"metadata": metadata, "spec": spec}));
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let status = json!({"status": {"phase": "Running", "conditions": ready}});
    scene.ok("PATCH", &format!("{PODS}/{name}/status"), &status);
}

fn evict(scene: &Scene, name: &str, query: &str, members: &Value) -> Answered {
    let mut eviction = json!({"metadata": {"name": name}});
    let all = eviction.as_object_mut().expect("an object");
    all.extend(members.as_object().expect("an object").clone());
    scene.send("POST", &format!("{PODS}/{name}/eviction{query}"), &eviction)
}

fn pod(scene: &Scene, name: &str) -> Value {
    scene
        .send("GET", &format!("{PODS}/{name}"), &Value::Null)
        .json()
}

/// Lines of `path that the webhook sets | value | code | path in the pod afterwards | value there`.
const MADE_OF_IT: &str = r#"
/deleteOptions | {"dryRun": ["All"]} | 201 | /metadata/deletionTimestamp | null
/deleteOptions | {"gracePeriodSeconds": 7} | 201 | /metadata/deletionGracePeriodSeconds | 7
/deleteOptions | {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"} | 201 | /metadata/finalizers | ["foregroundDeletion"]
/deleteOptions | {"preconditions": {"uid": "other"}} | 409 | /metadata/deletionTimestamp | null
/deleteOptions | {"propagationPolicy": "Maybe"} | 422 | /metadata/deletionTimestamp | null
/metadata/name | "other" | 400 | /metadata/deletionTimestamp | null
"#;

#[test]
fn what_a_webhook_makes_of_an_eviction_is_what_is_done() {
    for line in MADE_OF_IT.lines().filter(|line| !line.is_empty()) {
        let columns: Vec<&str> = line.split(" | ").collect();
        let value = |text: &str| serde_json::from_str::<Value>(text).expect(line);
        let operation = json!([{"op": "add", "path": columns[0], "value": value(columns[1])}]);
        let scene = Scene::without_collectors(move |path, _| match path {
            "/mutate" => Answer::patch(&operation),
            _ => Answer::Response(json!({"allowed": true, "warnings": ["seen"]})),
        });
        run(&scene, "p");
        scene.configure("mutating", &[("/mutate", of_evictions())]);
        scene.configure("validating", &[("/validate", of_evictions())]);
        let answer = evict(&scene, "p", "", &json!({}));
        assert_eq!(
            answer.code.to_string(),
            columns[2],
            "{line}: {}",
            answer.text
        );
        let found = pod(&scene, "p");
        let found = found.pointer(columns[3]).cloned().unwrap_or_default();
        assert_eq!(found, value(columns[4]), "{line}");
        let asked = scene.webhook.take();
        let validated = asked.iter().find(|(path, _)| path == "/validate");
        if let Some((_, request)) = validated {
            assert_eq!(request["object"]["deleteOptions"], value(columns[1]));
            assert_eq!(request["dryRun"], columns[1].contains("dryRun"), "{line}");
            assert!(
                answer.code != 201 || answer.warnings == ["299 - \"seen\""],
                "{line}"
            );
        }
        assert_eq!(
            validated.is_some(),
            !["400", "422"].contains(&columns[2]),
            "{line}"
        );
    }
}

#[test]
fn a_webhook_cannot_make_a_deletion_of_a_dry_run() {
    for (query, members) in [
        ("?dryRun=All", json!({"deleteOptions": {}})),
        ("", json!({"deleteOptions": {"dryRun": ["All"]}})),
    ] {
        let scene = Scene::new(|path, _| match path {
            "/mutate" => {
                Answer::patch(&json!([{"op": "add", "path": "/deleteOptions", "value": {}}]))
            }
            _ => Answer::allow(),
        });
        run(&scene, "p");
        scene.configure("mutating", &[("/mutate", of_evictions())]);
        scene.configure("validating", &[("/validate", of_evictions())]);
        assert_eq!(evict(&scene, "p", query, &members).code, 201);
        assert_eq!(
            pod(&scene, "p")["metadata"]["deletionTimestamp"],
            Value::Null
        );
        let asked = scene.webhook.take();
        let told: Vec<&Value> = asked
            .iter()
            .map(|(_, request)| &request["dryRun"])
            .collect();
        assert_eq!(told, [&json!(true), &json!(true)]);
        let options = &asked[1].1["object"]["deleteOptions"];
        assert_eq!(
            options,
            &json!({"dryRun": ["All"]}),
            "what is done is what is shown"
        );
    }
}

#[test]
fn an_eviction_is_shown_and_selected_as_it_was_posted() {
    let scene = Scene::new(|_, _| Answer::Response(json!({"allowed": false})));
    run(&scene, "p");
    let mut members = of_evictions();
    members["objectSelector"] = json!({"matchLabels": {"x": "y"}});
    scene.configure("validating", &[("/deny", members)]);
    let options = json!({"gracePeriodSeconds": 3, "dryRun": ["All"]});
    let metadata = json!({"name": "p", "labels": {"x": "y"}, "annotations": {"a": "b"}});
    let posted = json!({"apiVersion": "policy/v1beta1", "metadata": metadata,
        "deleteOptions": options, "unknown": 1});
    let answer = evict(&scene, "p", "", &posted);
    assert_eq!(answer.code, 400, "{}", answer.text);
    let mut metadata = metadata;
    metadata["namespace"] = json!("default");
    let shown = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata,
        "deleteOptions": options});
    assert_eq!(scene.webhook.take()[0].1["object"], shown);
    let unlabelled = evict(&scene, "p", "", &json!({"deleteOptions": options}));
    assert_eq!(unlabelled.code, 201, "{}", unlabelled.text);
    assert!(scene.webhook.take().is_empty());
}

/// Upstream's order: mutating webhooks, validating ones, then the pod, then its budget.
#[test]
fn the_pod_and_its_budget_are_asked_after_all_webhooks() {
    let scene = Scene::new(|path, request| match path {
        "/deny" if request["name"] == "p" => Answer::Response(json!({"allowed": false})),
        _ => Answer::allow(),
    });
    run(&scene, "p");
    let spec = json!({"minAvailable": 1, "selector": {}});
    scene.ok(
        "POST",
        BUDGETS,
        &json!({"metadata": {"name": "b"}, "spec": spec}),
    );
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1});
    scene.ok(
        "PATCH",
        &format!("{BUDGETS}/b/status"),
        &json!({"status": status}),
    );
    assert_eq!(evict(&scene, "p", "", &json!({})).code, 429);
    scene.configure("mutating", &[("/allow", of_evictions())]);
    scene.configure("validating", &[("/deny", of_evictions())]);
    for (name, code) in [("p", 400), ("none", 404)] {
        let answer = evict(&scene, name, "", &json!({}));
        assert_eq!(answer.code, code, "{}", answer.text);
        let asked = scene.webhook.take();
        let paths: Vec<&str> = asked.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, ["/allow", "/deny"], "{name}");
    }
    scene.configure("validating", &[("/allow", of_evictions())]);
    assert_eq!(evict(&scene, "p", "", &json!({})).code, 429);
}
