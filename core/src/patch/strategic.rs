//! Kubernetes' strategic merge: lists of objects merge by a key, and directives say otherwise.
//! Source: apimachinery's `util/strategicpatch`; the keys are the patch tags of the API types.

use crate::Rejection;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

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
    ("matchConditions", "name"),
    ("resourceClaims", "name"),
    ("schedulingGates", "name"),
    ("secrets", "name"),
    ("topologySpreadConstraints", "topologyKey"),
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
        } else if key.starts_with("$setElementOrder/") {
            // After the lists themselves have been merged.
        } else if !key.starts_with('$') {
            merge_member(target, key, value)?;
        }
    }
    for (key, order) in change {
        if let Some(list) = key.strip_prefix("$setElementOrder/") {
            reorder(target, list, order)?;
        }
    }
    Ok(())
}

/// Puts the named elements into the client's order; they share the places that they had.
fn reorder(target: &mut Map<String, Value>, list: &str, order: &Value) -> Result<(), Rejection> {
    let bad = || Rejection::Internal(format!("$setElementOrder/{list} is not a list"));
    let order = order.as_array().ok_or_else(bad)?;
    let Some(items) = target.get_mut(list).and_then(Value::as_array_mut) else {
        return Ok(());
    };
    let key = merge_key(list, order, items);
    let id = |value: &Value| {
        key.and_then(|key| value.get(key))
            .unwrap_or(value)
            .to_string()
    };
    let ranks: BTreeMap<String, usize> = order
        .iter()
        .enumerate()
        .map(|(rank, value)| (id(value), rank))
        .collect();
    let mut named: Vec<(usize, Value)> = items
        .iter()
        .filter_map(|item| Some((*ranks.get(&id(item))?, item.clone())))
        .collect();
    named.sort_by_key(|(rank, _)| *rank);
    let mut named = named.into_iter();
    for item in items
        .iter_mut()
        .filter(|item| ranks.contains_key(&id(item)))
    {
        if let Some((_, next)) = named.next() {
            *item = next;
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
                target.insert(key.into(), fresh(members)?);
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

/// Items by their key, in the order in which they were first seen; each is found in one step.
struct Keyed {
    places: BTreeMap<String, usize>,
    items: Vec<Option<Value>>,
}

impl Keyed {
    fn new(list: Vec<Value>, key: &str) -> Self {
        let mut keyed = Self {
            places: BTreeMap::new(),
            items: Vec::with_capacity(list.len()),
        };
        for item in list {
            let id = item.get(key).map(ToString::to_string).unwrap_or_default();
            keyed.places.entry(id).or_insert(keyed.items.len());
            keyed.items.push(Some(item));
        }
        keyed
    }

    fn get(&mut self, id: &str) -> Option<&mut Option<Value>> {
        let place = *self.places.get(id)?;
        self.items.get_mut(place).filter(|item| item.is_some())
    }

    fn push(&mut self, id: String, item: Value) {
        self.places.insert(id, self.items.len());
        self.items.push(Some(item));
    }
}

fn merge_by_key(list: Vec<Value>, items: &[Value], key: &str) -> Result<Vec<Value>, Rejection> {
    let replaces = |item: &&Value| {
        item.get("$patch").and_then(Value::as_str) == Some("replace") && item.get(key).is_none()
    };
    let old = if items.iter().any(|item| replaces(&item)) {
        Vec::new()
    } else {
        list
    };
    let mut keyed = Keyed::new(old, key);
    for item in items.iter().filter(|item| !replaces(item)) {
        merge_item(&mut keyed, item, key)?;
    }
    Ok(keyed.items.into_iter().flatten().collect())
}

fn merge_item(keyed: &mut Keyed, item: &Value, key: &str) -> Result<(), Rejection> {
    let members = item.as_object().ok_or_else(|| list_of(item))?;
    let id = members.get(key).ok_or_else(|| {
        Rejection::Internal(format!(
            "map: {item} does not contain declared merge key: {key}"
        ))
    })?;
    let id = id.to_string();
    match (directive(members)?, keyed.get(&id)) {
        (Some("delete"), Some(slot)) => *slot = None,
        (Some("delete"), None) => {}
        (Some("replace"), Some(slot)) => *slot = Some(fresh(members)?),
        (_, Some(slot)) => {
            if let Some(slot) = slot.as_mut().and_then(Value::as_object_mut) {
                merge_object(slot, members)?;
            }
        }
        (_, None) => keyed.push(id, fresh(members)?),
    }
    Ok(())
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

/// What a patch leaves where there was nothing: its directives are carried out, not kept.
fn fresh(members: &Map<String, Value>) -> Result<Value, Rejection> {
    let mut made = Map::new();
    merge_object(&mut made, members)?;
    Ok(Value::Object(made))
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
    let mut known: BTreeSet<String> = old.iter().map(ToString::to_string).collect();
    old.extend(
        items
            .iter()
            .filter(|item| known.insert(item.to_string()))
            .cloned(),
    );
    old
}
