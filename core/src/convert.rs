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

/// A document, stored or sent, in the form of a version.
pub fn to_version(kind: &Kind, version: &str, document: &mut Value) {
    let from = document.get("apiVersion").and_then(Value::as_str);
    let from = from.unwrap_or_default().to_owned();
    convert(kind, document, &from, &kind.api_version(version));
}

/// A document in the form of a version, as it is stored.
pub(crate) fn to_storage(kind: &Kind, version: &Version, document: &mut Value) {
    let Some(stored) = stored_form(kind) else {
        return;
    };
    let spoken = kind.api_version(&version.name);
    let is = |member: &str, wanted: &str| {
        let found = document.get(member).and_then(Value::as_str);
        found == Some(wanted)
    };
    if spoken != stored || !is("apiVersion", &stored) || !is("kind", &kind.kind) {
        convert(kind, document, &spoken, &stored);
    }
}

/// The `apiVersion` of stored documents.
fn stored_form(kind: &Kind) -> Option<String> {
    if &*kind.resource.group == EVENTS && !kind.is_custom() {
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
