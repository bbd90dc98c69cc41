//! Deadlocks: objects in foreground deletion that wait only for each other.

use super::{Components, OwnershipGraph};
use hindsight_core::{Object, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The deadlocks that have been found, and who is in none. Valid as long as the graph does not change.
#[derive(Debug, Default)]
pub struct Deadlocks {
    found: Components<Option<Arc<BTreeSet<Uid>>>>,
}

impl Deadlocks {
    /// The deadlock of this object, if it is part of one: a cycle of more than one, from which nothing leads to
    /// anybody else.
    pub fn of(&mut self, graph: &OwnershipGraph, uid: &Uid) -> Option<Arc<BTreeSet<Uid>>> {
        let summarize = |members: &[Uid], beyond: &[&Option<_>]| {
            let is_deadlock = members.len() > 1 && beyond.is_empty();
            is_deadlock.then(|| Arc::new(members.iter().cloned().collect()))
        };
        let found = self
            .found
            .find(uid, |at| waiting_blockers(graph, at), summarize);
        found.cloned().flatten()
    }

    /// The number of objects that were visited for this.
    pub fn visited(&self) -> usize {
        self.found.visited()
    }
}

/// What this object waits for, if all of that waits itself. Otherwise nothing: it is in no deadlock.
fn waiting_blockers(graph: &OwnershipGraph, uid: &Uid) -> Vec<Uid> {
    let waits = |(uid, blocker): (&Uid, &Arc<Object>)| blocker.is_waiting().then(|| uid.clone());
    let all: Option<Vec<Uid>> = graph.blockers(uid).map(waits).collect();
    all.unwrap_or_default()
}
