//! JSON Merge Patch (RFC 7386), with what upstream's library makes of nulls inside of lists.

use crate::Rejection;
use serde_json::Value;

pub(super) fn apply(live: &Value, change: &Value) -> Result<Value, Rejection> {
    if !change.is_object() {
        return Err(Rejection::BadRequest("Invalid JSON Patch".into()));
    }
    let mut result = live.clone();
    merge(&mut result, change);
    Ok(result)
}

/// Recursion is safe: the decoder bounds the depth of documents.
fn merge(target: &mut Value, change: &Value) {
    let Value::Object(members) = target else {
        *target = without_null_members(change);
        return;
    };
    let Value::Object(change) = change else {
        *target = change.clone();
        return;
    };
    for (key, value) in change {
        if value.is_null() {
            members.remove(key);
        } else {
            merge(members.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// A value that takes the place of another: its objects lose members that are null, also inside of lists,
/// but the items of a list stay. A list in place of an object stays as it is, as upstream leaves it.
///
/// Source: `pruneNulls` of `gopkg.in/evanphx/json-patch.v4`.
fn without_null_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, member)| !member.is_null());
            let kept = kept.map(|(key, member)| (key.clone(), without_null_members(member)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.iter().map(without_null_members).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
