//! Objects inside of objects: `x-kubernetes-embedded-resource`.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/objectmeta`.

use super::{Path, Schema, object_meta};
use crate::rejection::FieldCause;
use crate::validate;
use serde_json::{Map, Value};

/// What is wrong with the identity of every embedded object.
pub(super) fn check(schema: &Schema, value: &Value, at: &Path<'_>, causes: &mut Vec<FieldCause>) {
    match value {
        Value::Object(members) => {
            if schema.embedded {
                resource(members, at, causes);
            }
            for (name, member) in members {
                if let Some(schema) = schema.properties.get(&**name) {
                    check(schema, member, &at.member(name), causes);
                } else if let Some(schema) = &schema.additional {
                    check(schema, member, &at.entry(name), causes);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(schema, item, &at.item(index), causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn resource(members: &Map<String, Value>, at: &Path<'_>, causes: &mut Vec<FieldCause>) {
    identity(members, "apiVersion", api_version, at, causes);
    identity(members, "kind", validate::mixed_case_name, at, causes);
    let Some(metadata) = members.get("metadata") else {
        return;
    };
    let at = at.member("metadata").to_string();
    if let Some(wrong) = object_meta().validate(metadata).first() {
        causes.push(FieldCause::invalid(at, metadata, &wrong.message));
        return;
    }
    let metadata = metadata.as_object().into_iter();
    let found = metadata.flat_map(validate::embedded_metadata);
    causes.extend(found.map(|cause| FieldCause {
        field: format!("{at}.{}", cause.field.trim_start_matches("metadata.")),
        ..cause
    }));
}

fn identity(
    members: &Map<String, Value>,
    name: &str,
    rule: fn(&str) -> Result<(), String>,
    at: &Path<'_>,
    causes: &mut Vec<FieldCause>,
) {
    let field = at.member(name).to_string();
    match members.get(name) {
        None => causes.push(FieldCause::required(field, "")),
        Some(Value::String(text)) if text.is_empty() => {
            causes.push(FieldCause::required(field, ""));
        }
        Some(value @ Value::String(text)) => {
            if let Err(why) = rule(text) {
                causes.push(FieldCause::invalid(field, value, &why));
            }
        }
        Some(value) => causes.push(FieldCause::invalid(field, value, "must be a string")),
    }
}

fn api_version(text: &str) -> Result<(), String> {
    if text.matches('/').count() < 2 {
        return Ok(());
    }
    Err(format!("unexpected GroupVersion string: {text}"))
}
