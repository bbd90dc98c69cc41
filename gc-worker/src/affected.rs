//! The objects that a change concerns: which have to be looked at again, and whether at once.

use hindsight_core::object::is_collector_finalizer;
use hindsight_core::{Change, Event, OwnerReference, Uid, end_of_life};
use hindsight_projector::{Node, OwnershipGraph};

/// Whether collectors that had nothing to do may have something to do because of this change. They observe every
/// change, but need not look at once at one that makes nothing due: most writes are new versions of objects that
/// stay, such as their status. Asked of each durable change, so it knows the change alone.
pub fn is_urgent(change: &Change) -> bool {
    let commit = &change.commit;
    let Some(object) = commit.object().filter(|object| !object.is_deleting()) else {
        return true;
    };
    let has_end =
        commit.key.is_namespace() || commit.key.is_definition() || end_of_life(object).is_some();
    let makes_due = |event: &Event| match event {
        Event::ObjectUpdated { .. } | Event::FinalizerAdded { .. } => false,
        Event::ObjectCreated { .. } => !object.owners().is_empty(),
        Event::FinalizerRemoved { .. }
        | Event::OwnerAdded { .. }
        | Event::OwnerRemoved { .. }
        | Event::OwnerChanged { .. }
        | Event::DeletionRequested { .. }
        | Event::ObjectDeleted { .. } => true,
    };
    has_end || commit.events.iter().any(makes_due)
}

/// The objects that a change concerns. `graph` already contains the change.
pub(crate) fn affected(change: &Change, graph: &OwnershipGraph) -> Vec<Uid> {
    let uid = &change.commit.uid;
    let is_there = |owner: &Uid| graph.node(owner).is_some();
    let mut found = Vec::new();
    let Some(object) = change.commit.object() else {
        found.extend(
            graph
                .dependents(uid)
                .map(|(dependent, _)| dependent.clone()),
        );
        let owners = change.previous.iter().flat_map(|object| object.owners());
        found.extend(owners.map(|owner| owner.uid.clone()).filter(is_there));
        return found;
    };
    if object.is_deleting() || !object.owners().is_empty() {
        found.push(uid.clone());
    }
    // The owner has one more dependent to release, or to wait for.
    let is_going = |owner: &Uid| graph.node(owner).is_some_and(Node::is_deleting);
    let uid_of = |owner: &OwnerReference| owner.uid.clone();
    for event in &change.commit.events {
        let (lost, _) = event.owner_change();
        found.extend(lost.map(uid_of).filter(is_there));
        found.extend(event.added_owner().map(uid_of).filter(is_going));
        if event.is_creation() {
            found.extend(object.owners().iter().map(uid_of).filter(is_going));
        }
    }
    if object.is_deleting() && change.commit.events.iter().any(decides_anew) {
        let dependents = graph.dependents(uid).map(|(dependent, _)| dependent);
        found.extend(dependents.cloned());
        // An owner that it blocks may now be part of a cycle.
        let blocked = object.owners().iter().map(|one| &one.uid);
        found.extend(blocked.cloned());
    }
    found
}

