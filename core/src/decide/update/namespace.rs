//! The phase of a namespace must follow its deletion mark, whoever writes its status; its `spec.finalizers`
//! are written by `/finalize` alone.

use crate::kind::Subresource;
use crate::rejection::FieldCause;
use crate::validate;
use serde_json::{Value, json};

/// What is wrong with a document that is written through a subresource.
pub(super) fn causes(subresource: Option<Subresource>, next: &Value) -> Vec<FieldCause> {
    match subresource {
        Some(Subresource::Status) => phase(next).into_iter().collect(),
        Some(Subresource::Finalize) => tokens(next, |index| format!("spec.finalizers[{index}]")),
        _ => Vec::new(),
    }
}

/// What is wrong with the finalizers of a new namespace.
pub(in crate::decide) fn new_causes(namespace: &Value) -> Vec<FieldCause> {
    tokens(namespace, |_| "spec.finalizers".into())
}

fn tokens(namespace: &Value, field: impl Fn(usize) -> String) -> Vec<FieldCause> {
    let list = namespace.pointer("/spec/finalizers");
    let list = list.and_then(Value::as_array).into_iter().flatten();
    let tokens = list.map(|token| token.as_str().unwrap_or_default());
    tokens
        .enumerate()
        .flat_map(|(index, token)| validate::namespace_finalizer(&field(index), token))
        .collect()
}

/// Drops an empty list, which is stored as an absent field.
pub(super) fn drop_empty(next: &mut Value) {
    let spec = next.get_mut("spec").and_then(Value::as_object_mut);
    let is_empty = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    if let Some(spec) = spec.filter(|spec| spec.get("finalizers").is_some_and(is_empty)) {
        spec.remove("finalizers");
    }
}

fn phase(next: &Value) -> Option<FieldCause> {
    let text = |pointer| next.pointer(pointer).and_then(Value::as_str);
    let phase = text("/status/phase").unwrap_or_default();
    let (right, set) = match text("/metadata/deletionTimestamp") {
        None => ("Active", "empty"),
        Some(_) => ("Terminating", "not empty"),
    };
    if phase == right {
        return None;
    }
    let why = format!("may only be '{right}' if `deletionTimestamp` is {set}");
    Some(FieldCause::invalid("status.Phase", &json!(phase), &why))
}
