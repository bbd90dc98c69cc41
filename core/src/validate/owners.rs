//! Owner references, as far as they are checked when written. Whether the owner exists is not
//! checked.

use crate::kind::GroupVersionKind;
use crate::rejection::{CauseList, FieldCause};
use serde_json::{Map, Value, json};

/// Adds what is wrong with `metadata.ownerReferences`.
pub(super) fn check(metadata: &Map<String, Value>, causes: &mut CauseList) {
    let references = metadata.get("ownerReferences").and_then(Value::as_array);
    let references: &[Value] = references.map_or(&[], Vec::as_slice);
    let mut first: Option<&Value> = None;
    for reference in references {
        if causes.is_full() {
            return;
        }
        check_one(reference, causes);
        if !is_controller(reference) {
            continue;
        }
        let Some(first) = first else {
            first = Some(reference);
            continue;
        };
        let (first, further) = (title(first), title(reference));
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references \
             for {first} and {further}"
        );
        let field = "metadata.ownerReferences";
        causes.push_with(|| FieldCause::invalid(field, &json!(references), &why));
    }
}

fn is_controller(one: &Value) -> bool {
    one.get("controller") == Some(&Value::Bool(true))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_controller_but_the_first_is_told() {
        let owner = |name: &str, controller: bool| json!({"apiVersion": "v1", "kind": "A", "name": name, "uid": "u", "controller": controller});
        let broken =
            json!({"apiVersion": "v1", "kind": "A", "name": "e", "uid": "", "controller": true});
        let owners = json!([
            owner("a", false),
            owner("b", true),
            owner("c", true),
            broken,
            owner("f", true),
        ]);
        let metadata = json!({"ownerReferences": owners});
        let mut causes = CauseList::default();
        check(metadata.as_object().expect("an object"), &mut causes);
        let told: Vec<String> = causes
            .into_causes()
            .iter()
            .map(|cause| {
                let why = cause.message.rsplit_once(": ").map_or("", |(_, why)| why);
                let owners = why.rsplit_once(" for ").map_or(why, |(_, owners)| owners);
                format!("{}: {owners}", cause.field)
            })
            .collect();
        assert_eq!(
            told,
            [
                "metadata.ownerReferences: A/b and A/c",
                "metadata.ownerReferences.uid: must not be empty",
                "metadata.ownerReferences: A/b and A/e",
                "metadata.ownerReferences: A/b and A/f",
            ]
        );
    }
}
