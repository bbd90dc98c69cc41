//! Objects that came to refer to an owner while it was orphaning its dependents. They lose the reference in the
//! decision that releases the owner: however fast others come, they do not hold it. Nothing of it is in a snapshot
//! or a hash, because whoever is not known here is orphaned by a step of its own before.

use super::State;
use super::edges::{Pairs, same_owners};
use crate::command::Deadlock;
use crate::object::{Object, ObjectKey, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many objects lose an owner in one decision at most, and their most bytes: the decision is one record.
const LATECOMERS_MAX: u64 = 256;
const BYTES_MAX: usize = Deadlock::BYTES_MAX;

/// Pairs of an orphaning owner and an object that came to refer to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Latecomers(Pairs);

impl State {
    /// All objects that refer to an orphaning owner, if each of them came to do so after the owner began to orphan,
    /// and one decision can take the reference from all of them.
    pub fn latecomers(&self, owner: &Object) -> Option<Vec<&Arc<Object>>> {
        let uid = &owner.meta.uid;
        let marked = owner.mark?.revision;
        let all = self.dependents(uid).all;
        if all == 0 || all > LATECOMERS_MAX || !self.is_orphaning(uid) {
            return None;
        }
        let known = self.latecomers.0.of(uid).filter_map(|key| self.get(key));
        let known: Vec<&Arc<Object>> = known.filter(|one| one.revision > marked).collect();
        let bytes: usize = known.iter().map(|one| one.body.len()).sum();
        let are_all = u64::try_from(known.len()) == Ok(all);
        (are_all && bytes <= BYTES_MAX).then_some(known)
    }

    /// Records that an object was created, changed or removed.
    pub(super) fn note_latecomer(&mut self, before: Option<&Object>, after: Option<&Object>) {
        if same_owners(before, after) || self.held_owners.is_empty() {
            return;
        }
        let (before, after) = (Self::owners_of_pairs(before), Self::owners_of_pairs(after));
        for (owner, key) in before.difference(&after) {
            let pair = ((*owner).clone(), (*key).clone());
            self.latecomers.0.remove(&pair);
        }
        for (owner, key) in after.difference(&before) {
            if self.is_orphaning(owner) {
                self.latecomers.0.insert(((*owner).clone(), (*key).clone()));
            }
        }
    }

    /// The owners that an object has besides itself, each with the key of the object.
    fn owners_of_pairs(object: Option<&Object>) -> BTreeSet<(&Uid, &ObjectKey)> {
        let owners = object.into_iter().flat_map(|object| {
            let owners = object.owners().iter().map(|owner| &owner.uid);
            let others = owners.filter(|owner| **owner != object.meta.uid);
            others.map(|owner| (owner, &object.key))
        });
        owners.collect()
    }

    /// Forgets the latecomers of an owner that is no longer held.
    pub(super) fn forget_latecomers(&mut self, owner: &Uid) {
        let known: Vec<_> = self.latecomers.0.of(owner).cloned().collect();
        for key in known {
            self.latecomers.0.remove(&(owner.clone(), key));
        }
    }
}
