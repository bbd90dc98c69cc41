//! A namespace's phase follows its deletion mark, whoever writes its status.

use crate::rejection::FieldCause;
use serde_json::{Value, json};

/// What is wrong with the status of a namespace that is about to be written.
pub(super) fn causes(subresource: &str, next: &Value) -> Option<FieldCause> {
    let text = |pointer| next.pointer(pointer).and_then(Value::as_str);
    let phase = text("/status/phase").unwrap_or_default();
    let (right, set) = match text("/metadata/deletionTimestamp") {
        None => ("Active", "empty"),
        Some(_) => ("Terminating", "not empty"),
    };
    if subresource != "status" || phase == right {
        return None;
    }
    let why = format!("may only be '{right}' if `deletionTimestamp` is {set}");
    Some(FieldCause::invalid("status.Phase", &json!(phase), &why))
}
