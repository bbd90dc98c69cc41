//! Which pods an update lets a job select.

use super::check_updates;

/// A job that waits, as its strategy labelled it.
const OWN: &str = r#"{"metadata": {"uid": "u"}, "spec": {"suspend": true,
    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
    "template": {"metadata": {"labels": {"controller-uid": "u", "job-name": "j",
        "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j"}}}}}"#;
/// One of before there were labels with a prefix.
const OF_OLD: &str = r#"{"metadata": {"uid": "u"}, "spec": {"suspend": true,
    "selector": {"matchLabels": {"controller-uid": "u"}},
    "template": {"metadata": {"labels": {"controller-uid": "u", "job-name": "j"}}}}}"#;
const MANUAL: &str = r#"{"metadata": {"uid": "u"}, "spec": {"suspend": true, "manualSelector": true,
    "selector": {"matchLabels": {"x": "y"}}, "template": {"metadata": {"labels": {"x": "y"}}}}}"#;
/// What an earlier release let a job become.
const STRAY: &str = r#"{"metadata": {"uid": "u"}, "spec": {"suspend": true, "selector": {"matchLabels": {"x": "w"}},
    "template": {"metadata": {"labels": {"x y": "z"}}}}}"#;
const LABELS: &str = "spec.template.metadata.labels";

/// A change of the labels in the template.
fn labelled(labels: &str) -> String {
    format!(r#"{{"spec": {{"template": {{"metadata": {{"labels": {labels}}}}}}}}}"#)
}

fn required(label: &str, value: &str) -> String {
    format!("{LABELS}[{label}]: Required value: must be '{value}'")
}

fn check(stored: &str, change: &str, causes: &[String]) {
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    check_updates(&[("jobs", stored, change, &causes)]);
}

fn mismatch(labels: &str) -> String {
    format!("{LABELS}: Invalid value: {labels}: `selector` does not match template `labels`")
}

#[test]
fn a_job_that_waits_selects_its_own_pods_whatever_becomes_of_their_labels() {
    let bare = [required("controller-uid", "u"), required("job-name", "j")];
    let uid = "batch.kubernetes.io/controller-uid";
    let prefixed = [
        required(uid, "u"),
        required("batch.kubernetes.io/job-name", "j"),
    ];
    let all = [&bare[..], &prefixed, &[mismatch("null")]].concat();
    check(OWN, &labelled("null"), &all);
    check(
        OF_OLD,
        &labelled("null"),
        &[&bare[..], &[mismatch("null")]].concat(),
    );
    for stored in [OWN, OF_OLD, MANUAL] {
        check(stored, &labelled(r#"{"z": "z"}"#), &[]);
    }
    let foreign = r#"{"batch.kubernetes.io/controller-uid":"v","batch.kubernetes.io/job-name":"j","controller-uid":"u","job-name":"j"}"#;
    let other = format!("{LABELS}[{uid}]: Invalid value: {foreign}: must be 'u'");
    check(OWN, &labelled(foreign), &[other, mismatch(foreign)]);
    let changed = labelled(r#"{"x": "z"}"#);
    check(MANUAL, &changed, &[mismatch(r#"{"x":"z"}"#)]);
    let generated = r#"{"spec": {"manualSelector": false}}"#;
    let chosen =
        r#"spec.selector: Invalid value: {"matchLabels":{"x":"y"}}: `selector` not auto-generated"#;
    check(MANUAL, generated, &[&bare[..], &[chosen.into()]].concat());
}

#[test]
fn a_job_without_its_selector_is_told_so_before_it_is_told_what_does_not_change() {
    let change =
        r#"{"spec": {"suspend": false, "selector": null, "template": {"metadata": null}}}"#;
    let started = OWN.replacen(
        '{',
        r#"{"status": {"startTime": "2026-01-01T00:00:00Z"}, "#,
        1,
    );
    let fixed = "spec.selector: Invalid value: null: field is immutable".to_owned();
    let missing = [
        "spec.selector: Required value".to_owned(),
        mismatch("null"),
        fixed,
    ];
    check(OWN, change, &missing);
    let causes = super::said_of_update("jobs", &started, change);
    assert_eq!(causes.get(..3), Some(&missing[..]));
    assert!(
        causes.len() == 4 && causes[3].starts_with("spec.template: "),
        "{causes:?}"
    );
    let unknown =
        r#"{"spec": {"selector": {"matchExpressions": [{"key": "x", "operator": "Is"}]}}}"#;
    let causes = super::said_of_update("jobs", MANUAL, unknown);
    assert_eq!(causes.len(), 2, "{causes:?}");
    assert_eq!(
        causes[0],
        r#"spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator"#
    );
}

#[test]
fn what_an_earlier_release_let_a_job_select_may_stay() {
    for change in [
        r#"{"spec": {"suspend": false}}"#,
        r#"{"metadata": {"finalizers": ["a.b/c"]}}"#,
        r#"{"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}"#,
    ] {
        check(STRAY, change, &[]);
    }
    let causes = super::said_of_update("jobs", STRAY, &labelled(r#"{"a": "b"}"#));
    let fields = causes
        .iter()
        .filter_map(|cause| Some(cause.split_once(": ")?.0));
    let expected = [
        "spec.template.metadata.labels[controller-uid]",
        "spec.template.metadata.labels[job-name]",
        "spec.selector",
        "spec.template.labels",
        LABELS,
    ];
    assert!(fields.eq(expected), "{causes:?}");
}
