//! Cells that are computed and not just a member of the object. Source: upstream's
//! `pkg/printers/internalversion/printers.go`.

mod network;
mod pod;
#[cfg(test)]
mod tests;
mod usage;
mod workload;

pub(super) use pod::completed;
pub(super) use workload::containers;

use super::age::{ago, human};
use hindsight_core::Time;
use serde_json::{Value, json};

/// The cell of this name.
pub(super) fn cell(name: &str, object: &Value, now: Time) -> Option<Value> {
    general(name, object, now)
        .or_else(|| pod::cell(name, object, now))
        .or_else(|| workload::cell(name, object, now))
        .or_else(|| network::cell(name, object))
        .or_else(|| usage::cell(name, object))
}

fn general(name: &str, object: &Value, now: Time) -> Option<Value> {
    Some(match name {
        "age" => since(object, "metadata.creationTimestamp", now),
        "storage-class" => json!(class_name(object, &DEFAULT_STORAGE_CLASS)),
        "attributes-class" => json!(class_name(object, &DEFAULT_ATTRIBUTES_CLASS)),
        "data" => json!(members(object, "data") + members(object, "binaryData")),
        "secrets" => json!(list(object, "secrets").len()),
        "webhooks" => json!(list(object, "webhooks").len()),
        "drivers" => json!(list(object, "spec.drivers").len()),
        "last-seen" => last_seen(object, now),
        "first-seen" => seen(object, &["firstTimestamp", "eventTime"], now),
        "count" => json!(count(object)),
        "object" => json!(involved(object)),
        "message" => json!(text(object, "message").trim()),
        "event-source" => json!(event_source(object)),
        "role" => json!(reference(object, "roleRef")),
        "users" => json!(subjects(object, "User")),
        "groups" => json!(subjects(object, "Group")),
        "service-accounts" => json!(subjects(object, "ServiceAccount")),
        "global-default" => json!(flag(object, "globalDefault")),
        "expands" => json!(flag(object, "allowVolumeExpansion")),
        "attached" => json!(flag(object, "status.attached")),
        "access-modes" => json!(access_modes(list(object, "spec.accessModes"))),
        "bound-modes" => json!(bound_modes(object)),
        "claimed-capacity" => json!(claimed_capacity(object)),
        "volume-status" => json!(volume_status(object)),
        "volume-class" => json!(volume_class(object)),
        "claim" => json!(claim(object)),
        "requested-duration" => requested_duration(object),
        "csr-condition" => json!(csr_condition(object)),
        _ => return None,
    })
}

/// The annotations that make a class the default one of its kind. Source: upstream's `IsDefaultAnnotation` and
/// `IsDefaultAnnotationForVolumeAttributesClass`.
const DEFAULT_STORAGE_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const DEFAULT_ATTRIBUTES_CLASS: [&str; 1] =
    ["volumeattributesclass.alpha.kubernetes.io/is-default-class"];

/// The name of a class, and whether one of these annotations makes it the default. Source: upstream's
/// `printStorageClass` and `printVolumeAttributesClass`.
fn class_name(class: &Value, keys: &[&str]) -> String {
    let annotations = at(class, "metadata.annotations");
    let is_set = |key: &&str| {
        annotations
            .and_then(|all| all.get(key))
            .is_some_and(|value| value == "true")
    };
    let mark = if keys.iter().any(is_set) {
        " (default)"
    } else {
        ""
    };
    format!("{}{mark}", text(class, "metadata.name"))
}

const ACCESS_MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

pub(super) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    steps.try_fold(object, |at, step| at.get(step))
}

fn number(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(0)
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

fn flag(object: &Value, path: &str) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or(false)
}

fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    let list = at(object, path).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The condition of this type.
fn condition<'a>(object: &'a Value, of_type: &str) -> Option<&'a Value> {
    let mut conditions = list(object, "status.conditions").iter();
    conditions.find(|one| text(one, "type") == of_type)
}

/// Whether any condition of this type is true.
fn holds(object: &Value, of_type: &str) -> bool {
    let mut conditions = list(object, "status.conditions").iter();
    conditions.any(|one| text(one, "type") == of_type && text(one, "status") == "True")
}

fn members(object: &Value, path: &str) -> usize {
    let members = at(object, path).and_then(Value::as_object);
    members.map_or(0, serde_json::Map::len)
}

/// The texts, joined by commas; `<none>` if there are none.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<&str> = texts.collect();
    or_none(&texts.join(","))
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>" } else { text }.into()
}

/// A map of labels as `key=value`, joined by commas.
fn labels(object: &Value, path: &str) -> String {
    let pairs = at(object, path)
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(&pairs.join(","))
}

