//! What a namespace says of itself.

use super::changed;
use crate::testing::{empty, put};
use hindsight_core::Time;
use serde_json::{Value, json};

const BEFORE: &str = "2024-01-01T00:00:00Z";
const NOW: &str = "2024-01-02T00:00:00Z";

fn conditions(before: Value) -> Vec<Value> {
    let mut state = empty();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n"}, "status": {"conditions": before}});
    let namespace = put(&mut state, ("", "namespaces"), namespace);
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": "n"}});
    put(&mut state, ("", "configmaps"), held);
    let status = changed(&state, &namespace, Time::parse(NOW).expect("a time"));
    let status = status.expect("something to say");
    let list = status["status"]["conditions"].as_array();
    list.expect("a list").clone()
}

fn find<'a>(conditions: &'a [Value], kind: &str) -> &'a Value {
    let found = conditions.iter().find(|one| one["type"] == kind);
    found.expect(kind)
}

#[test]
fn what_remains_is_a_condition_that_is_true() {
    let found = conditions(json!([]));
    assert_eq!(find(&found, "NamespaceContentRemaining")["status"], "True");
    assert_eq!(
        find(&found, "NamespaceFinalizersRemaining")["status"],
        "False"
    );
}

#[test]
fn a_condition_of_somebody_else_stays() {
    let mine = json!({"type": "Mine", "status": "True"});
    assert_eq!(find(&conditions(json!([mine])), "Mine"), &mine);
}

#[test]
fn a_time_moves_with_its_status_only() {
    let before =
        |kind: &str| json!({"type": kind, "status": "False", "lastTransitionTime": BEFORE});
    let kinds = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"];
    let found = conditions(json!(kinds.map(before)));
    assert_eq!(find(&found, kinds[0])["lastTransitionTime"], NOW);
    assert_eq!(find(&found, kinds[1])["lastTransitionTime"], BEFORE);
}

#[test]
fn what_nobody_serves_any_more_remains_too() {
    let mut state = empty();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let namespace = put(&mut state, ("", "namespaces"), namespace);
    let lost = json!({"apiVersion": "x.io/v1", "kind": "Thing",
        "metadata": {"name": "lost", "namespace": "n", "finalizers": ["x/y"]}});
    put(&mut state, ("x.io", "things"), lost);
    let status = changed(&state, &namespace, Time(0)).expect("something to say");
    let said = status.to_string();
    assert!(
        said.contains("things.x.io has 1 resource instances"),
        "{said}"
    );
    assert!(said.contains("x/y in 1 resource instances"), "{said}");
}
