//! Owner references, as far as they are checked when written. Whether the owner exists is not
//! checked.

use crate::kind::GroupVersionKind;
use crate::rejection::{CauseList, FieldCause};
use serde_json::{Map, Value, json};

/// Adds what is wrong with `metadata.ownerReferences`.
pub(super) fn check(metadata: &Map<String, Value>, causes: &mut CauseList) {
    let references = metadata.get("ownerReferences").and_then(Value::as_array);
    let references: &[Value] = references.map_or(&[], Vec::as_slice);
    for reference in references {
        if causes.is_full() {
            return;
        }
        check_one(reference, causes);
    }
    let mut controllers = references
        .iter()
        .filter(|one| one.get("controller") == Some(&Value::Bool(true)));
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references \
             for {} and {}",
            title(first),
            title(second)
        );
        let field = "metadata.ownerReferences";
        causes.push_with(|| FieldCause::invalid(field, &json!(references), &why));
    }
}

fn check_one(reference: &Value, causes: &mut CauseList) {
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or("");
    let mut empty = |field: &str, why: &str| {
        let path = format!("metadata.ownerReferences.{field}");
        causes.push_with(|| FieldCause::invalid(path, &json!(text(field)), why));
    };
    let gvk = GroupVersionKind::parse(text("apiVersion"), text("kind"));
    if gvk.is_none() {
        empty("apiVersion", "version must not be empty");
    }
    for field in ["kind", "name", "uid"] {
        if text(field).is_empty() {
            empty(field, "must not be empty");
        }
    }
    if gvk.is_some_and(|gvk| is_banned(&gvk)) {
        causes.push_with(|| {
            FieldCause::invalid(
                "metadata.ownerReferences",
                reference,
                "/v1, Kind=Event is disallowed from being an owner",
            )
        });
    }
}

/// Whether objects of this kind own nothing. Source: upstream's `BannedOwners`.
fn is_banned(gvk: &GroupVersionKind) -> bool {
    let named = [&*gvk.group, &*gvk.version, &*gvk.kind];
    named == ["", "v1", "Event"]
}

fn title(reference: &Value) -> String {
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or("");
    format!("{}/{}", text("kind"), text("name"))
}
