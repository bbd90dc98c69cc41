//! The objects that a change concerns: which have to be looked at again, and whether at once.

use hindsight_core::object::is_collector_finalizer;
use hindsight_core::{Change, Event, OwnerReference, Uid, end_of_life};
use hindsight_projector::OwnershipGraph;

/// Whether collectors that had nothing to do may have something to do because of this change. They observe every
/// change, but need not look at once at one that makes nothing due: most writes are new versions of objects that
/// stay, such as their status. Asked of each durable change, so it knows the change alone.
pub fn is_urgent(change: &Change) -> bool {
    let commit = &change.commit;
    let Some(object) = commit.object().filter(|object| !object.is_deleting()) else {
        return true;
    };
    let has_end = commit.key.is_container() || end_of_life(object).is_some();
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
    let is_there = |owner: &Uid| graph.object(owner).is_some();
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
    // The owner has one more dependent to orphan, or to wait for.
    let is_going = |owner: &Uid| graph.object(owner).is_some_and(|one| one.is_deleting());
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

    /// The next version of each object, one after the other.
    #[test]
    fn what_may_make_something_due_is_urgent_and_what_cannot_is_not() {
        let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "o"}]);
        let time = "2026-01-01T00:00:00Z";
        let end = json!([{"type": "Complete", "status": "True", "lastTransitionTime": time}]);
        let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
        let (maps, jobs) = (("", "configmaps"), ("batch", "jobs"));
        let mut state = world(&[]);
        for (resource, name, member, value, urgent) in [
            (maps, "a", "metadata", json!({}), false),
            (maps, "a", "metadata", json!({"labels": {"a": "b"}}), false),
            (
                maps,
                "a",
                "metadata",
                json!({"ownerReferences": owner}),
                true,
            ),
            (
                maps,
                "a",
                "metadata",
                json!({"ownerReferences": owner}),
                false,
            ),
            (
                maps,
                "a",
                "metadata",
                json!({"deletionTimestamp": time}),
                true,
            ),
            (
                maps,
                "b",
                "metadata",
                json!({"ownerReferences": owner}),
                true,
            ),
            (jobs, "j", "status", json!({}), false),
            (jobs, "j", "status", json!({"conditions": end}), true),
            (("", "namespaces"), "n", "status", json!({}), true),
            (definitions, "d", "status", json!({}), true),
        ] {
            let mut document = json!({"apiVersion": "v1", "kind": "K", "metadata": {}, "spec": {"ttlSecondsAfterFinished": 0}});
            document[member] = value;
            document["metadata"]["namespace"] = json!("n");
            document["metadata"]["name"] = json!(name);
            let told = is_urgent(&write(&mut state, resource, document.clone()));
            assert_eq!(told, urgent, "{document}");
        }
        assert!(is_urgent(&remove(&mut state, maps, ("n", "b"))));
    }

    #[test]
    fn the_end_of_a_finalizer_is_urgent_and_a_new_one_is_not() {
        let mut state = world(&[]);
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": "n"}});
        let mut change = write(&mut state, ("", "configmaps"), held);
        let object = Arc::clone(change.commit.object().expect("an object"));
        let mut is_urgent_with = |event: Event| {
            let updated = Event::ObjectUpdated {
                object: Arc::clone(&object),
            };
            let commit = Commit {
                events: vec![event, updated],
                ..(*change.commit).clone()
            };
            change.commit = Arc::new(commit);
            is_urgent(&change)
        };
        let finalizer = hindsight_core::object::Name::from("f");
        assert!(!is_urgent_with(Event::FinalizerAdded {
            finalizer: finalizer.clone()
        }));
        assert!(is_urgent_with(Event::FinalizerRemoved { finalizer }));
    }
}
