//! What a report is about.

use super::report_of;
use crate::testing::{empty, put};
use crate::trial::{anonymous_command, carry_out};
use hindsight_core::{Rejection, State, Time};
use serde_json::json;

/// A namespace in deletion with this uid, and an object in it that is being deleted and held.
fn namespace_that_is_held(uid: &str) -> State {
    let mut state = empty();
    let since = "2024-01-01T00:00:00Z";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "uid": uid, "deletionTimestamp": since},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}});
    put(&mut state, ("", "namespaces"), namespace);
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held",
        "namespace": "n", "deletionTimestamp": since, "finalizers": ["x/y"]}});
    put(&mut state, ("", "configmaps"), held);
    state
}

#[test]
fn a_report_is_for_the_container_it_was_made_for_and_for_no_namesake() {
    let state = namespace_that_is_held("one");
    let namespace = state.namespace("n").expect("the namespace");
    let report = report_of(&state, namespace, Time(0)).expect("something to say");
    let carry_out_on = |uid: &str| {
        let command = anonymous_command(report.clone(), Time(0));
        carry_out(&mut namespace_that_is_held(uid), command)
    };
    let (_, changes) = carry_out_on("one").expect("accepted");
    assert_eq!(changes.len(), 1);
    let refused = carry_out_on("another").expect_err("another one");
    let text = refused.to_string();
    assert!(matches!(refused, Rejection::Invalid { .. }), "{text}");
    assert!(text.contains("metadata.uid"), "{text}");
}
