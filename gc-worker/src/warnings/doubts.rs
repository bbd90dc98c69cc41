//! Finds in the log which warnings were given before a collector began, even if the events were deleted
//! since.

use hindsight_core::{Commit, ObjectKey, Uid};
use hindsight_projector::new_owners;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Warnings of which it is not known whether they were given already. Each commit of the log is looked up
/// by its uid and by its key, so that it costs the same however many doubts are open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts {
    /// Open doubts by dependent.
    dependents: BTreeMap<Uid, Dependent>,
    /// Open doubts by the key of the event.
    by_report: BTreeMap<ObjectKey, Pair>,
    /// The dependents with open doubts, by owner.
    by_owner: BTreeMap<Uid, BTreeSet<Uid>>,
    /// Warnings that were given, or were never due.
    settled: BTreeSet<Pair>,
    /// Owners that do not exist and did not at any time back to the point up to which the log was read.
    never_existed: BTreeSet<Uid>,
    /// How many doubts were looked up.
    #[cfg(test)]
    pub(super) looked_up: usize,
}

/// A dependent, and the owner that it refers to.
pub(super) type Pair = (Uid, Uid);

#[derive(Debug, Clone)]
struct Dependent {
    /// The keys of the events, by owner.
    open: BTreeMap<Uid, ObjectKey>,
    /// Owners to which the dependent has correct references: nothing was reported about them.
    correct: Arc<BTreeSet<Uid>>,
}

impl Doubts {
    pub(super) fn add(&mut self, report_key: ObjectKey, pair: Pair, correct: Arc<BTreeSet<Uid>>) {
        if let Some(before) = self.by_report.get(&report_key).cloned() {
            self.close(&before);
        }
        self.by_report.insert(report_key.clone(), pair.clone());
        let (dependent, owner) = pair;
        let dependents = self.by_owner.entry(owner.clone()).or_default();
        dependents.insert(dependent.clone());
        let open = BTreeMap::new();
        let known = self.dependents.entry(dependent);
        let known = known.or_insert(Dependent { open, correct });
        known.open.insert(owner, report_key);
    }

    pub(super) fn add_missing_owner(&mut self, owner: Uid) {
        self.never_existed.insert(owner);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_report.is_empty()
    }

    /// Reads the next commit of the log, backward: an event that reports a reference is later than the
    /// reference. When references were added, at most one was reported, the first that looked wrong; when
    /// an owner was created, every reference to it that existed was.
    pub(crate) fn read(&mut self, commit: &Commit) {
        if let Some(pair) = self.by_report.get(&commit.key).cloned() {
            self.close(&pair);
            self.settled.insert(pair);
        }
        if self.is_empty() {
            return;
        }
        if commit.object().is_none() {
            self.never_existed.remove(&commit.uid);
        }
        if commit.creates() {
            for dependent in self.by_owner.remove(&commit.uid).into_iter().flatten() {
                self.close(&(dependent, commit.uid.clone()));
            }
        }
        self.read_references(commit);
    }

    fn read_references(&mut self, commit: &Commit) {
        let Some(dependent) = self.dependents.get(&commit.uid) else {
            return;
        };
        let correct = Arc::clone(&dependent.correct);
        // Whether none of the references before this one was reported.
        let mut is_first = true;
        for owner in new_owners(commit) {
            let pair = (commit.uid.clone(), owner.clone());
            if self.close(&pair) && !is_first {
                self.settled.insert(pair);
            }
            is_first = is_first && (correct.contains(owner) || self.never_existed.contains(owner));
        }
    }

    /// Closes a doubt; false if it was not open.
    fn close(&mut self, (dependent, owner): &Pair) -> bool {
        #[cfg(test)]
        {
            self.looked_up += 1;
        }
        let Some(known) = self.dependents.get_mut(dependent) else {
            return false;
        };
        let Some(report_key) = known.open.remove(owner) else {
            return false;
        };
        if known.open.is_empty() {
            self.dependents.remove(dependent);
        }
        if let Some(dependents) = self.by_owner.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.by_owner.remove(owner);
            }
        }
        self.by_report.remove(&report_key);
        true
    }

    pub(super) fn is_settled(&self, pair: &Pair) -> bool {
        self.settled.contains(pair)
    }
}