/// Whether this event, of an object in deletion, may decide anew about its dependents. Such an object gains
/// one of the collector's finalizers only with another deletion request, but any write may take one off.
fn decides_anew(event: &Event) -> bool {
    match event {
        Event::DeletionRequested { .. } => true,
        Event::FinalizerRemoved { finalizer } => is_collector_finalizer(finalizer),
        Event::ObjectCreated { .. }
        | Event::ObjectUpdated { .. }
        | Event::FinalizerAdded { .. }
        | Event::OwnerAdded { .. }
        | Event::OwnerRemoved { .. }
        | Event::OwnerChanged { .. }
        | Event::ObjectDeleted { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{remove, world, write};
    use hindsight_core::Commit;
    use serde_json::json;
    use std::sync::Arc;

    /// The objects that are queued when an object comes to refer to a live owner and to one in deletion.
    #[test]
    fn an_owner_that_goes_is_looked_at_when_it_gets_a_dependent() {
        let mut state = world(&[("live", &[]), ("going!orphan", &[])]);
        let mut graph = OwnershipGraph::rebuild(&state);
        let reference = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name});
        let owners = ["live", "going"].map(reference);
        let metadata = json!({"name": "late", "namespace": "n", "ownerReferences": owners});
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let made = write(&mut state, ("", "configmaps"), document);
        graph.apply(&made);
        let found = affected(&made, &graph);
        assert_eq!(found, ["late".into(), "going".into()]);

        let object = made.commit.object().expect("an object");
        let added = object.owners().iter().cloned();
        let mut events: Vec<Event> = added.map(|owner| Event::OwnerAdded { owner }).collect();
        let object = Arc::clone(object);
        events.push(Event::ObjectUpdated { object });
        let commit = Commit {
            events,
            ..(*made.commit).clone()
        };
        let adopted = Change {
            commit: Arc::new(commit),
            previous: None,
        };
        assert_eq!(affected(&adopted, &graph), found);
    }
    #[test]
    fn what_may_make_something_due_is_urgent_and_what_cannot_is_not() {
        let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o"}]);
        let time = "2026-01-01T00:00:00Z";
        let ended = json!({"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": time}]});
        let ttl = json!({"ttlSecondsAfterFinished": 0});
        let maps = ("", "configmaps");
        let mut state = world(&[]);
        let mut told = |resource: (&str, &str),
                        metadata: serde_json::Value,
                        status: &serde_json::Value| {
            let mut document = json!({"apiVersion": "v1", "kind": "K", "metadata": metadata, "spec": ttl, "status": status});
            document["metadata"]["namespace"] = json!("n");
            is_urgent(&write(&mut state, resource, document))
        };
        let none = json!(null);
        for (resource, metadata, status, urgent) in [
            (maps, json!({"name": "plain"}), &none, false),
            (
                maps,
                json!({"name": "plain", "labels": {"a": "b"}}),
                &none,
                false,
            ),
            (
                maps,
                json!({"name": "plain", "ownerReferences": owner}),
                &none,
                true,
            ),
            (
                maps,
                json!({"name": "plain", "ownerReferences": owner}),
                &none,
                false,
            ),
            (
                maps,
                json!({"name": "plain", "deletionTimestamp": time}),
                &none,
                true,
            ),
            (
                maps,
                json!({"name": "owned", "ownerReferences": owner}),
                &none,
                true,
            ),
            (("batch", "jobs"), json!({"name": "runs"}), &none, false),
            (("batch", "jobs"), json!({"name": "runs"}), &ended, true),
            (("", "namespaces"), json!({"name": "space"}), &none, true),
            (
                ("apiextensions.k8s.io", "customresourcedefinitions"),
                json!({"name": "d"}),
                &none,
                true,
            ),
        ] {
            assert_eq!(
                told(resource, metadata.clone(), status),
                urgent,
                "{resource:?} {metadata}"
            );
        }
        let mut state = world(&[("gone", &[])]);
        assert!(is_urgent(&remove(&mut state, maps, ("n", "gone"))));
        let made = write(
            &mut state,
            maps,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": "n"}}),
        );
        let object = Arc::clone(made.commit.object().expect("an object"));
        for (event, urgent) in [
            (
                Event::FinalizerAdded {
                    finalizer: "f".into(),
                },
                false,
            ),
            (
                Event::FinalizerRemoved {
                    finalizer: "f".into(),
                },
                true,
            ),
        ] {
            let updated = Event::ObjectUpdated {
                object: Arc::clone(&object),
            };
            let commit = Commit {
                events: vec![event, updated],
                ..(*made.commit).clone()
            };
            let commit = Arc::new(commit);
            assert_eq!(
                is_urgent(&Change {
                    commit,
                    previous: None
                }),
                urgent
            );
        }
    }
}
