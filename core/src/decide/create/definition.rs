//! What the server adds to a `CustomResourceDefinition`: it is established in the same commit.

mod names;
#[cfg(test)]
mod tests;

use crate::decide::Context;
use serde_json::{Map, Value, json};

/// Defaults of `spec.names`, and a status that says whether the kind is served.
pub(super) fn complete(context: &Context<'_>, document: &mut Value) {
    default_names(document);
    let now = context.command.time.to_rfc3339();
    let condition = |kind: &str, good: bool, reason: &str, message: &str| {
        json!({"type": kind, "status": if good { "True" } else { "False" }, "reason": reason,
            "message": message, "lastTransitionTime": now})
    };
    let mut accepted = document.pointer("/spec/names").cloned().unwrap_or_default();
    let conflicts = names::conflicts(context, document);
    let conditions = match conflicts.last() {
        None => [
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ],
        Some(last) => [
            condition("NamesAccepted", false, last.reason, &last.message()),
            condition(
                "Established",
                false,
                "NotAccepted",
                "not all names are accepted",
            ),
        ],
    };
    for conflict in &conflicts {
        conflict.withdraw(&mut accepted);
    }
    let stored = storage_versions(document);
    if let Some(root) = document.as_object_mut() {
        root.insert(
            "status".into(),
            json!({"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}),
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
    for (member, default) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if !kind.is_empty() && text(names, member).is_empty() {
            names.insert(member.into(), default.into());
        }
    }
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
