//! Values and errors in the notation of upstream, which is that of Go.

use crate::Rejection;
use crate::schema::Schema;
use serde_json::Value;

/// Formats a value like Go's `%v`: `map[a:1 b:[x y]]`.
pub(crate) fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name}:{}", go(value)))
                .collect();
            members.sort();
            format!("map[{}]", members.join(" "))
        }
    }
}

/// Returns the Go type to which a JSON value is decoded.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

pub(super) fn bad_type(expected: &str, found: &Value) -> Rejection {
    Rejection::Internal(format!(
        "expected a {expected}, but received a {}",
        type_of(found)
    ))
}

pub(super) fn no_merge_key(item: &Value, key: &str) -> Rejection {
    Rejection::Internal(format!(
        "map: {} does not contain declared merge key: {key}",
        go(item)
    ))
}

/// The rejection (422) for the first value in a merged document that its Go type cannot hold; it is
/// reported as an error of the patch.
pub(crate) fn unreadable(change: &Value, merged: &Value, schema: &Schema) -> Option<Rejection> {
    let why = mismatch(merged, schema)?;
    Some(Rejection::invalid_patch(&go(change).into(), &why))
}

/// Recursion is safe: the decoder bounds the depth of documents. Source: the
/// `DefaultUnstructuredConverter`.
fn mismatch(value: &Value, schema: &Schema) -> Option<String> {
    let kind = match value {
        Value::Null => return None,
        Value::Object(_) => "map",
        Value::Array(_) => "slice",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => type_of(value),
    };
    match (&*schema.type_name, value) {
        ("object", Value::Object(members)) => members
            .iter()
            .find_map(|(name, value)| mismatch(value, schema.member(name)?)),
        ("array", Value::Array(items)) => {
            let schema = schema.items.as_ref()?;
            items.iter().find_map(|item| mismatch(item, schema))
        }
        ("object", _) if schema.additional.is_some() => {
            Some(format!("cannot restore map from {kind}"))
        }
        ("object", _) => Some(format!("cannot restore struct from: {kind}")),
        // A `[]byte` is a string on the wire.
        ("array", _) => Some(format!("cannot restore slice from {kind}")),
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("integer" | "number", Value::Number(_))
        | ("", _) => None,
        (wanted, _) => {
            let wanted = match wanted {
                "boolean" => "bool",
                "integer" => "int32",
                "number" => "float64",
                other => other,
            };
            Some(format!("cannot convert {} to {wanted}", type_of(value)))
        }
    }
}
