//! What the server adds to a `CustomResourceDefinition`: it is established in the same commit.

use crate::custom::kind_of_definition;
use crate::decide::Context;
use crate::kind::GroupResource;
use crate::object::Uid;
use serde_json::{Map, Value, json};

/// Defaults of `spec.names`, and a status that says whether the kind is served.
pub(super) fn complete(context: &Context<'_>, document: &mut Value) {
    default_names(document);
    let accepted = accepts_names(context, document);
    let now = context.command.time.to_rfc3339();
    let names = document.pointer("/spec/names").cloned().unwrap_or_default();
    let stored: Vec<Value> = storage_versions(document);
    let condition = |kind: &str, good: bool, reason: &str, message: &str| {
        json!({"type": kind, "status": if good { "True" } else { "False" }, "reason": reason,
            "message": message, "lastTransitionTime": now})
    };
    let conditions = if accepted {
        vec![
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ]
    } else {
        vec![
            condition(
                "NamesAccepted",
                false,
                "KindConflict",
                "the names are already in use",
            ),
            condition(
                "Established",
                false,
                "NotAccepted",
                "not all names are accepted",
            ),
        ]
    };
    if let Some(root) = document.as_object_mut() {
        let accepted_names = if accepted {
            names
        } else {
            json!({"plural": "", "kind": ""})
        };
        root.insert(
            "status".into(),
            json!({"conditions": conditions, "acceptedNames": accepted_names, "storedVersions": stored}),
        );
    }
}

/// After an update of the spec: accepted names follow, stored versions only grow.
pub(crate) fn refresh(document: &mut Value) {
    default_names(document);
    let names = document.pointer("/spec/names").cloned().unwrap_or_default();
    let stored = storage_versions(document);
    let Some(status) = document.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    status.insert("acceptedNames".into(), names);
    let list = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        for version in stored {
            if !list.contains(&version) {
                list.push(version);
            }
        }
    }
}

fn default_names(document: &mut Value) {
    let Some(spec) = document.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = text(names, "kind");
    names
        .entry("singular")
        .or_insert_with(|| kind.to_lowercase().into());
    names
        .entry("listKind")
        .or_insert_with(|| format!("{kind}List").into());
}

fn accepts_names(context: &Context<'_>, document: &Value) -> bool {
    let Some((kind, _)) = kind_of_definition(document, &Uid::from(""), false) else {
        return true;
    };
    let kinds = &context.state.kinds;
    let resource = GroupResource::clone(&kind.resource);
    kinds.by_resource(&resource).is_none() && kinds.by_kind(&resource.group, &kind.kind).is_none()
}

fn storage_versions(document: &Value) -> Vec<Value> {
    let versions = document.pointer("/spec/versions").and_then(Value::as_array);
    let stored = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
    let names = versions.into_iter().flatten().filter(stored);
    names
        .filter_map(|version| version.get("name").cloned())
        .collect()
}

fn text(members: &Map<String, Value>, member: &str) -> String {
    members
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
