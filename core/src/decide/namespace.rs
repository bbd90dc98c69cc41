//! What is particular to namespaces. The phase must follow the deletion mark, whoever writes the status;
//! `spec.finalizers` are written by `/finalize` alone.

use crate::document::object_or_insert;
use crate::kind::Subresource;
use crate::object::{NAMESPACE_LABEL, NAMESPACE_TOKEN};
use crate::rejection::FieldCause;
use crate::validate;
use serde_json::{Map, Value, json};

/// Makes a new namespace active, and has the server's token hold it.
pub(super) fn shape(root: &mut Map<String, Value>) {
    let phase = json!({"phase": "Active"});
    root.insert("status".into(), phase);
    let spec = root.entry("spec").or_insert_with(|| json!({}));
    if let Some(spec) = spec.as_object_mut() {
        let tokens = spec.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = tokens
            .as_array_mut()
            .filter(|list| !list.contains(&json!(NAMESPACE_TOKEN)))
        {
            list.push(json!(NAMESPACE_TOKEN));
        }
    }
    label(root);
}

/// Labels a namespace with its name; selectors rely on that.
pub(super) fn label(root: &mut Map<String, Value>) {
    let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let name = metadata.get("name").cloned().unwrap_or_default();
    if let Some(labels) = object_or_insert(metadata, "labels") {
        labels.insert(NAMESPACE_LABEL.into(), name);
    }
}

/// What is wrong with a document that is written through a subresource.
pub(super) fn causes(subresource: Option<Subresource>, next: &Value) -> Vec<FieldCause> {
    match subresource {
        Some(Subresource::Status) => phase(next).into_iter().collect(),
        Some(Subresource::Finalize) => tokens(next, |index| format!("spec.finalizers[{index}]")),
        _ => Vec::new(),
    }
}

/// What is wrong with the finalizers of a new namespace.
pub(super) fn new_causes(namespace: &Value) -> Vec<FieldCause> {
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

/// Removes the server's token.
pub(super) fn drop_token(namespace: &mut Value) {
    let list = namespace.pointer_mut("/spec/finalizers");
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.retain(|held| held.as_str() != Some(NAMESPACE_TOKEN));
    }
    drop_empty(namespace);
}

/// Drops an empty list of tokens, which is stored as an absent field.
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
