//! `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`.

use super::schema::is_true;
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";

/// An extension that says how values of a type are merged.
struct Marker {
    name: &'static str,
    kind: &'static str,
    supported: &'static [&'static str],
}

const LIST: Marker = Marker {
    name: LIST_TYPE,
    kind: "array",
    supported: &["atomic", "set", "map"],
};
const MAP: Marker = Marker {
    name: MAP_TYPE,
    kind: "object",
    supported: &["atomic", "granular"],
};

pub(super) fn check(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    one_of(schema, &MAP, at, causes);
    one_of(schema, &LIST, at, causes);
    let list_type = held(schema, LIST_TYPE);
    let keys = keys(schema);
    if !keys.is_empty() && list_type != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        let field = at.member(LIST_TYPE).to_string();
        causes.push(match list_type {
            None => FieldCause::required(field, why),
            Some(other) => FieldCause::invalid(field, &json!(other), why),
        });
    }
    match list_type {
        Some("set") => set(schema, at, causes),
        Some("map") => map(schema, &keys, at, causes),
        Some(_) | None => {}
    }
}

fn held<'a>(schema: &'a Value, name: &str) -> Option<&'a str> {
    schema.get(name).and_then(Value::as_str)
}

fn keys(schema: &Value) -> Vec<&str> {
    let keys = schema.get(MAP_KEYS).and_then(Value::as_array);
    keys.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn one_of(schema: &Value, rule: &Marker, at: &Path<'_>, causes: &mut CauseList) {
    let Marker {
        name,
        kind,
        supported,
    } = *rule;
    let Some(found) = held(schema, name) else {
        return;
    };
    let held_kind = text(schema, "/type");
    if held_kind != kind {
        let why = format!("must be {kind} if {name} is specified");
        let field = at.member("type").to_string();
        causes.push(if held_kind.is_empty() {
            FieldCause::required(field, &why)
        } else {
            FieldCause::invalid(field, &json!(held_kind), &why)
        });
    }
    if !supported.contains(&found) {
        let field = at.member(name).to_string();
        causes.push(FieldCause::not_supported(field, found, supported));
    }
}

/// Items of a set are compared as a whole, so they must be atomic.
fn set(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        return;
    };
    let at = at.member("items");
    let (name, atomic) = match text(items, "/type") {
        "array" => (
            LIST_TYPE,
            held(items, LIST_TYPE).is_none_or(|one| one == "atomic"),
        ),
        "object" => (MAP_TYPE, held(items, MAP_TYPE) == Some("atomic")),
        _ => ("", true),
    };
    if !atomic {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let value = items.get(name).unwrap_or(&Value::Null);
        causes.push(FieldCause::invalid(at.member(name).to_string(), value, why));
    }
    not_null(items, "set", &at, causes);
}

fn not_null(items: &Value, list_type: &str, at: &Path<'_>, causes: &mut CauseList) {
    if is_true(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        let field = at.member("nullable").to_string();
        causes.push(FieldCause::forbidden(field, &why));
    }
}

fn map(schema: &Value, keys: &[&str], at: &Path<'_>, causes: &mut CauseList) {
    let at_keys = || at.member(MAP_KEYS).to_string();
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        causes.push(FieldCause::required(at_keys(), why));
    }
    let at_items = at.member("items");
    let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        causes.push(FieldCause::required(at_items.to_string(), why));
        return;
    };
    let kind = text(items, "/type");
    if kind != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        let field = at_items.member("type").to_string();
        causes.push(FieldCause::invalid(field, &json!(kind), why));
        return;
    }
    // Each message contains the whole list, so each is reported only once.
    let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
    let required = items.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: BTreeSet<&str> = required.collect();
    for name in keys {
        if causes.is_full() {
            return;
        }
        key(items, name, required.contains(name), &at_items, causes);
        let mut refuse = |why| {
            if told.insert(why) {
                causes.push_with(|| FieldCause::invalid(at_keys(), &json!(keys), why));
            }
        };
        if items
            .get("properties")
            .and_then(|all| all.get(name))
            .is_none()
        {
            refuse("entries must all be names of item properties");
        }
        if !seen.insert(name.to_string()) {
            refuse("must not contain duplicate entries");
        }
    }
    not_null(items, "map", &at_items, causes);
}

/// A key must always be present, and comparable.
fn key(items: &Value, name: &str, is_required: bool, at: &Path<'_>, causes: &mut CauseList) {
    let Some(schema) = items.get("properties").and_then(|all| all.get(name)) else {
        return;
    };
    let properties = at.member("properties");
    let at = properties.entry(name);
    let kind = text(schema, "/type");
    if matches!(kind, "array" | "object") {
        let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        let field = at.member("type").to_string();
        causes.push(FieldCause::invalid(field, &json!(kind), why));
    }
    if !is_required && schema.get("default").is_none() {
        let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or \
                   be a required property";
        let field = at.member("default").to_string();
        causes.push(FieldCause::required(field, why));
    }
    if is_true(schema, "nullable") {
        let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
        let field = at.member("nullable").to_string();
        causes.push(FieldCause::forbidden(field, why));
    }
}
