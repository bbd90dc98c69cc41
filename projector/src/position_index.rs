//! An index of the positions in the log at which each object was changed. It finds the last change of an
//! object without reading everything after it.

use hindsight_core::{ObjectKey, Revision};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A fold of commits. Objects are identified by the hash of their key, so two may share positions: a
/// position that is found must be checked, but none is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionIndex {
    covers: Revision,
    floor: Revision,
    held: usize,
    max: usize,
    revisions: BTreeMap<u64, Vec<Revision>>,
}

impl PositionIndex {
    /// An empty index with room for this many commits.
    pub fn new(max: usize) -> Self {
        Self {
            covers: Revision::ZERO,
            floor: Revision::ZERO,
            held: 0,
            max,
            revisions: BTreeMap::new(),
        }
    }

    /// The last commit in the index, which also contains all before it.
    pub const fn covers(&self) -> Revision {
        self.covers
    }

    /// Up to here only commits are in the index that were in the log when this was last moved.
    pub const fn floor(&self) -> Revision {
        self.floor
    }

    /// Lets go of the commits after [`Self::floor`] and up to this one, but for those that are kept.
    pub fn raise_floor(&mut self, floor: Revision, kept: &BTreeSet<Revision>) {
        let from = self.floor;
        let is_dropped =
            |place: &Revision| *place > from && *place <= floor && !kept.contains(place);
        self.revisions.retain(|_, places| {
            let before = places.len();
            if places.first().is_some_and(|first| *first <= floor) {
                places.retain(|place| !is_dropped(place));
            }
            self.held -= before - places.len();
            !places.is_empty()
        });
        self.floor = floor;
    }

    /// Lets go of a commit of this object that turned out to be dropped.
    pub fn forget(&mut self, key: &ObjectKey, revision: Revision) {
        let hash = hash(key);
        let Some(places) = self.revisions.get_mut(&hash) else {
            return;
        };
        if let Ok(at) = places.binary_search(&revision) {
            places.remove(at);
            self.held -= 1;
        }
        if places.is_empty() {
            self.revisions.remove(&hash);
        }
    }

    /// Whether there is room for no more commits.
    pub const fn is_full(&self) -> bool {
        self.held >= self.max
    }

    /// Adds the next commit; after a restore its revision need not be the following one. Commits up to
    /// [`Self::covers`], and all when it is full, are left out.
    pub fn push(&mut self, key: &ObjectKey, revision: Revision) {
        if self.is_full() || revision <= self.covers {
            return;
        }
        let places = self.revisions.entry(hash(key)).or_default();
        places.push(revision);
        self.covers = revision;
        self.held += 1;
    }

    /// The last commit up to this one that may have touched the object.
    pub fn before(&self, key: &ObjectKey, until: Revision) -> Option<Revision> {
        let places = self.revisions.get(&hash(key))?;
        let after = places.partition_point(|place| *place <= until);
        places.get(after.checked_sub(1)?).copied()
    }

    /// The first commit from this one on that may have touched the object.
    pub fn after(&self, key: &ObjectKey, from: Revision) -> Option<Revision> {
        let places = self.revisions.get(&hash(key))?;
        let before = places.partition_point(|place| *place < from);
        places.get(before).copied()
    }
}

fn hash(key: &ObjectKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::GroupResource;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
    }

    fn folded(names: &[&str], max: usize) -> PositionIndex {
        let mut places = PositionIndex::new(max);
        for (revision, name) in (1..).zip(names) {
            places.push(&key(name), Revision(revision));
        }
        places
    }

    #[test]
    fn the_nearest_place_on_either_side_is_found() {
        let places = folded(&["a", "b", "a", "c", "a"], 100);
        for (name, at, before, after) in [
            ("a", 0, None, Some(1)),
            ("a", 1, Some(1), Some(1)),
            ("a", 2, Some(1), Some(3)),
            ("a", 4, Some(3), Some(5)),
            ("a", u64::MAX, Some(5), None),
            ("b", 1, None, Some(2)),
            ("b", 9, Some(2), None),
            ("z", 9, None, None),
        ] {
            let at = Revision(at);
            assert_eq!(
                places.before(&key(name), at),
                before.map(Revision),
                "{name} {at}"
            );
            assert_eq!(
                places.after(&key(name), at),
                after.map(Revision),
                "{name} {at}"
            );
        }
    }

    #[test]
    fn only_what_comes_after_is_taken_and_only_as_much_as_there_is_room_for() {
        let mut places = folded(&["a", "b"], 3);
        let before = places.clone();
        places.push(&key("x"), Revision(1));
        places.push(&key("x"), Revision(2));
        assert_eq!(places, before);
        places.push(&key("c"), Revision(5));
        assert_eq!(places.covers(), Revision(5));
        assert_eq!(places.before(&key("c"), Revision(9)), Some(Revision(5)));
        places.push(&key("d"), Revision(6));
        assert!(places.is_full());
        assert_eq!(places.covers(), Revision(5));
    }

    #[test]
    fn what_turned_out_to_be_dropped_makes_room() {
        let mut places = folded(&["a", "b", "a"], 3);
        places.forget(&key("a"), Revision(2));
        assert!(places.is_full());
        places.forget(&key("b"), Revision(2));
        places.forget(&key("b"), Revision(2));
        assert_eq!(places.before(&key("b"), Revision(9)), None);
        places.forget(&key("a"), Revision(1));
        assert_eq!(places.after(&key("a"), Revision(1)), Some(Revision(3)));
        for (revision, is_full) in [(4, false), (5, true)] {
            places.push(&key("c"), Revision(revision));
            assert_eq!(places.is_full(), is_full);
        }
    }

    #[test]
    fn what_was_dropped_from_the_log_makes_room() {
        let mut places = folded(&["a", "b", "a", "c", "a"], 5);
        places.raise_floor(Revision(3), &[Revision(2)].into());
        assert_eq!(
            (places.floor(), places.covers()),
            (Revision(3), Revision(5))
        );
        assert_eq!(places.after(&key("a"), Revision(1)), Some(Revision(5)));
        assert_eq!(places.before(&key("b"), Revision(9)), Some(Revision(2)));
        for (revision, is_full) in [(6, false), (7, true), (8, true)] {
            places.push(&key("d"), Revision(revision));
            assert_eq!(places.is_full(), is_full);
        }
        // What is below the floor already is not asked about again.
        places.raise_floor(Revision(6), &BTreeSet::new());
        assert_eq!(places.before(&key("b"), Revision(9)), Some(Revision(2)));
        assert_eq!(places.before(&key("a"), Revision(9)), None);
        assert_eq!(places.covers(), Revision(7));
    }

    #[test]
    fn revisions_that_a_restore_passed_over_are_no_place() {
        let mut places = folded(&["a", "b"], 9);
        places.push(&key("a"), Revision(1000));
        assert_eq!(places.covers(), Revision(1000));
        assert_eq!(places.after(&key("a"), Revision(2)), Some(Revision(1000)));
        assert_eq!(places.before(&key("a"), Revision(999)), Some(Revision(1)));
    }
}
