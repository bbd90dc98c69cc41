//! The objects that a change concerns: which have to be looked at again.

use hindsight_core::object::is_collector_finalizer;
use hindsight_core::{Change, Event, OwnerReference, Uid};
use hindsight_projector::{Node, OwnershipGraph};

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
    use crate::testing::{world, write};
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
}
