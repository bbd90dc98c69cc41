//! Kubernetes' strategic merge patch: the schema says which lists are merged, and by which key;
//! directives in the patch override that. Source: apimachinery's `util/strategicpatch`, whose error
//! messages these are.

mod list;
mod text;

use crate::Rejection;
use crate::document::write_whole_numbers;
use crate::schema::{PatchStrategy, Schema};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use text::bad_type;

pub(crate) use text::{go, type_of, unreadable};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList";

type Members = Map<String, Value>;

pub(super) fn apply(live: &Value, change: &Value, schema: &Schema) -> Result<Value, Rejection> {
    if change.is_null() {
        return Ok(live.clone());
    }
    let change = change.as_object().ok_or_else(|| unreadable_patch(change))?;
    if let Some(directive) = change.get(DIRECTIVE) {
        replacement(directive, change)?;
        let name = live.pointer("/metadata/name").and_then(Value::as_str);
        return Err(Rejection::unnamed(name.unwrap_or_default()));
    }
    let mut result = live.clone();
    if let Some(target) = result.as_object_mut() {
        merge(target, change, Some(schema))?;
    }
    // Unlike the result of other patches, this one is not decoded from text, so upstream accepts whole numbers
    // such as 1.0 as integers.
    write_whole_numbers(&mut result);
    Ok(result)
}

fn unreadable_patch(change: &Value) -> Rejection {
    let found = match change {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(_) | Value::Null | Value::Object(_) => "number",
    };
    Rejection::BadRequest(format!(
        "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    ))
}

/// Merges a change into a map. Recursion is safe: the decoder bounds the depth of documents.
fn merge(target: &mut Members, change: &Members, schema: Option<&Schema>) -> Result<(), Rejection> {
    if let Some(directive) = change.get(DIRECTIVE) {
        *target = replacement(directive, change)?;
        return Ok(());
    }
    retain_keys(target, change)?;
    let ordered = merge_ordered(target, change, schema)?;
    for (key, value) in change {
        if key == RETAIN_KEYS || key.starts_with(ELEMENT_ORDER) || ordered.contains(&**key) {
            continue;
        }
        match key.strip_prefix(DELETE_VALUES) {
            Some(list) => {
                let why = "invalid patch format of primitive list";
                let list = list.strip_prefix('/').ok_or_else(|| bad_format(why))?;
                delete_values(target, list, value, schema)?;
            }
            None => merge_member(target, key, value, schema)?,
        }
    }
    Ok(())
}

fn bad_format(why: &str) -> Rejection {
    Rejection::BadRequest(why.into())
}

/// Returns what remains of a map after a `$patch` directive.
fn replacement(directive: &Value, change: &Members) -> Result<Members, Rejection> {
    match directive.as_str() {
        Some("replace") => {
            let mut plain = change.clone();
            plain.remove(DIRECTIVE);
            Ok(plain)
        }
        Some("delete") => Ok(Members::new()),
        _ => Err(unknown_directive(directive, change)),
    }
}

fn unknown_directive(directive: &Value, change: &Members) -> Rejection {
    let change = Value::Object(change.clone());
    Rejection::Internal(format!(
        "unknown patch type: {} in map: {}",
        go(directive),
        go(&change)
    ))
}

/// `$retainKeys`: removes the members that the client does not name. It must name those that it
/// sends.
fn retain_keys(target: &mut Members, change: &Members) -> Result<(), Rejection> {
    let Some(named) = change.get(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || bad_format("invalid patch format of retainKeys");
    let named = named.as_array().ok_or_else(bad)?;
    let named: BTreeSet<&str> = named.iter().filter_map(Value::as_str).collect();
    let is_directive = |key: &str| {
        key == RETAIN_KEYS || key.starts_with(DELETE_VALUES) || key.starts_with(ELEMENT_ORDER)
    };
    let sent = change.iter().filter(|(_, value)| !value.is_null());
    let mut sent = sent.map(|(key, _)| key.as_str());
    if sent.any(|key| !is_directive(key) && !named.contains(key)) {
        return Err(bad());
    }
    target.retain(|key, _| named.contains(key.as_str()));
    Ok(())
}

/// Merges the lists for which the client gives an order, and returns their names.
fn merge_ordered<'a>(
    target: &mut Members,
    change: &'a Members,
    schema: Option<&Schema>,
) -> Result<BTreeSet<&'a str>, Rejection> {
    let mut done = BTreeSet::new();
    for (key, order) in change {
        let Some(name) = key.strip_prefix(ELEMENT_ORDER) else {
            continue;
        };
        let why = "invalid patch format of setElementOrder list";
        let order = order
            .as_array()
            .ok_or_else(|| bad_type("[]interface {}", order))?;
        let name = name.strip_prefix('/').ok_or_else(|| bad_format(why))?;
        let old = list_of(target, name)?.cloned();
        let sent = list_of(change, name)?;
        let schema = schema
            .and_then(|schema| schema.member(name))
            .map(|one| &**one);
        if let Some(merged) = list::in_order(old, sent, order, schema)? {
            target.insert(name.into(), merged.into());
        }
        done.insert(name);
    }
    Ok(done)
}

fn list_of<'a>(members: &'a Members, name: &str) -> Result<Option<&'a Vec<Value>>, Rejection> {
    let list = |value: &'a Value| {
        value
            .as_array()
            .ok_or_else(|| bad_type("[]interface {}", value))
    };
    members.get(name).map(list).transpose()
}

fn merge_member(
    target: &mut Members,
    name: &str,
    value: &Value,
    schema: Option<&Schema>,
) -> Result<(), Rejection> {
    if value.is_null() {
        target.remove(name);
        return Ok(());
    }
    let schema = schema
        .and_then(|schema| schema.member(name))
        .map(|one| &**one);
    match (target.get_mut(name), value) {
        (Some(Value::Object(old)), Value::Object(change)) if is_replaced(schema) => {
            old.clone_from(change);
        }
        (Some(Value::Object(old)), Value::Object(change)) => merge(old, change, schema)?,
        (Some(Value::Array(old)), Value::Array(items)) => {
            *old = list::merge(std::mem::take(old), items, schema)?;
        }
        (_, value) => match fresh(value) {
            Some(value) => drop(target.insert(name.into(), value)),
            None => drop(target.remove(name)),
        },
    }
    Ok(())
}

/// Whether a map is taken as it is sent.
fn is_replaced(schema: Option<&Schema>) -> bool {
    schema.is_some_and(|schema| schema.patch == PatchStrategy::Replace)
}

fn delete_values(
    target: &mut Members,
    name: &str,
    values: &Value,
    schema: Option<&Schema>,
) -> Result<(), Rejection> {
    if values.is_null() {
        target.remove(name);
    }
    let schema = schema
        .and_then(|schema| schema.member(name))
        .map(|one| &**one);
    if let (Some(Value::Array(old)), Value::Array(values)) = (target.get_mut(name), values) {
        *old = list::without(std::mem::take(old), values, schema)?;
    }
    Ok(())
}

/// Returns a value without nulls and directives, for a place where there is nothing to merge with;
/// `None` if the value is a directive itself.
fn fresh(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|(name, value)| !value.is_null() && !is_list_directive(name))
                .filter_map(|(name, value)| Some((name.clone(), fresh(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.iter().filter_map(fresh).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

fn is_list_directive(name: &str) -> bool {
    [RETAIN_KEYS, ELEMENT_ORDER, DELETE_VALUES]
        .iter()
        .any(|directive| name.starts_with(directive))
}

#[cfg(test)]
mod tests;
