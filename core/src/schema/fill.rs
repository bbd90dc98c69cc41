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

/// Bytes about that defaults may add to a document. It is refused long before, for what is stored has fewer; what was
/// stored before a default came with much in it can still be read, with some of it.
const DEFAULTS_BYTES_MAX: usize = 16 << 20;

/// A default for every member that is absent, or null where null is no value.
pub(super) fn defaults(schema: &Schema, value: &mut Value) {
    Filling {
        room: DEFAULTS_BYTES_MAX,
    }
    .fill(schema, value);
}

struct Filling {
    room: usize,
}

impl Filling {
    fn fill(&mut self, schema: &Schema, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, schema) in &schema.properties {
                    let is_missing =
                        |one: Option<&Value>| one.is_none_or(|one| is_unset(schema, one));
                    if let Some(default) = &schema.default
                        && is_missing(members.get(&**name))
                        && self.has_room(default)
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
            && self.has_room(default)
        {
            *value = default.clone();
        }
    }

    /// Once there is none for one, there is none for any.
    fn has_room(&mut self, default: &Value) -> bool {
        let left = self.room.checked_sub(weight(default));
        self.room = left.unwrap_or(0);
        left.is_some()
    }
}

/// Bytes that a value takes in a document, about.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, one)| name.len() + 4 + weight(one))
                .sum::<usize>()
                + 2
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

    #[test]
    fn defaults_do_not_make_a_document_endless() {
        let length = 1 << 16;
        let member = json!({"type": "string", "default": "x".repeat(length)});
        let item = json!({"type": "object", "properties": {"a": member, "b": {"default": 1}}});
        let list = parse(&json!({"type": "array", "items": item}));
        for (items, filled) in [(100, 100), (10_000, DEFAULTS_BYTES_MAX / (length + 6))] {
            let mut document = json!(vec![json!({}); items]);
            defaults(&list, &mut document);
            let found = document.as_array().expect("a list").iter();
            let found = found.filter(|item| item["a"].is_string()).count();
            assert_eq!(found, filled, "{items}");
        }
    }
}
