//! Finds in the log which warnings were given before a collector began, even if the events were deleted
//! since.

use hindsight_core::{Commit, Event, ObjectKey, Uid};
use hindsight_projector::new_owners;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Warnings of which it is not known whether they were given already.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts {
    /// By the key of the event.
    open: BTreeMap<ObjectKey, Doubt>,
    /// Warnings that were given, or were never due.
    settled: BTreeSet<Pair>,
    /// Owners that do not exist and did not at any time back to the point up to which the log was read.
    never_existed: BTreeSet<Uid>,
}

/// A dependent, and the owner that it refers to.
pub(super) type Pair = (Uid, Uid);

#[derive(Debug, Clone)]
struct Doubt {
    pair: Pair,
    /// Owners to which the dependent has correct references: nothing was reported about them.
    correct: Arc<BTreeSet<Uid>>,
}

impl Doubts {
    pub(super) fn add(&mut self, report_key: ObjectKey, pair: Pair, correct: Arc<BTreeSet<Uid>>) {
        self.open.insert(report_key, Doubt { pair, correct });
    }

    pub(super) fn add_missing_owner(&mut self, owner: Uid) {
        self.never_existed.insert(owner);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Reads the next commit of the log, backward: an event that reports a reference is later than the
    /// reference. When references were added, at most one was reported, the first that looked wrong; when
    /// an owner was created, every reference to it that existed was.
    pub(crate) fn read(&mut self, commit: &Commit) {
        if let Some(doubt) = self.open.remove(&commit.key) {
            self.settled.insert(doubt.pair);
        }
        if self.is_empty() {
            return;
        }
        let (creates, removes) = creates_or_removes(commit);
        if removes {
            self.never_existed.remove(&commit.uid);
        }
        let new: Vec<&Uid> = new_owners(commit).collect();
        if !creates && new.is_empty() {
            return;
        }
        let (settled, never_existed) = (&mut self.settled, &self.never_existed);
        self.open.retain(|_, doubt| {
            let (dependent, owner) = &doubt.pair;
            if creates && *owner == commit.uid {
                return false;
            }
            if *dependent != commit.uid || !new.contains(&owner) {
                return true;
            }
            let mut before = new.iter().take_while(|one| **one != owner);
            if !before.all(|one| doubt.correct.contains(*one) || never_existed.contains(*one)) {
                settled.insert(doubt.pair.clone());
            }
            false
        });
    }

    pub(super) fn is_settled(&self, pair: &Pair) -> bool {
        self.settled.contains(pair)
    }
}

/// Whether the commit creates its object, and whether it removes it.
fn creates_or_removes(commit: &Commit) -> (bool, bool) {
    let any = |is: fn(&Event) -> bool| commit.events.iter().any(is);
    (
        any(Event::is_creation),
        any(|event| matches!(event, Event::ObjectDeleted { .. })),
    )
}