fn since(object: &Value, path: &str, now: Time) -> Value {
    seen(object, &[path], now)
}

/// The time since the first of these times that is present.
fn seen(object: &Value, paths: &[&str], now: Time) -> Value {
    let mut times = paths
        .iter()
        .filter_map(|path| Time::parse(text(object, path)));
    let first = times.next();
    first.map_or(json!("<unknown>"), |then| json!(ago(then, now)))
}

/// The reference at this path as `Kind/name`.
fn reference(object: &Value, path: &str) -> String {
    let reference = at(object, path).unwrap_or(&Value::Null);
    format!("{}/{}", text(reference, "kind"), text(reference, "name"))
}

/// A series decides alone.
fn last_seen(event: &Value, now: Time) -> Value {
    if is_series(event) {
        return since(event, "series.lastObservedTime", now);
    }
    seen(
        event,
        &["lastTimestamp", "firstTimestamp", "eventTime"],
        now,
    )
}

fn count(event: &Value) -> i64 {
    if is_series(event) {
        return number(event, "series.count");
    }
    match number(event, "count") {
        0 => 1,
        count => count,
    }
}

fn is_series(event: &Value) -> bool {
    at(event, "series").is_some_and(|series| !series.is_null())
}

fn involved(event: &Value) -> String {
    let kind = text(event, "involvedObject.kind").to_lowercase();
    match text(event, "involvedObject.name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who reports an event, and where it runs; a newer member is read for each that an older one does not say.
fn event_source(event: &Value) -> String {
    let either = |old: &str, new: &str| match text(event, old) {
        "" => text(event, new).to_owned(),
        said => said.to_owned(),
    };
    let who = either("source.component", "reportingComponent");
    match either("source.host", "reportingInstance") {
        place if place.is_empty() => who,
        place => format!("{who}, {place}"),
    }
}

fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = list(binding, "subjects").iter();
    let of_kind = subjects.filter(|one| text(one, "kind") == kind);
    let names: Vec<String> = of_kind
        .map(|one| match (kind, text(one, "namespace")) {
            ("ServiceAccount", namespace) => format!("{namespace}/{}", text(one, "name")),
            _ => text(one, "name").into(),
        })
        .collect();
    names.join(", ")
}

/// The access modes of the volume that a claim is bound to.
fn bound_modes(claim: &Value) -> String {
    if text(claim, "spec.volumeName").is_empty() {
        return String::new();
    }
    access_modes(list(claim, "status.accessModes"))
}

/// The capacity that a claim got; empty if it names no volume.
fn claimed_capacity(claim: &Value) -> &str {
    match text(claim, "spec.volumeName") {
        "" => "",
        _ => at(claim, "status.capacity.storage")
            .and_then(Value::as_str)
            .unwrap_or("0"),
    }
}

/// The access modes in short form, each once, in a fixed order. Source: upstream's `GetAccessModesAsString`.
fn access_modes(modes: &[Value]) -> String {
    let named = |(mode, _): &&(&str, &str)| modes.iter().any(|one| one == mode);
    let short = ACCESS_MODES.iter().filter(named).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",")
}

fn volume_status(volume: &Value) -> &str {
    if is_deleting(volume) {
        return "Terminating";
    }
    text(volume, "status.phase")
}

/// The class of a volume or of a claim, which once was an annotation. Source: upstream's `GetPersistentVolumeClass` and
/// `GetPersistentVolumeClaimClass`.
fn volume_class(volume: &Value) -> &str {
    let annotations = at(volume, "metadata.annotations");
    let old = annotations.and_then(|all| all.get("volume.beta.kubernetes.io/storage-class"));
    let old = old.and_then(Value::as_str);
    old.unwrap_or_else(|| text(volume, "spec.storageClassName"))
}

fn is_deleting(object: &Value) -> bool {
    !text(object, "metadata.deletionTimestamp").is_empty()
}

fn claim(volume: &Value) -> String {
    let (namespace, name) = (
        text(volume, "spec.claimRef.namespace"),
        text(volume, "spec.claimRef.name"),
    );
    if name.is_empty() {
        return String::new();
    }
    format!("{namespace}/{name}")
}

fn requested_duration(request: &Value) -> Value {
    let seconds = at(request, "spec.expirationSeconds").and_then(Value::as_i64);
    json!(seconds.map_or("<none>".into(), human))
}

/// Source: upstream's `extractCSRStatus`.
fn csr_condition(request: &Value) -> String {
    let has = |state| condition(request, state).is_some();
    let decided = match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = match text(request, "status.certificate") {
        "" => "",
        _ => ",Issued",
    };
    format!("{decided}{failed}{issued}")
}
