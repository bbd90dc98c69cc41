//! Objects whose decision waits for that of others: each under one of those that come first, and looked at again when
//! that one has been.

use hindsight_core::Uid;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Who is deferred, and under whom.
#[derive(Debug, Clone, Default)]
pub(super) struct Deferred {
    under: BTreeMap<Uid, BTreeSet<Uid>>,
    first: BTreeMap<Uid, Uid>,
    /// The last that had its turn.
    turn: Option<Uid>,
}

impl Deferred {
    /// Defers it until `first` is decided, and for nobody else any more.
    pub(super) fn put(&mut self, uid: Uid, first: Uid) {
        self.forget(&uid);
        self.under
            .entry(first.clone())
            .or_default()
            .insert(uid.clone());
        self.first.insert(uid, first);
    }

    /// Defers it no more.
    pub(super) fn forget(&mut self, uid: &Uid) {
        let Some(first) = self.first.remove(uid) else {
            return;
        };
        if let Some(under) = self.under.get_mut(&first) {
            under.remove(uid);
            if under.is_empty() {
                self.under.remove(&first);
            }
        }
    }

    /// Those who are deferred until this one is decided.
    pub(super) fn under(&self, first: &Uid) -> Vec<Uid> {
        let under = self.under.get(first).into_iter();
        under.flatten().cloned().collect()
    }

    /// Whether anybody is deferred until this one is decided.
    pub(super) fn is_above(&self, uid: &Uid) -> bool {
        self.under.contains_key(uid)
    }

    pub(super) fn contains(&self, uid: &Uid) -> bool {
        self.first.contains_key(uid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Uid> {
        self.first.keys()
    }

    /// The next `count`, from the first again after the last.
    pub(super) fn in_turn(&mut self, count: usize) -> Vec<Uid> {
        let begin = self.turn.take().map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.first.range((begin, Bound::Unbounded));
        let found: Vec<Uid> = later.take(count).map(|(uid, _)| uid.clone()).collect();
        self.turn = found.last().filter(|_| found.len() == count).cloned();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_deferred_for_one_and_is_forgotten_with_it() {
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        let mut deferred = Deferred::default();
        deferred.put(a.clone(), b.clone());
        deferred.put(a.clone(), c.clone());
        assert_eq!(deferred.under(&b), []);
        assert_eq!(deferred.under(&c), std::slice::from_ref(&a));
        deferred.forget(&a);
        assert!(deferred.under.is_empty() && deferred.first.is_empty());
    }

    #[test]
    fn all_have_their_turn() {
        let uids = ["a", "b", "c"].map(Uid::from);
        let mut deferred = Deferred::default();
        for uid in &uids {
            deferred.put(uid.clone(), "first".into());
        }
        let mut turns: Vec<Vec<Uid>> = Vec::new();
        for _ in 0..3 {
            turns.push(deferred.in_turn(2));
        }
        assert_eq!(turns, [&uids[..2], &uids[2..], &uids[..2]]);
    }
}
