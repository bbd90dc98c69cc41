//! Kinds that are served in several forms: objects are stored in one, and converted on their way
//! in and out. Pure, and without loss: there and back is the same object.

mod autoscaler;
mod event;

use crate::kind::{GroupResource, Kind, Version};
use serde_json::Value;

const EVENTS: &str = "events.k8s.io";

/// The resource whose storage a resource uses; its own, but for events, which two groups serve.
pub(crate) fn storage_of(resource: &GroupResource) -> GroupResource {
    if &*resource.group == EVENTS {
        GroupResource::new("", &resource.resource)
    } else {
        resource.clone()
    }
}

/// The resource of another group that shows the same objects. Source: upstream's `AddCohabitatingResources`.
pub(crate) fn beside(resource: &GroupResource) -> Option<GroupResource> {
    let group = match (&*resource.group, &*resource.resource) {
        ("", "events") => EVENTS,
        (EVENTS, "events") => "",
        _ => return None,
    };
    Some(GroupResource::new(group, &resource.resource))
}

/// A document, stored or sent, in the form of a version.
pub fn to_version(kind: &Kind, version: &str, document: &mut Value) {
    let from = document.get("apiVersion").and_then(Value::as_str);
    let from = from.unwrap_or_default().to_owned();
    convert(kind, document, &from, &kind.api_version(version));
}

/// A document in the form of a version, as writes of it are decided on: of a built-in kind in the form
/// that is stored, of a custom one in the version that is spoken, whose schema it is held against.
pub(crate) fn to_decide(kind: &Kind, version: &Version, document: &mut Value) {
    let spoken = kind.api_version(&version.name);
    let decided = if kind.is_custom() {
        Some(spoken.clone())
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
    if spoken != decided || !is("apiVersion", &decided) || !is("kind", &kind.kind) {
        convert(kind, document, &spoken, &decided);
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
