//! Objects that wait for others: each under one of those that come first, and looked at again when that
//! one has been.

use hindsight_core::Uid;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Who waits, and under whom.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    under: BTreeMap<Uid, BTreeSet<Uid>>,
    first: BTreeMap<Uid, Uid>,
    /// The last that had its turn.
    turn: Option<Uid>,
}

impl Waiting {
    /// Waits for `first`, and for nobody else any more.
    pub(super) fn put(&mut self, uid: Uid, first: Uid) {
        self.forget(&uid);
        self.under
            .entry(first.clone())
            .or_default()
            .insert(uid.clone());
        self.first.insert(uid, first);
    }

    /// Waits no more.
    pub(super) fn forget(&mut self, uid: &Uid) {
        let Some(first) = self.first.remove(uid) else {
            return;
        };
        if let Some(waiting) = self.under.get_mut(&first) {
            waiting.remove(uid);
            if waiting.is_empty() {
                self.under.remove(&first);
            }
        }
    }

    /// Those who wait for this one.
    pub(super) fn under(&self, first: &Uid) -> impl Iterator<Item = &Uid> {
        self.under.get(first).into_iter().flatten()
    }

    /// Whether anybody waits for this one.
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
    fn each_waits_for_one_and_is_forgotten_with_it() {
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        let mut waiting = Waiting::default();
        waiting.put(a.clone(), b.clone());
        waiting.put(a.clone(), c.clone());
        assert_eq!(waiting.under(&b).count(), 0);
        assert_eq!(waiting.under(&c).collect::<Vec<_>>(), [&a]);
        waiting.forget(&a);
        assert!(waiting.under.is_empty() && waiting.first.is_empty());
    }

    #[test]
    fn all_have_their_turn() {
        let uids = ["a", "b", "c"].map(Uid::from);
        let mut waiting = Waiting::default();
        for uid in &uids {
            waiting.put(uid.clone(), "first".into());
        }
        let mut turns: Vec<Vec<Uid>> = Vec::new();
        for _ in 0..3 {
            turns.push(waiting.in_turn(2));
        }
        assert_eq!(turns, [&uids[..2], &uids[2..], &uids[..2]]);
    }
}
