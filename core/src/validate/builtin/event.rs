//! Events, in the form of the core group, whichever group they are sent to; `events.k8s.io` is strict.
//! Source: `pkg/apis/core/validation/events.go`.

use super::{Field, IMMUTABLE, Subject};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::qualified_name;
use serde_json::json;

const BYTES_MAX: usize = 128;
const MESSAGE_BYTES_MAX: usize = 1024;
const ELSEWHERE: &str = "does not match event.namespace";

/// Members that an update through `events.k8s.io` leaves, with the names that errors have for them.
const FROZEN: [(&str, &str); 12] = [
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("type", "type"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

pub(super) fn check(subject: &Subject<'_>, causes: &mut CauseList) {
    let event = &subject.new;
    let is_strict = &*subject.kind.resource.group == "events.k8s.io";
    of_its_namespace(event, causes);
    if !event.child("eventTime").value.is_null() {
        described(event, is_strict, causes);
    }
    if !is_strict {
        return;
    }
    let series = event.child("series");
    if subject.old.is_none() || subject.changes(&series) {
        repeated(&series, causes);
    }
    if subject.old.is_none() {
        created(event, causes);
        return;
    }
    for (member, called) in FROZEN {
        let place = event.child(member);
        if subject.changes(&place) {
            causes.push_with(|| FieldCause::invalid(called, place.value, IMMUTABLE));
        }
    }
    let time = event.child("eventTime");
    if subject.changes(&time) {
        causes.push_with(|| time.invalid(IMMUTABLE));
    }
}

/// An event is in the namespace of its object, and in a namespace of the system if that has none.
fn of_its_namespace(event: &Field<'_>, causes: &mut CauseList) {
    let place = event.at("involvedObject.namespace");
    let (own, other) = (event.at("metadata.namespace").text(), place.text());
    let is_timed = !event.child("eventTime").value.is_null();
    let fits = match other {
        "" => own == "default" || is_timed && own == "kube-system",
        _ => is_timed || own == other,
    };
    if !fits {
        let other = json!(other);
        causes.push_with(|| FieldCause::invalid(place.path, &other, ELSEWHERE));
    }
}

/// What an event with an exact time must say.
fn described(event: &Field<'_>, is_strict: bool, causes: &mut CauseList) {
    let controller = event.child("reportingComponent").text();
    let called = if is_strict {
        "reportingController"
    } else {
        "reportingComponent"
    };
    if controller.is_empty() {
        causes.push_with(|| FieldCause::required(called, ""));
    }
    let problems = qualified_name(controller);
    let invalid = |why: &String| FieldCause::invalid(called, &json!(controller), why);
    causes.extend(problems.iter().map(invalid));
    for (member, most) in [
        ("reportingInstance", BYTES_MAX),
        ("action", BYTES_MAX),
        ("reason", BYTES_MAX),
        ("message", MESSAGE_BYTES_MAX),
    ] {
        let place = event.child(member);
        if place.is_empty() && member != "message" {
            causes.push_with(|| place.required(""));
        }
        if place.text().len() > most {
            let why = format!("can have at most {most} characters");
            causes.push_with(|| FieldCause::invalid(member, &json!(""), &why));
        }
    }
}

fn repeated(series: &Field<'_>, causes: &mut CauseList) {
    if series.value.is_null() {
        return;
    }
    let count = series.child("count");
    if count.value.as_i64().unwrap_or(0) < 2 {
        let why = "should be at least 2";
        causes.push_with(|| FieldCause::invalid(count.path, &json!(""), why));
    }
    let last = series.child("lastObservedTime");
    if last.value.is_null() {
        causes.push_with(|| last.required(""));
    }
}

fn created(event: &Field<'_>, causes: &mut CauseList) {
    let time = event.child("eventTime");
    if time.value.is_null() {
        causes.push_with(|| time.required(""));
    }
    let mut refuse = |field: &str, why: &str| {
        causes.push_with(|| FieldCause::invalid(field, &json!(""), why));
    };
    let kind = event.child("type").text();
    if !matches!(kind, "Normal" | "Warning") {
        refuse("type", &format!("has invalid value: {kind}"));
    }
    for old in ["firstTimestamp", "lastTimestamp", "count"] {
        if !event.child(old).is_empty() {
            refuse(old, "needs to be unset");
        }
    }
    let source = event.child("source");
    if !source.child("component").is_empty() || !source.child("host").is_empty() {
        refuse("source", "needs to be unset");
    }
}
