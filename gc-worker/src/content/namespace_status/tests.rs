//! The conditions that a namespace reports.

use super::status_to_write;
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
    let status = status_to_write(&state, &namespace, Time::parse(NOW).expect("a time"));
    let status = status.expect("something to say");
    let list = status["status"]["conditions"].as_array();
    list.expect("a list").clone()
}

fn find<'a>(conditions: &'a [Value], kind: &str) -> &'a Value {
    let found = conditions.iter().find(|one| one["type"] == kind);
    found.expect(kind)
}

/// Type, status, reason and message of a condition.
type Said<'a> = [&'a str; 4];
/// An object's name and its finalizers.
type Content<'a> = (&'a str, &'a [&'a str]);

/// As upstream sets them. The first three cannot fail here.
const ALL_IS_WELL: [Said<'_>; 5] = [
    [
        "NamespaceDeletionDiscoveryFailure",
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ],
    [
        "NamespaceDeletionGroupVersionParsingFailure",
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ],
    [
        "NamespaceDeletionContentFailure",
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ],
    [
        "NamespaceContentRemaining",
        "False",
        "ContentRemoved",
        "All content successfully removed",
    ],
    [
        "NamespaceFinalizersRemaining",
        "False",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ],
];

#[test]
fn the_five_conditions_are_worded_as_upstream_words_them() {
    let resources = [
        "NamespaceContentRemaining",
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 2 resource instances, roles.rbac.authorization.k8s.io has 1 resource instances",
    ];
    let finalizers = [
        "NamespaceFinalizersRemaining",
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: x/y in 2 resource instances, x/z in 1 resource instances",
    ];
    let [discovery, parsing, deletion, no_content, no_finalizers] = ALL_IS_WELL;
    let cases: [(&[Content<'_>], [Said<'_>; 2]); 3] = [
        (&[], [no_content, no_finalizers]),
        (
            &[("a", &[]), ("b", &[]), ("role", &[])],
            [resources, no_finalizers],
        ),
        (
            &[("a", &["x/y"]), ("b", &["x/y", "x/z"]), ("role", &[])],
            [resources, finalizers],
        ),
    ];
    for (contents, last) in cases {
        let mut state = empty();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let namespace = put(&mut state, ("", "namespaces"), namespace);
        for (name, finalizers) in contents {
            let metadata = json!({"name": name, "namespace": "n", "finalizers": finalizers});
            let (resource, kind) = match *name {
                "role" => (("rbac.authorization.k8s.io", "roles"), "Role"),
                _ => (("", "configmaps"), "ConfigMap"),
            };
            let document = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            put(&mut state, resource, document);
        }
        let now = Time::parse(NOW).expect("a time");
        let said = status_to_write(&state, &namespace, now).expect("something to say");
        let is = |[kind, status, reason, message]: Said<'_>| {
            json!({"type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": NOW})
        };
        let [content, held] = last;
        let wanted = [discovery, parsing, deletion, content, held].map(is);
        assert_eq!(said, json!({"status": {"conditions": wanted}}));
    }
}

#[test]
fn a_condition_of_somebody_else_stays() {
    let mine = json!({"type": "Mine", "status": "True"});
    assert_eq!(find(&conditions(json!([mine])), "Mine"), &mine);
}

#[test]
fn a_time_moves_with_its_status_only() {
    let (moved, same) = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining");
    for (kind, time, expected) in [
        (moved, json!(BEFORE), NOW),
        (same, json!(BEFORE), BEFORE),
        (same, Value::Null, NOW),
        (same, json!(""), NOW),
    ] {
        let before = json!({"type": kind, "status": "False", "lastTransitionTime": time});
        let found = conditions(json!([before]));
        let found = &find(&found, kind)["lastTransitionTime"];
        assert_eq!(found, expected, "{before}");
    }
}

#[test]
fn what_nobody_serves_any_more_remains_too() {
    let mut state = empty();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let namespace = put(&mut state, ("", "namespaces"), namespace);
    let lost = json!({"apiVersion": "x.io/v1", "kind": "Thing",
        "metadata": {"name": "lost", "namespace": "n", "finalizers": ["x/y"]}});
    put(&mut state, ("x.io", "things"), lost);
    let status = status_to_write(&state, &namespace, Time(0)).expect("something to say");
    let said = status.to_string();
    assert!(
        said.contains("things.x.io has 1 resource instances"),
        "{said}"
    );
    assert!(said.contains("x/y in 1 resource instances"), "{said}");
}

/// Every write of the status would hold them all again, and at some number no status could be written at all.
#[test]
fn few_of_many_kinds_and_finalizers_are_named_and_the_others_counted() {
    for (count, length, named) in [(100, 10, 100), (1_000, 10, 100), (60, 1_000, 15)] {
        let mut state = empty();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let namespace = put(&mut state, ("", "namespaces"), namespace);
        for at in 0..count {
            let name = format!("{}{at:04}", "x".repeat(length));
            let lost = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": name,
                "namespace": "n", "finalizers": [format!("x/{name}")]}});
            put(&mut state, ("x.io", &name), lost);
        }
        let status = status_to_write(&state, &namespace, Time(0)).expect("something to say");
        let bytes = status.to_string().len();
        assert!(bytes < 34 << 10, "{count} of {length}: {bytes}");
        for condition in ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"] {
            let conditions = status["status"]["conditions"].as_array().expect("a list");
            let message = find(conditions, condition)["message"].as_str();
            let message = message.expect("a text");
            assert!(message.contains("0000"), "{message}");
            assert_eq!(
                message.matches(" in 1 ").count() + message.matches(" has 1 ").count(),
                named
            );
            let more = format!(" and {} more", count - named);
            assert_eq!(message.ends_with(&more), count > named, "{message}");
        }
    }
}
