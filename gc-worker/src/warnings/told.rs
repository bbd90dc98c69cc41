//! What was told before a collector began: the log knows, also where somebody has deleted it since.

use hindsight_core::{Commit, ObjectKey, Uid};
use hindsight_projector::new_owners;
use std::collections::{BTreeMap, BTreeSet};

/// Warnings of which it is not known whether they were given already.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts {
    /// By what they are told as: the dependent, and the owner that it refers to.
    open: BTreeMap<ObjectKey, (Uid, Uid)>,
    /// Dependents that were told.
    told: BTreeSet<Uid>,
}

impl Doubts {
    pub(super) fn add(&mut self, told_as: ObjectKey, dependent: Uid, owner: Uid) {
        self.open.insert(told_as, (dependent, owner));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Reads the log back: what was told of a reference is behind it.
    pub(crate) fn read(&mut self, commit: &Commit) {
        if let Some((dependent, _)) = self.open.remove(&commit.key) {
            self.told.insert(dependent);
        }
        if self.is_empty() {
            return;
        }
        let owners: Vec<&Uid> = new_owners(commit).collect();
        if owners.is_empty() {
            return;
        }
        self.open.retain(|_, (dependent, owner)| {
            *dependent != commit.uid || owners.iter().all(|one| *one != owner)
        });
    }

    pub(crate) fn was_told(&self, dependent: &Uid) -> bool {
        self.told.contains(dependent)
    }
}
