//! Objects embedded in other objects: `x-kubernetes-embedded-resource`.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/objectmeta`.

use super::{Path, Schema, object_meta};
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Map, Value, json};

/// How a creation timestamp is written that was never set.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Sees an embedded object, and says whether that is enough.
type Visit<'a> = dyn FnMut(&Map<String, Value>, &Path<'_>) -> bool + 'a;

/// Returns what is wrong with `apiVersion`, `kind` and `metadata` of every embedded object.
pub(super) fn causes(schema: &Schema, document: &Value) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    each(schema, document, &Path::Root, &mut |members, at| {
        resource(members, at, &mut causes);
        causes.is_full()
    });
    causes.into_causes()
}

/// The first embedded object with a type or metadata that Go does not decode.
pub(super) fn undecoded(schema: &Schema, document: &Value) -> Option<FieldCause> {
    let mut found = None;
    each(schema, document, &Path::Root, &mut |members, at| {
        let identity = ["apiVersion", "kind"].into_iter().find_map(|name| {
            let value = members.get(name).filter(|value| !value.is_string())?;
            let field = at.member(name).to_string();
            Some(FieldCause::invalid(field, value, "must be a string"))
        });
        found = identity.or_else(|| undecoded_metadata(members, at));
        found.is_some()
    });
    found
}

/// Visits the embedded objects until one is enough, and returns whether one was.
fn each(schema: &Schema, value: &Value, at: &Path<'_>, visit: &mut Visit<'_>) -> bool {
    if !schema.embeds {
        return false;
    }
    match value {
        Value::Object(members) => {
            let is_enough = schema.embedded && visit(members, at);
            let below = |(name, member): (&String, &Value)| {
                if let Some(schema) = schema.properties.get(&**name) {
                    return each(schema, member, &at.member(name), visit);
                }
                let schema = schema.additional.as_ref();
                schema.is_some_and(|schema| each(schema, member, &at.entry(name), visit))
            };
            is_enough || members.iter().any(below)
        }
        Value::Array(items) => schema.items.as_ref().is_some_and(|schema| {
            let mut items = items.iter().enumerate();
            items.any(|(index, item)| each(schema, item, &at.item(index), visit))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Gives the metadata of every embedded object the form that Go gives it by decoding and encoding it. What
/// does not decode is dropped: it was stored before the schema said that there is an object.
pub(super) fn rewrite(schema: &Schema, value: &mut Value) {
    if !schema.embeds {
        return;
    }
    match value {
        Value::Object(members) => {
            if schema.embedded {
                let is_name = |name: &str| matches!(name, "apiVersion" | "kind");
                members.retain(|name, member| member.is_string() || !is_name(name));
                members.get_mut("metadata").map(rewrite_metadata);
            }
            for (name, member) in members.iter_mut() {
                if let Some(schema) = schema.member(name) {
                    rewrite(schema, member);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| rewrite(schema, item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rewrite_metadata(metadata: &mut Value) {
    let fields = object_meta();
    if metadata.is_null() {
        *metadata = json!({});
    }
    if let Some(members) = metadata.as_object_mut() {
        let decodes = |schema: &Schema, value: &Value| schema.validate(value).is_empty();
        members.retain(|name, value| fields.member(name).is_some_and(|one| decodes(one, value)));
    }
    fields.decode(metadata);
    if let Some(members) = metadata.as_object_mut() {
        for owner in structures(members, "ownerReferences") {
            for name in ["apiVersion", "kind", "name", "uid"] {
                owner.entry(name).or_insert_with(|| "".into());
            }
        }
        for entry in structures(members, "managedFields") {
            entry.retain(|_, value| !value.is_null() && value != "");
        }
        members.retain(|name, value| !is_left_out(name, value));
    }
}

/// The structures in a list; where there is a null, Go has an empty one.
fn structures<'a>(
    members: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let items = members.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(|item| {
        if item.is_null() {
            *item = json!({});
        }
        item.as_object_mut()
    })
}

/// Whether Go leaves a member of the metadata out. All have `omitempty`; the grace period is a pointer.
fn is_left_out(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || name == "creationTimestamp" && text == NEVER,
        Value::Number(_) => name == "generation" && value.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) => false,
    }
}

fn resource(members: &Map<String, Value>, at: &Path<'_>, causes: &mut CauseList) {
    identity(members, "apiVersion", api_version, at, causes);
    identity(members, "kind", validate::mixed_case_name, at, causes);
    if let Some(cause) = undecoded_metadata(members, at) {
        return causes.push(cause);
    }
    let metadata = members.get("metadata").and_then(Value::as_object);
    let at = at.member("metadata");
    for cause in metadata.into_iter().flat_map(validate::embedded_metadata) {
        causes.push_with(|| FieldCause {
            field: format!("{at}.{}", cause.field.trim_start_matches("metadata.")),
            ..cause
        });
    }
}

fn undecoded_metadata(members: &Map<String, Value>, at: &Path<'_>) -> Option<FieldCause> {
    let metadata = members.get("metadata")?;
    let wrong = object_meta().validate(metadata).into_iter().next()?;
    let field = at.member("metadata").to_string();
    Some(FieldCause::invalid(field, metadata, &wrong.message))
}

fn identity(
    members: &Map<String, Value>,
    name: &str,
    rule: fn(&str) -> Result<(), String>,
    at: &Path<'_>,
    causes: &mut CauseList,
) {
    let field = || at.member(name).to_string();
    match members.get(name) {
        None => causes.push_with(|| FieldCause::required(field(), "")),
        Some(Value::String(text)) if text.is_empty() => {
            causes.push_with(|| FieldCause::required(field(), ""));
        }
        Some(value @ Value::String(text)) => {
            if let Err(why) = rule(text) {
                causes.push_with(|| FieldCause::invalid(field(), value, &why));
            }
        }
        Some(value) => causes.push_with(|| FieldCause::invalid(field(), value, "must be a string")),
    }
}

fn api_version(text: &str) -> Result<(), String> {
    if text.matches('/').count() < 2 {
        return Ok(());
    }
    Err(format!("unexpected GroupVersion string: {text}"))
}
