//! Helpers that walk JSON documents.

use crate::object::Name;
use crate::patch::whole;
use serde_json::{Map, Value};

/// How deeply lists and objects may be nested: no decoder reads a deeper document back, and walking over
/// one would need an unbounded stack. The same limit as in `serde_json`.
pub const LEVELS_MAX: usize = 127;

/// The metadata of an object, if it has any.
pub fn metadata_mut(document: &mut Value) -> Option<&mut Map<String, Value>> {
    document.get_mut("metadata")?.as_object_mut()
}

/// A member of an object, created with this value if it is absent or null.
pub(crate) fn member_or_insert<'a>(
    members: &'a mut Map<String, Value>,
    name: &str,
    default: Value,
) -> &'a mut Value {
    let member = members.entry(name).or_insert(Value::Null);
    if member.is_null() {
        *member = default;
    }
    member
}

/// An object in a member of another, created if absent or null; `None` if something else is there.
pub(crate) fn object_or_insert<'a>(
    members: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    member_or_insert(members, name, Map::new().into()).as_object_mut()
}

/// Whether lists and objects are nested no deeper than this.
pub(crate) fn fits(value: &Value, levels: usize) -> bool {
    let below = levels.checked_sub(1);
    match value {
        Value::Array(items) => {
            below.is_some_and(|below| items.iter().all(|item| fits(item, below)))
        }
        Value::Object(members) => {
            below.is_some_and(|below| members.values().all(|member| fits(member, below)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The number of values in a value, itself included.
pub(crate) fn values(value: &Value) -> usize {
    let below: usize = match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    below + 1
}

/// Whether both values are objects that agree in every member except these.
pub(crate) fn equal_except(apart: &[&str], one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return false;
    };
    let counts = |name: &&String| !apart.contains(&name.as_str());
    let mut names = one.keys().chain(other.keys()).filter(counts);
    names.all(|name| one.get(name) == other.get(name))
}

/// The text of a member; empty if it is absent or no text.
pub fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    let found = document.get(member).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// The text at a JSON pointer; empty if there is none.
pub fn text_at<'a>(document: &'a Value, pointer: &str) -> &'a str {
    let found = document.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// The items of a member; none if it is absent or no list.
pub(crate) fn list<'a>(document: &'a Value, member: &str) -> &'a [Value] {
    let found = document.get(member).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// The texts in a list.
pub(crate) fn names(document: &Value, member: &str) -> Vec<Name> {
    let found = list(document, member).iter().filter_map(Value::as_str);
    found.map(Name::from).collect()
}

/// Writes whole numbers without a decimal point: Go decodes untyped numbers as floating-point numbers, and
/// writes 1.0 as 1.
pub(crate) fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole) {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(members) => members.values_mut().for_each(write_whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_integer_that_only_go_rounds_is_kept() {
        let sent = "[18446744073709551615,1.0,-1e3]";
        let mut numbers: Value = serde_json::from_str(sent).expect("JSON");
        write_whole_numbers(&mut numbers);
        assert_eq!(numbers.to_string(), "[18446744073709551615,1,-1000]");
    }

    #[test]
    fn what_fits_is_what_is_read_back() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |below, _| json!([{"a": below}]));
        for (value, levels) in [
            (json!(1), 0),
            (json!([]), 1),
            (json!({"a": [1], "b": 1}), 2),
        ] {
            assert!(fits(&value, levels));
            assert!(levels == 0 || !fits(&value, levels - 1));
        }
        for half in [63, 64] {
            let value = nested(half);
            let read: Result<Value, _> = serde_json::from_str(&value.to_string());
            assert_eq!(fits(&value, LEVELS_MAX), read.is_ok(), "{half}");
        }
    }

    #[test]
    fn every_value_counts_once() {
        for (value, count) in [
            (json!(null), 1),
            (json!([]), 1),
            (json!({"a": [1, {"b": "c"}], "d": {}}), 6),
        ] {
            assert_eq!(values(&value), count, "{value}");
        }
    }

    #[test]
    fn a_member_that_only_one_of_them_has_counts_unless_it_is_left_out() {
        for (one, other, apart, agree) in [
            (json!({"a": 1}), json!({"a": 1}), &["x"][..], true),
            (json!({"a": 1}), json!({"a": 2}), &["x"], false),
            (json!({"a": 1, "b": 1}), json!({"a": 1}), &["x"], false),
            (json!({"a": 1}), json!({"a": 1, "b": null}), &["x"], false),
            (json!({"a": 1, "b": 1}), json!({"a": 1}), &["x", "b"], true),
            (json!({"a": 1, "b": 1}), json!({"b": 2}), &["a", "b"], true),
            (json!(1), json!(1), &[], false),
        ] {
            assert_eq!(equal_except(apart, &one, &other), agree, "{one} {other}");
            assert_eq!(equal_except(apart, &other, &one), agree, "{other} {one}");
        }
    }
}
