//! JSON Merge Patch (RFC 7386).

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
    let Value::Object(change) = change else {
        *target = change.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(target) = target.as_object_mut() else {
        return;
    };
    for (key, value) in change {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
