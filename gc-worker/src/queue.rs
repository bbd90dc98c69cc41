//! The queue of objects to look at, each at most once, and the objects that a change adds to it.

use hindsight_core::object::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
use hindsight_core::{Change, Event, Uid};
use hindsight_projector::{Node, OwnershipGraph};
use std::collections::{BTreeSet, VecDeque};

/// First in, first out, without duplicates. Some of what it holds may be gone: that is found out when its
/// turn comes.
#[derive(Debug, Clone)]
pub(crate) struct Queue<T> {
    order: VecDeque<T>,
    members: BTreeSet<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            order: VecDeque::new(),
            members: BTreeSet::new(),
        }
    }
}

impl<T: Ord + Clone> Queue<T> {
    pub(crate) fn push(&mut self, one: T) {
        if self.members.insert(one.clone()) {
            self.order.push_back(one);
        }
    }

    pub(crate) fn extend(&mut self, many: impl IntoIterator<Item = T>) {
        many.into_iter().for_each(|one| self.push(one));
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let one = self.order.pop_front()?;
        self.members.remove(&one);
        Some(one)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.order.iter()
    }
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
        let owners = change
            .previous
            .iter()
            .flat_map(|object| object.owners());
        found.extend(owners.map(|owner| owner.uid.clone()).filter(is_there));
        return found;
    };
    if object.is_deleting() || !object.owners().is_empty() {
        found.push(uid.clone());
    }
    // The owner has one more dependent to release, or to wait for.
    let is_going = |owner: &Uid| graph.node(owner).is_some_and(Node::is_deleting);
    for event in &change.commit.events {
        match event {
            Event::OwnerRemoved { owner } | Event::OwnerChanged { from: owner, .. } => {
                found.extend(Some(owner.uid.clone()).filter(is_there));
            }
            Event::ObjectCreated { object } => {
                let owners = object.owners().iter();
                found.extend(owners.map(|one| one.uid.clone()).filter(is_going));
            }
            Event::OwnerAdded { owner } => {
                found.extend(Some(owner.uid.clone()).filter(is_going));
            }
            Event::ObjectUpdated { .. }
            | Event::FinalizerAdded { .. }
            | Event::FinalizerRemoved { .. }
            | Event::DeletionRequested { .. }
            | Event::ObjectDeleted { .. } => {}
        }
    }
    if object.is_deleting() && change.commit.events.iter().any(decides_anew) {
        let dependents = graph.dependents(uid).map(|(dependent, _)| dependent);
        found.extend(dependents.cloned());
        // An owner that it blocks may now be part of a circle.
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
        Event::FinalizerRemoved { finalizer } => {
            matches!(&**finalizer, ORPHAN_FINALIZER | FOREGROUND_FINALIZER)
        }
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
