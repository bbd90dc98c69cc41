//! Kubernetes' strategic merge: lists of objects merge by a key, and directives say otherwise.
//! Source: apimachinery's `util/strategicpatch`; the keys are the patch tags of the API types.

use crate::Rejection;
use serde_json::{Map, Value};

/// Lists that merge: field, and the member that tells two items apart.
const MERGE_KEYS: &[(&str, &str)] = &[
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("hostAliases", "ip"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("podIPs", "ip"),
    ("resourceClaims", "name"),
    ("secrets", "name"),
    ("taints", "key"),
    ("topologySpreadConstraints", "topologyKey"),
    ("validations", "expression"),
    ("volumeDevices", "devicePath"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
    ("webhooks", "name"),
];
/// Lists of plain values that merge as sets.
const MERGE_SETS: &[&str] = &["finalizers"];

pub(super) fn apply(live: &Value, change: &Value) -> Result<Value, Rejection> {
    match change {
        Value::Null => Ok(live.clone()),
        Value::Object(change) if change.contains_key("$patch") => {
            Err(Rejection::BadRequest("name must be provided".into()))
        }
        Value::Object(change) => {
            let mut result = live.clone();
            if let Some(target) = result.as_object_mut() {
                merge_object(target, change)?;
            }
            Ok(result)
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(
            Rejection::BadRequest("a strategic merge patch must be an object".into()),
        ),
    }
}

/// Documents are bounded in depth where they are decoded.
fn merge_object(
    target: &mut Map<String, Value>,
    change: &Map<String, Value>,
) -> Result<(), Rejection> {
    retain_keys(target, change);
    for (key, value) in change {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            delete_values(target, list, value);
        } else if !key.starts_with('$') {
            merge_member(target, key, value)?;
        }
    }
    Ok(())
}

fn merge_member(
    target: &mut Map<String, Value>,
    key: &str,
    value: &Value,
) -> Result<(), Rejection> {
    match value {
        Value::Null => {
            target.remove(key);
        }
        Value::Object(members) => match directive(members)? {
            Some("delete") => {
                target.remove(key);
            }
            Some("replace") => {
                target.insert(key.into(), without_directives(members));
            }
            _ => {
                let slot = target.entry(key).or_insert(Value::Null);
                if !slot.is_object() {
                    *slot = Value::Object(Map::new());
                }
                if let Some(slot) = slot.as_object_mut() {
                    merge_object(slot, members)?;
                }
            }
        },
        Value::Array(items) => merge_list(target, key, items)?,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            target.insert(key.into(), value.clone());
        }
    }
    Ok(())
}

fn merge_list(
    target: &mut Map<String, Value>,
    key: &str,
    items: &[Value],
) -> Result<(), Rejection> {
    let old = target
        .get(key)
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let merged = if MERGE_SETS.contains(&key) {
        union(old, items)
    } else if let Some(merge_key) = merge_key(key, items, &old) {
        merge_by_key(old, items, merge_key)?
    } else {
        items.to_vec()
    };
    target.insert(key.into(), merged.into());
    Ok(())
}

/// Ports of containers and of services share their field's name.
fn merge_key(field: &str, items: &[Value], old: &[Value]) -> Option<&'static str> {
    if field == "ports" {
        let has = |member: &str| {
            items
                .iter()
                .chain(old)
                .any(|item| item.get(member).is_some())
        };
        return match (has("containerPort"), has("port")) {
            (true, _) => Some("containerPort"),
            (false, true) => Some("port"),
            (false, false) => None,
        };
    }
    MERGE_KEYS
        .iter()
        .find(|(name, _)| *name == field)
        .map(|(_, key)| *key)
}

fn merge_by_key(mut list: Vec<Value>, items: &[Value], key: &str) -> Result<Vec<Value>, Rejection> {
    let replaces = |item: &&Value| {
        item.get("$patch").and_then(Value::as_str) == Some("replace") && item.get(key).is_none()
    };
    if items.iter().any(|item| replaces(&item)) {
        return Ok(items
            .iter()
            .filter(|item| !replaces(item))
            .cloned()
            .collect());
    }
    for item in items {
        let members = item.as_object().ok_or_else(|| list_of(item))?;
        let id = members.get(key).ok_or_else(|| {
            Rejection::Internal(format!(
                "map: {item} does not contain declared merge key: {key}"
            ))
        })?;
        let position = list.iter().position(|one| one.get(key) == Some(id));
        match (directive(members)?, position) {
            (Some("delete"), _) => list.retain(|one| one.get(key) != Some(id)),
            (Some("replace"), Some(at)) => {
                if let Some(slot) = list.get_mut(at) {
                    *slot = without_directives(members);
                }
            }
            (_, Some(at)) => {
                if let Some(slot) = list.get_mut(at).and_then(Value::as_object_mut) {
                    merge_object(slot, members)?;
                }
            }
            (_, None) => list.push(without_directives(members)),
        }
    }
    Ok(list)
}

fn list_of(item: &Value) -> Rejection {
    Rejection::Internal(format!(
        "a list that merges by a key holds {item}, which is no object"
    ))
}

fn directive(members: &Map<String, Value>) -> Result<Option<&str>, Rejection> {
    match members
        .get("$patch")
        .map(|value| value.as_str().unwrap_or_default())
    {
        None => Ok(None),
        Some(known @ ("delete" | "replace" | "merge")) => Ok(Some(known)),
        Some(other) => Err(Rejection::Internal(format!(
            "Unknown patch type found: {other}"
        ))),
    }
}

fn without_directives(members: &Map<String, Value>) -> Value {
    let plain = members.iter().filter(|(key, _)| !key.starts_with('$'));
    Value::Object(
        plain
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn retain_keys(target: &mut Map<String, Value>, change: &Map<String, Value>) {
    if let Some(keys) = change.get("$retainKeys").and_then(Value::as_array) {
        target.retain(|key, _| keys.iter().any(|kept| kept.as_str() == Some(key)));
    }
}

fn delete_values(target: &mut Map<String, Value>, list: &str, values: &Value) {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    if let Some(old) = target.get_mut(list).and_then(Value::as_array_mut) {
        old.retain(|one| !values.contains(one));
    }
}

fn union(mut old: Vec<Value>, items: &[Value]) -> Vec<Value> {
    for item in items {
        if !old.contains(item) {
            old.push(item.clone());
        }
    }
    old
}
