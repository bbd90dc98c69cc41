//! Kinds that are served in several versions: objects are stored in one of them, and converted on their way
//! in and out. The conversion is pure and lossless: there and back gives the same object.

mod autoscaler;
mod event;

use crate::kind::{GroupResource, Kind, Kinds, Version};
use crate::schema::Schema;
use serde_json::Value;

const EVENTS: &str = "events.k8s.io";

/// The resource that a resource is stored under: itself, except for events, which two groups serve.
pub(crate) fn storage_of(resource: &GroupResource) -> GroupResource {
    if &*resource.group == EVENTS {
        GroupResource::new("", &resource.resource)
    } else {
        resource.clone()
    }
}

/// The resource of another group that serves the same objects. Source: upstream's
/// `AddCohabitatingResources`.
pub(crate) fn cohabitant(resource: &GroupResource) -> Option<GroupResource> {
    let group = match (&*resource.group, &*resource.resource) {
        ("", "events") => EVENTS,
        (EVENTS, "events") => "",
        _ => return None,
    };
    Some(GroupResource::new(group, &resource.resource))
}

/// Converts a document, stored or sent, into a version.
pub fn to_version(kind: &Kind, version: &str, document: &mut Value) {
    let from = document.get("apiVersion").and_then(Value::as_str);
    let from = from.unwrap_or_default().to_owned();
    convert(kind, document, &from, &kind.api_version(version));
}

/// Converts a document into the version that writes are decided in: for a built-in kind the stored version,
/// for a custom one the version of the request, whose schema it is validated against.
pub(crate) fn to_decide(kinds: &Kinds, kind: &Kind, version: &Version, document: &mut Value) {
    let requested = kind.api_version(&version.name);
    let decided = if kind.is_custom() {
        Some(requested.clone())
    } else {
        stored_form(kind)
    };
    let Some(decided) = decided else {
        return;
    };
    let is = |member: &str, wanted: &str| {
        let found = document.get(member).and_then(Value::as_str);
        found == Some(wanted)
    };
    if requested != decided || !is("apiVersion", &decided) || !is("kind", &kind.kind) {
        convert(kind, document, &requested, &decided);
    }
    if requested == "autoscaling/v1"
        && let Some(stored) = kind.storage_version()
        && let Some(schema) = kinds.schema(kind, &stored.name)
    {
        drop_misfits(schema, document);
    }
}

/// What a document of `autoscaling/v1` gets from its annotations when it is converted.
const FROM_ANNOTATIONS: [(&str, &str); 4] = [
    ("spec", "metrics"),
    ("spec", "behavior"),
    ("status", "currentMetrics"),
    ("status", "conditions"),
];

/// Removes what came out of annotations and does not fit the schema of the stored version: nobody checked it, and
/// typed clients cannot read a list with it.
fn drop_misfits(stored: &Schema, document: &mut Value) {
    for (parent, name) in FROM_ANNOTATIONS {
        let schema = stored.member(parent).and_then(|schema| schema.member(name));
        let members = document.get_mut(parent).and_then(Value::as_object_mut);
        let Some((schema, members)) = schema.zip(members) else {
            continue;
        };
        if let Some(Value::Array(items)) = members.get_mut(name)
            && let Some(item) = &schema.items
        {
            items.retain(|value| item.validate_value(value).is_empty());
        }
        match members.get_mut(name) {
            Some(value) if schema.validate_value(value).is_empty() => schema.prune_value(value),
            Some(_) => drop(members.remove(name)),
            None => {}
        }
    }
}

/// The `apiVersion` of stored documents of a built-in kind.
fn stored_form(kind: &Kind) -> Option<String> {
    if &*kind.resource.group == EVENTS {
        return Some("v1".into());
    }
    let storage = kind.storage_version()?;
    Some(kind.api_version(&storage.name))
}

fn convert(kind: &Kind, document: &mut Value, from: &str, to: &str) {
    let Some(root) = document.as_object_mut() else {
        return;
    };
    if !kind.is_custom() {
        match (from, to) {
            ("autoscaling/v1", "autoscaling/v2") => autoscaler::to_v2(root),
            ("autoscaling/v2", "autoscaling/v1") => autoscaler::to_v1(root),
            ("events.k8s.io/v1", "v1") => event::to_core(root),
            ("v1", "events.k8s.io/v1") => event::from_core(root),
            _ => {}
        }
    }
    root.insert("apiVersion".into(), to.into());
    root.insert("kind".into(), Value::from(&*kind.kind));
}
