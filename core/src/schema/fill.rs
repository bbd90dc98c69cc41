//! Nulls, canonical forms and defaults. Source:
//! `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.

use super::Schema;
use crate::object::OBJECT_BYTES_MAX;
use crate::quantity;
use crate::room::Room;
use serde_json::Value;

/// Removes null members that are not nullable and have no default to replace the null.
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

/// Brings a value into the form that Go gives it by decoding and encoding it. In lists and maps of
/// strings a null becomes an empty string, but a null time stays null. Quantities get their
/// canonical form; those in a map are amounts of resources and are rounded up. Times and bytes are
/// formatted anew. Members that Go omits are removed: nulls, empty lists, empty maps, and where the type
/// says so, what is `false`, 0 or empty.
pub(super) fn decode(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                if let Some(known) = schema.properties.get(name.as_str()) {
                    decode(known, member);
                    return !is_left_out(known, name, member);
                }
                if let Some(each) = &schema.additional {
                    decode_one(each, member);
                    if each.quantity {
                        quantity::round_up(member);
                    }
                }
                true
            });
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

/// Whether decoding or pruning may change a value itself, and not only what is in it.
pub(super) fn is_raw(schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) => is_omitted_zero(schema, value),
        Value::Number(number) => {
            schema.quantity || schema.rewritten && number.is_f64() || is_omitted_zero(schema, value)
        }
        Value::String(_) => {
            schema.quantity || schema.format.is_some() || is_omitted_zero(schema, value)
        }
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Whether Go omits a member. Source: `omitempty`. The few lists without `omitempty` are omitted as
/// well if they are empty, rather than written as `null`. `managedFields` stays, since clients
/// reset it with an empty list, which must remain visible, and so does what a definition says about
/// stored versions, since migrations change it. So do the `policies` of an autoscaler, the only list of which an
/// empty one is refused and none is filled in. Source: `copyHPAScalingRules`.
fn is_left_out(known: &Schema, name: &str, member: &Value) -> bool {
    let is_map = || known.properties.is_empty() && known.additional.is_some();
    match member {
        _ if name == "managedFields" => false,
        Value::Null => !known.type_name.is_empty(),
        Value::Array(_) if matches!(name, "storedVersions" | "policies") => false,
        Value::Array(items) => items.is_empty() && &*known.type_name == "array",
        Value::Object(members) => members.is_empty() && is_map(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => is_omitted_zero(known, member),
    }
}

fn is_omitted_zero(known: &Schema, value: &Value) -> bool {
    let is_zero = || match value {
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    known.omits_zero && is_zero()
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

/// Fills in the default of every member that is absent, or null although it is not nullable. Stops
/// once the document is as long as an object may be. A write of such a document is refused for its
/// length; an object that was stored before a large default was added can still be read, with some
/// of its defaults.
pub(super) fn defaults(schema: &Schema, value: &mut Value) {
    let room = Room::of(value, OBJECT_BYTES_MAX);
    Filling { room }.fill(schema, value);
}

struct Filling {
    room: Room,
}

impl Filling {
    fn fill(&mut self, schema: &Schema, value: &mut Value) {
        if !self.room.is_enough() {
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, schema) in &schema.properties {
                    let is_missing =
                        |one: Option<&Value>| one.is_none_or(|one| is_unset(schema, one));
                    if let Some(default) = &schema.default
                        && is_missing(members.get(&**name))
                        && self.room.takes_member(name, default)
                    {
                        members.insert(name.to_string(), default.clone());
                    }
                }
                for (name, member) in members.iter_mut() {
                    if let Some(schema) = schema.member(name) {
                        self.replace_null(schema, member);
                        self.fill(schema, member);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &schema.items else { return };
                for item in items {
                    self.replace_null(schema, item);
                    self.fill(schema, item);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn replace_null(&mut self, schema: &Schema, value: &mut Value) {
        if let Some(default) = &schema.default
            && is_unset(schema, value)
            && self.room.takes(default)
        {
            *value = default.clone();
        }
    }
}

fn is_unset(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::parse;
    use serde_json::json;

    fn filled(default: &Value, name: &str, items: usize) -> (usize, usize) {
        let item = json!({"type": "object", "properties": {name: {"default": default}, "b": {"default": 1}}});
        let list = parse(&json!({"type": "array", "items": item}));
        let mut document = json!(vec![json!({}); items]);
        defaults(&list, &mut document);
        let found = document.as_array().expect("a list").iter();
        let found = found.filter(|item| item.get(name).is_some()).count();
        (found, document.to_string().len())
    }

    #[test]
    fn defaults_do_not_make_a_document_endless() {
        let long = "x".repeat(1 << 16);
        for (default, name) in [
            (json!(long), "a"),
            (json!(1), &*long),
            (json!({ "a": {} }), "a"),
            (json!([[], []]), "a"),
            (json!(false), "a"),
        ] {
            let (found, bytes) = filled(&default, name, 10);
            assert_eq!(found, 10, "{bytes}");
            let (found, bytes) = filled(&default, name, 300_000);
            assert!(found < 300_000, "{bytes}");
            let most = OBJECT_BYTES_MAX * 4 / 3;
            assert!((OBJECT_BYTES_MAX..most).contains(&bytes), "{bytes}");
        }
    }
}
