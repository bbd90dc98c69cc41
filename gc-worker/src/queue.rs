//! Uids that must be looked at, each at most once; and which those are after a change.

use hindsight_core::{Change, Event, Uid};
use hindsight_projector::OwnershipGraph;
use std::collections::{BTreeSet, VecDeque};

/// First in, first out, without repetitions. It never holds more than there are live objects.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    order: VecDeque<Uid>,
    members: BTreeSet<Uid>,
}

impl Queue {
    pub(crate) fn push(&mut self, uid: Uid) {
        if self.members.insert(uid.clone()) {
            self.order.push_back(uid);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Uid> {
        let uid = self.order.pop_front()?;
        self.members.remove(&uid);
        Some(uid)
    }
}

/// Whom a change concerns. `graph` has taken the change in already.
pub(crate) fn affected(change: &Change, graph: &OwnershipGraph) -> Vec<Uid> {
    let uid = &change.commit.uid;
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
            .flat_map(|object| object.meta.owner_references.iter());
        found.extend(owners.map(|owner| owner.uid.clone()));
        return found;
    };
    if object.is_deleting() || !object.meta.owner_references.is_empty() {
        found.push(uid.clone());
    }
    for event in &change.commit.events {
        match event {
            Event::OwnerRemoved { owner } | Event::OwnerChanged { from: owner, .. } => {
                found.push(owner.uid.clone());
            }
            Event::FinalizerAdded { .. } | Event::DeletionRequested { .. } => {
                found.extend(
                    graph
                        .dependents(uid)
                        .map(|(dependent, _)| dependent.clone()),
                );
                // What it blocks may now be part of a circle.
                found.extend(
                    object
                        .meta
                        .owner_references
                        .iter()
                        .map(|owner| owner.uid.clone()),
                );
            }
            Event::ObjectCreated { .. }
            | Event::ObjectUpdated { .. }
            | Event::FinalizerRemoved { .. }
            | Event::OwnerAdded { .. }
            | Event::ObjectDeleted { .. } => {}
        }
    }
    found
}
