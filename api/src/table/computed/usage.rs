//! Cells of kinds that say how much may be used, by whom and how: quotas, drivers, policies, claims.

use super::workload::label_selector;
use super::{at, condition, flag, is_deleting, joined, list, or_none, text};
use serde_json::{Value, json};

pub(super) fn cell(name: &str, object: &Value) -> Option<Value> {
    Some(match name {
        "quota-requests" => json!(quota(object, false)),
        "quota-limits" => json!(quota(object, true)),
        "attach-required" => json!(at(object, "spec.attachRequired") != Some(&json!(false))),
        "pod-info-on-mount" => json!(flag(object, "spec.podInfoOnMount")),
        "storage-capacity" => json!(flag(object, "spec.storageCapacity")),
        "requires-republish" => json!(flag(object, "spec.requiresRepublish")),
        "token-requests" => json!(token_requests(object)),
        "lifecycle-modes" => json!(joined(texts(object, "spec.volumeLifecycleModes"))),
        "validations" => json!(list(object, "spec.validations").len()),
        "param-kind" => json!(param_kind(object)),
        "param-ref" => json!(param_ref(object)),
        "missing-level" => json!(missing_level(object)),
        "claim-state" => json!(claim_state(object)),
        "cidrs" => json!(texts(object, "spec.cidrs").collect::<Vec<_>>().join(",")),
        "parent-ref" => json!(parent_ref(object)),
        _ => return None,
    })
}

fn texts<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = &'a str> {
    list(object, path).iter().filter_map(Value::as_str)
}

/// For each resource what is used and what the quota is.
fn quota(quota: &Value, of_limits: bool) -> String {
    let hard = at(quota, "status.hard").and_then(Value::as_object);
    let mut of_kind: Vec<_> = hard
        .into_iter()
        .flatten()
        .filter(|(resource, _)| resource.starts_with("limits.") == of_limits)
        .collect();
    of_kind.sort_unstable_by_key(|(resource, _)| *resource);
    let used = |resource: &str| {
        let used = at(quota, "status.used").and_then(|used| used.get(resource));
        used.map_or("0".into(), quantity)
    };
    let shown = of_kind
        .into_iter()
        .map(|(resource, hard)| format!("{resource}: {}/{}", used(resource), quantity(hard)));
    shown.collect::<Vec<_>>().join(", ")
}

/// A quantity, which is a text or, where a client wrote one, a number.
fn quantity(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn token_requests(driver: &Value) -> String {
    let Some(requests) = at(driver, "spec.tokenRequests").and_then(Value::as_array) else {
        return "<unset>".into();
    };
    let audiences = requests.iter().map(|request| text(request, "audience"));
    audiences.collect::<Vec<_>>().join(",")
}

fn param_kind(policy: &Value) -> String {
    let kind = at(policy, "spec.paramKind").filter(|kind| kind.is_object());
    kind.map_or("<unset>".into(), |kind| {
        format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"))
    })
}

fn param_ref(binding: &Value) -> String {
    let reference = at(binding, "spec.paramRef").unwrap_or(&Value::Null);
    match (text(reference, "namespace"), text(reference, "name")) {
        (_, "") => reference
            .get("selector")
            .map_or("<unset>".into(), label_selector),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// The `Dangling` condition: whether the priority level that a flow schema names is missing.
fn missing_level(schema: &Value) -> &str {
    condition(schema, "Dangling").map_or("?", |dangling| text(dangling, "status"))
}

fn claim_state(claim: &Value) -> String {
    let is_allocated = at(claim, "status.allocation").is_some_and(Value::is_object);
    let is_reserved = is_allocated && !list(claim, "status.reservedFor").is_empty();
    let states = [
        (is_deleting(claim), "deleted"),
        (!is_allocated && !is_deleting(claim), "pending"),
        (is_allocated, "allocated"),
        (is_reserved, "reserved"),
    ];
    let said = states.into_iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, name)| name).collect::<Vec<_>>().join(",")
}

fn parent_ref(address: &Value) -> String {
    let Some(parent) = at(address, "spec.parentRef").filter(|parent| parent.is_object()) else {
        return or_none("");
    };
    let resource = [text(parent, "resource"), text(parent, "group")];
    let resource = resource.into_iter().filter(|part| !part.is_empty());
    let resource = resource.collect::<Vec<_>>().join(".").to_lowercase();
    let parts = [&resource, text(parent, "namespace"), text(parent, "name")];
    let said = parts.into_iter().filter(|part| !part.is_empty());
    said.collect::<Vec<_>>().join("/")
}
