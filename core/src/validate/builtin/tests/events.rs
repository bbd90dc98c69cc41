//! What each of the two groups of events refuses.

use super::patched;
use crate::validate::builtin::object;
use crate::{builtin, defaults};
use serde_json::{Value, json};

fn said(group: &str, new: &Value, old: Option<&Value>) -> Vec<String> {
    let kinds = builtin::kinds();
    let mut found = kinds.iter().filter(|kind| kind.resource.is_event());
    let kind = found.find(|kind| &*kind.resource.group == group);
    let kind = kind.expect("two groups have events");
    let mut new = new.clone();
    defaults::apply(kind, &mut new);
    let causes = object(kind, &new, old);
    let line = |cause: &crate::rejection::FieldCause| format!("{}: {}", cause.field, cause.message);
    causes.iter().map(line).collect()
}

/// In the form of the core group, in which both are checked.
fn event() -> Value {
    json!({"metadata": {"name": "e", "namespace": "n"}, "reason": "r", "action": "a",
        "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p"}, "message": "m",
        "type": "Normal", "reportingComponent": "a.b/c", "reportingInstance": "i",
        "eventTime": "2026-01-01T00:00:00.000000Z"})
}

const STRICT: &str = "events.k8s.io";

#[test]
fn an_event_is_where_its_object_is() {
    let elsewhere = "does not match event.namespace";
    for (own, other, timed, fits) in [
        ("n", "n", false, true),
        ("n", "m", false, false),
        ("n", "m", true, true),
        ("n", "", false, false),
        ("n", "", true, false),
        ("default", "", false, true),
        ("default", "", true, true),
        ("kube-system", "", false, false),
        ("kube-system", "", true, true),
    ] {
        let mut event = event();
        event["metadata"]["namespace"] = own.into();
        event["involvedObject"]["namespace"] = other.into();
        if !timed {
            event["eventTime"] = Value::Null;
        }
        let line = format!("involvedObject.namespace: Invalid value: {other:?}: {elsewhere}");
        let expected = if fits { vec![] } else { vec![line] };
        assert_eq!(said("", &event, None), expected, "{own} {other} {timed}");
    }
}

#[test]
fn the_newer_group_of_events_is_strict() {
    assert_eq!(said(STRICT, &event(), None), [""; 0]);
    let old_form = r#"{"eventTime": null, "type": "Odd", "count": 3, "source": {"host": "h"}}"#;
    let event = patched(&event(), old_form);
    assert_eq!(said("", &event, None), [""; 0]);
    let expected = [
        "eventTime: Required value",
        r#"type: Invalid value: "": has invalid value: Odd"#,
        r#"count: Invalid value: "": needs to be unset"#,
        r#"source: Invalid value: "": needs to be unset"#,
    ];
    assert_eq!(said(STRICT, &event, None), expected);
}

#[test]
fn an_event_with_a_time_says_who_did_what() {
    let nothing = r#"{"reason": null, "action": null, "reportingComponent": "a/b/c",
        "reportingInstance": null, "series": {"count": 1}}"#;
    let event = patched(&event(), nothing);
    let required = |field: &str| format!("{field}: Required value");
    let mut expected = ["reportingInstance", "action", "reason"]
        .map(required)
        .to_vec();
    assert_eq!(said("", &event, None)[1..], expected);
    expected.push(r#"series.count: Invalid value: "": should be at least 2"#.into());
    expected.push(required("series.lastObservedTime"));
    let strict = said(STRICT, &event, None);
    assert!(strict[0].starts_with("reportingController: Invalid value: \"a/b/c\""));
    assert_eq!(strict[1..], expected);
}

#[test]
fn only_the_series_of_an_event_goes_on() {
    let series = r#"{"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}"#;
    let old = event();
    assert_eq!(said(STRICT, &patched(&old, series), Some(&old)), [""; 0]);
    let changed = patched(&old, r#"{"message": "n", "reportingComponent": "d"}"#);
    let expected = [
        r#"message: Invalid value: "n": field is immutable"#,
        r#"reportingController: Invalid value: "d": field is immutable"#,
    ];
    assert_eq!(said(STRICT, &changed, Some(&old)), expected);
    assert_eq!(said("", &changed, Some(&old)), [""; 0]);
}
