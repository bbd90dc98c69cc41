//! Objects embedded in other objects: `x-kubernetes-embedded-resource`.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/objectmeta`.

use super::{Path, Schema, object_meta};
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Map, Value};

/// Returns what is wrong with `apiVersion`, `kind` and `metadata` of every embedded object.
/// Metadata that does not decode but was stored like that before is accepted: upstream drops it
/// when it reads the object.
pub(super) fn causes(schema: &Schema, document: &Value, old: Option<&Value>) -> Vec<FieldCause> {
    let mut found = Found::of(schema, document);
    if !found.undecoded.is_empty()
        && let Some(old) = old
    {
        let before = Found::of(schema, old).undecoded;
        found.undecoded.drop_known(&before);
    }
    found.undecoded.extend(found.invalid.into_causes());
    found.undecoded.into_causes()
}

#[derive(Default)]
struct Found {
    undecoded: CauseList,
    invalid: CauseList,
}

impl Found {
    fn of(schema: &Schema, document: &Value) -> Self {
        let mut found = Self::default();
        check(schema, document, &Path::Root, &mut found);
        found
    }
}

fn check(schema: &Schema, value: &Value, at: &Path<'_>, found: &mut Found) {
    if found.undecoded.is_full() && found.invalid.is_full() {
        return;
    }
    match value {
        Value::Object(members) => {
            if schema.embedded {
                resource(members, at, found);
            }
            for (name, member) in members {
                if let Some(schema) = schema.properties.get(&**name) {
                    check(schema, member, &at.member(name), found);
                } else if let Some(schema) = &schema.additional {
                    check(schema, member, &at.entry(name), found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(schema, item, &at.item(index), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn resource(members: &Map<String, Value>, at: &Path<'_>, found: &mut Found) {
    let causes = &mut found.invalid;
    identity(members, "apiVersion", api_version, at, causes);
    identity(members, "kind", validate::mixed_case_name, at, causes);
    let Some(metadata) = members.get("metadata") else {
        return;
    };
    let at = at.member("metadata");
    if let Some(wrong) = object_meta().validate(metadata).first() {
        let undecoded = || FieldCause::invalid(at.to_string(), metadata, &wrong.message);
        return found.undecoded.push_with(undecoded);
    }
    let metadata = metadata.as_object().into_iter();
    for cause in metadata.flat_map(validate::embedded_metadata) {
        causes.push_with(|| FieldCause {
            field: format!("{at}.{}", cause.field.trim_start_matches("metadata.")),
            ..cause
        });
    }
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
