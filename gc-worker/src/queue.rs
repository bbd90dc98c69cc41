//! What must be looked at, each at most once; and which objects those are after a change.

use hindsight_core::{Change, Event, Uid};
use hindsight_projector::OwnershipGraph;
use std::collections::{BTreeSet, VecDeque};

/// First in, first out, without repetitions. It never holds more than there are live objects.
#[derive(Debug)]
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
