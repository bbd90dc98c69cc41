//! Nulls and defaults. Source: `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.

use super::Schema;
use crate::quantity;
use serde_json::Value;

/// Removes members that are null, may not be, and have no default to take.
pub(super) fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                let useless = |schema: &Schema| !schema.nullable && schema.default.is_none();
                !(member.is_null() && schema.member(name).is_some_and(|one| useless(one)))
            });
            for (name, member) in members.iter_mut() {
                if let Some(schema) = schema.member(name) {
                    drop_nulls(schema, member);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| drop_nulls(schema, item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An empty text for every null in a list or a map of texts, as Go's decoder reads it; of a time that is
/// none, which is a null again. A quantity in its canonical form, which in a map is an amount of a resource. Times
/// and bytes as they are written again.
pub(super) fn decode(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if let Some(known) = schema.properties.get(name.as_str()) {
                    decode(known, member);
                } else if let Some(each) = &schema.additional {
                    decode_one(each, member);
                    if each.quantity {
                        quantity::round_up(member);
                    }
                }
            }
        }
        Value::Array(items) => {
            let Some(each) = &schema.items else { return };
            items.iter_mut().for_each(|item| decode_one(each, item));
        }
        Value::String(_) | Value::Number(_) if schema.quantity => quantity::canonicalize(value),
        Value::String(text) => {
            let format = schema.format.as_ref();
            if let Some(written) = format.and_then(|format| format.rewritten(text)) {
                *text = written;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn decode_one(each: &Schema, value: &mut Value) {
    let is_time = || {
        each.format
            .as_ref()
            .is_some_and(|one| one.name() == "date-time")
    };
    if value.is_null() && &*each.type_name == "string" && !is_time() {
        *value = "".into();
    } else if value.is_null() && each.quantity {
        *value = "0".into();
    } else {
        decode(each, value);
    }
}

/// A default for every member that is absent, or null where null is no value.
pub(super) fn defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, schema) in &schema.properties {
                if let Some(default) = &schema.default
                    && members.get(&**name).is_none_or(|one| is_unset(schema, one))
                {
                    members.insert(name.to_string(), default.clone());
                }
            }
            for (name, member) in members.iter_mut() {
                if let Some(schema) = schema.member(name) {
                    replace_null(schema, member);
                    defaults(schema, member);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                replace_null(schema, item);
                defaults(schema, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if let Some(default) = &schema.default
        && is_unset(schema, value)
    {
        *value = default.clone();
    }
}

fn is_unset(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}
