//! What of a job may change: what its pods ask of nodes as long as it waits, and the counts of an indexed
//! job together.

use super::{check_updates, kind, patched, right};
use crate::defaults;

const STARTED: &str =
    r#"{"spec": {"suspend": true}, "status": {"startTime": "2026-01-01T00:00:00Z"}}"#;
const WAITING: &str = r#"{"spec": {"suspend": true, "template": {"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}}}}}"#;
const FIXED: &str = ": field is immutable";

/// Changes of the template of a waiting job.
const ASKS: &[&str] = &[
    r#"{"spec": {"nodeSelector": {"a": "b"}}}"#,
    r#"{"spec": {"tolerations": [{"operator": "Exists"}]}}"#,
    r#"{"spec": {"schedulingGates": [{"name": "a.b/c"}]}}"#,
    r#"{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]}}}}}"#,
    r#"{"spec": {"affinity": null}}"#,
    r#"{"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}]}}"#,
    r#"{"metadata": {"labels": {"a": "b"}}}"#,
    r#"{"metadata": {"annotations": {"a": "b"}}}"#,
];

/// What does not change even then.
const OTHERS: &[&str] = &[
    r#"{"spec": {"containers": [{"name": "c", "image": "j"}]}}"#,
    r#"{"spec": {"restartPolicy": "OnFailure"}}"#,
    r#"{"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k"}]}}}}"#,
];

/// What is said about a change of the template, without the value.
fn said(stored: &str, suspend: bool, template: &str) -> Vec<String> {
    let change = format!(r#"{{"spec": {{"suspend": {suspend}, "template": {template}}}}}"#);
    let selects = r#"{"spec": {"manualSelector": true, "selector": {}}}"#;
    let old = patched(&patched(&right("jobs"), selects), stored);
    let mut new = patched(&old, &change);
    defaults::apply(&kind("jobs"), &mut new);
    let causes = super::said("jobs", &new, Some(&old));
    let ends = causes.iter().map(|cause| match cause.split_once(": ") {
        Some((field, why)) if why.ends_with(FIXED) => format!("{field}{FIXED}"),
        _ => cause.clone(),
    });
    ends.collect()
}

#[test]
fn what_the_pods_of_a_waiting_job_ask_of_nodes_may_change() {
    let marked = r#"{"spec": {"suspend": true}, "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]}}"#;
    let runs = r#"{"spec": {"suspend": true}, "status": {"active": 1}}"#;
    let refused = ["spec.template: field is immutable"];
    for change in ASKS {
        assert_eq!(said(WAITING, true, change), [""; 0], "{change}");
        assert_eq!(said(WAITING, false, change), [""; 0], "{change}");
        if !change.contains("null") {
            assert_eq!(said(marked, true, change), [""; 0], "{change}");
            for stored in ["{}", STARTED, runs] {
                assert_eq!(said(stored, true, change), refused, "{stored} {change}");
            }
        }
    }
    for change in OTHERS {
        assert_eq!(said(WAITING, true, change), refused, "{change}");
    }
}

#[test]
fn the_counts_of_an_indexed_job_change_together() {
    let indexed = r#"{"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}}"#;
    check_updates(&[
        ("jobs", "{}", r#"{"spec": {"parallelism": 3}}"#, &[]),
        (
            "jobs",
            "{}",
            r#"{"spec": {"completions": 3}}"#,
            &["spec.completions: Invalid value: 3: field is immutable"],
        ),
        (
            "jobs",
            indexed,
            r#"{"spec": {"completions": 3, "parallelism": 3}}"#,
            &[],
        ),
        ("jobs", indexed, r#"{"spec": {"parallelism": 3}}"#, &[]),
        (
            "jobs",
            indexed,
            r#"{"spec": {"completions": 3}}"#,
            &[
                "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
            ],
        ),
        (
            "jobs",
            indexed,
            r#"{"spec": {"completions": null}}"#,
            &["spec.completions: Required value: when completion mode is Indexed"],
        ),
    ]);
}

#[test]
fn who_manages_a_job_and_when_it_succeeded_do_not_change() {
    let stored = r#"{"spec": {"completionMode": "Indexed", "completions": 2, "managedBy": "a.b/c", "successPolicy": {"rules": [{"succeededCount": 1}]}}}"#;
    check_updates(&[
        (
            "jobs",
            stored,
            r#"{"spec": {"managedBy": "a.b/d"}}"#,
            &[r#"spec.managedBy: Invalid value: "a.b/d": field is immutable"#],
        ),
        (
            "jobs",
            stored,
            r#"{"spec": {"successPolicy": {"rules": [{"succeededCount": 2}]}}}"#,
            &[
                r#"spec.successPolicy: Invalid value: {"rules":[{"succeededCount":2}]}: field is immutable"#,
            ],
        ),
    ]);
}

/// Nothing and something empty are two values where upstream compares what pointers point to.
#[test]
fn what_a_job_does_not_have_does_not_become_empty() {
    let plain = r#"{"spec": {"podReplacementPolicy": "Failed"}}"#;
    let ruled = r#"{"spec": {"podReplacementPolicy": "Failed", "podFailurePolicy": {}}}"#;
    check_updates(&[
        (
            "jobs",
            plain,
            r#"{"spec": {"podFailurePolicy": {}}}"#,
            &["spec.podFailurePolicy: Invalid value: {}: field is immutable"],
        ),
        (
            "jobs",
            ruled,
            r#"{"spec": {"podFailurePolicy": null}}"#,
            &["spec.podFailurePolicy: Invalid value: null: field is immutable"],
        ),
        ("jobs", ruled, r#"{"spec": {"parallelism": 2}}"#, &[]),
        (
            "jobs",
            "{}",
            r#"{"spec": {"completions": 0}}"#,
            &["spec.completions: Invalid value: 0: field is immutable"],
        ),
        (
            "jobs",
            r#"{"spec": {"completionMode": "Indexed", "completions": 2}}"#,
            r#"{"spec": {"backoffLimitPerIndex": 0}}"#,
            &["spec.backoffLimitPerIndex: Invalid value: 0: field is immutable"],
        ),
    ]);
}
