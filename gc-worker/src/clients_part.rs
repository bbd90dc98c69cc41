//! What clients hold in deletion, and the requests by which they would let it go.

use hindsight_core::Rule;
use hindsight_core::command::{Delete, FieldValidation, Intent, Patch, PatchObject, Target};
use hindsight_core::kind::Subresource;
use hindsight_core::{Hold, ObjectKey, State, holds};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The keys of all objects in deletion.
pub(crate) fn deleting(state: &State) -> BTreeSet<ObjectKey> {
    let deleting = state.objects().filter(|object| object.is_deleting());
    deleting.map(|object| object.key.clone()).collect()
}

/// The request by which clients let go of an object in deletion: its node reports it stopped, or their finalizers
/// are removed. `None` if no version of its kind is served: then no client can reach it.
pub(crate) fn clients_request(state: &State, key: &ObjectKey) -> Option<Intent> {
    let object = state.get(key).filter(|object| object.is_deleting())?;
    let kind = state.kinds.by_resource(&object.key.resource)?;
    let stored = kind.storage_version().filter(|version| version.served);
    let version = stored.or_else(|| kind.versions.iter().find(|version| version.served))?;
    let version = Arc::clone(&version.name);
    let (of_clients, of_collectors): (Vec<Hold<'_>>, Vec<Hold<'_>>) =
        holds(state, object).partition(Hold::is_of_clients);
    let is_stopping = |hold: &Hold<'_>| matches!(hold, Hold::Seconds(_));
    if of_clients.iter().any(is_stopping) {
        let target = Target::any(object.key.clone());
        let stopped = Delete {
            grace_period_seconds: Some(0),
            ..Delete::new(target, version, Rule::Requested)
        };
        return Some(Intent::Delete(stopped));
    }
    let kept = of_collectors.iter();
    let (subresource, change) = match of_clients.first()? {
        Hold::Finalizer(_) => {
            let kept: Vec<&str> = kept.filter_map(finalizer).collect();
            (None, json!({"metadata": {"finalizers": kept}}))
        }
        Hold::Token(_) => {
            let kept: Vec<&str> = kept.filter_map(token).collect();
            let change = json!({"spec": {"finalizers": kept}});
            (Some(Subresource::Finalize), change)
        }
        Hold::Contents | Hold::Seconds(_) => return None,
    };
    Some(Intent::Patch(PatchObject {
        key: key.clone(),
        version,
        subresource,
        patch: Patch::Merge(change),
        validation: FieldValidation::Ignore,
    }))
}

fn finalizer<'a>(hold: &'a Hold<'_>) -> Option<&'a str> {
    let Hold::Finalizer(name) = hold else {
        return None;
    };
    Some(name)
}

fn token<'a>(hold: &'a Hold<'_>) -> Option<&'a str> {
    let Hold::Token(name) = hold else {
        return None;
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{empty, put, world};

    #[test]
    fn what_is_taken_off_are_the_finalizers_of_others() {
        let held = ["foregroundDeletion,x.io/hold", "orphan", "x.io/hold"];
        let going = held.map(|finalizers| format!("a{}!{finalizers}", finalizers.len()));
        let going: Vec<(&str, &[&str])> = going.iter().map(|one| (&**one, &[][..])).collect();
        let state = world(&[&going[..], &[("live", &[])]].concat());
        let requests = deleting(&state).into_iter();
        let requests = requests.filter_map(|key| clients_request(&state, &key));
        let left = requests.map(|intent| {
            let Patch::Merge(change) = patch(intent).patch else {
                panic!("no merge patch");
            };
            change.to_string()
        });
        let left: Vec<String> = left.collect();
        let expected = [r#"["foregroundDeletion"]"#, "[]"];
        assert_eq!(
            left,
            expected.map(|own| format!(r#"{{"metadata":{{"finalizers":{own}}}}}"#))
        );
    }

    fn patch(intent: Intent) -> PatchObject {
        let Intent::Patch(patch) = intent else {
            panic!("{intent:?}");
        };
        patch
    }

    #[test]
    fn the_request_is_for_a_version_that_is_served() {
        let versions = |served: [bool; 2]| {
            let names = ["v1", "v2"].into_iter().zip(served);
            let version = |(name, served): (&str, bool)| {
                json!({"name": name, "served": served, "storage": name == "v1",
                    "schema": {"openAPIV3Schema": {"type": "object"}}})
            };
            names.map(version).collect::<Vec<_>>()
        };
        for (served, expected) in [
            ([true, false], Some("v1")),
            ([false, true], Some("v2")),
            ([false, false], None),
        ] {
            let mut state = empty();
            let names = json!({"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"});
            let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition", "metadata": {"name": "ws.e.io"},
                "spec": {"group": "e.io", "scope": "Namespaced", "names": names,
                    "versions": versions(served)}});
            let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
            put(&mut state, definitions, definition);
            let held = json!({"apiVersion": "e.io/v1", "kind": "W", "metadata": {"name": "w",
                "namespace": "n", "finalizers": ["x.io/hold"],
                "deletionTimestamp": "2024-01-01T00:00:00Z"}});
            let held = put(&mut state, ("e.io", "ws"), held);
            let request = clients_request(&state, &held.key).map(patch);
            let version = request.map(|request| request.version.to_string());
            assert_eq!(version.as_deref(), expected, "{served:?}");
        }
    }
}
