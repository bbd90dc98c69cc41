//! An index of the positions in the log at which each object was changed. It finds the last change of an
//! object without reading everything after it.

use hindsight_core::{ObjectKey, Revision, Uid};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A fold of commits. Objects are identified by the hashes of their key and their uid, so two may share
/// positions: a position that is found must be checked, but none is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionIndex {
    covers: Revision,
    floor: Revision,
    held: usize,
    max: usize,
    /// By the hash of a key.
    names: BTreeMap<u64, Places>,
    /// By the same hash, the objects that had the name before the last one, oldest first. Few names are used
    /// twice, so these are not with the places.
    earlier: BTreeMap<u64, Vec<Life>>,
}

/// Where a name was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    /// The hash of the uid that it had last.
    uid: u64,
    /// Never empty.
    revisions: Vec<Revision>,
}

/// An object whose name was used again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    /// The hash of its uid.
    uid: u64,
    /// Its last change.
    end: Revision,
}

impl Places {
    fn before(&self, until: Revision) -> Option<Revision> {
        let after = self.revisions.partition_point(|place| *place <= until);
        self.revisions.get(after.checked_sub(1)?).copied()
    }
}

impl PositionIndex {
    /// An empty index with room for this many commits.
    pub fn new(max: usize) -> Self {
        Self {
            covers: Revision::ZERO,
            floor: Revision::ZERO,
            held: 0,
            max,
            names: BTreeMap::new(),
            earlier: BTreeMap::new(),
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
        self.names.retain(|_, Places { revisions, .. }| {
            let before = revisions.len();
            if revisions.first().is_some_and(|first| *first <= floor) {
                revisions.retain(|place| !is_dropped(place));
            }
            self.held -= before - revisions.len();
            !revisions.is_empty()
        });
        self.earlier.retain(|name, _| self.names.contains_key(name));
        self.floor = floor;
    }

    /// Lets go of a commit of this object that turned out to be dropped.
    pub fn forget(&mut self, key: &ObjectKey, revision: Revision) {
        let name = hash(key);
        let Some(Places { revisions, .. }) = self.names.get_mut(&name) else {
            return;
        };
        if let Ok(at) = revisions.binary_search(&revision) {
            revisions.remove(at);
            self.held -= 1;
        }
        if revisions.is_empty() {
            self.names.remove(&name);
            self.earlier.remove(&name);
        }
    }

    /// Whether there is room for no more commits.
    pub const fn is_full(&self) -> bool {
        self.held >= self.max
    }

    /// Adds the next commit; after a restore its revision need not be the following one. Commits up to
    /// [`Self::covers`], and all when it is full, are left out.
    pub fn push(&mut self, key: &ObjectKey, uid: &Uid, revision: Revision) {
        if self.is_full() || revision <= self.covers {
            return;
        }
        let (name, uid) = (hash(key), hash(uid));
        let places = self.names.entry(name).or_insert_with(|| Places {
            uid,
            revisions: Vec::new(),
        });
        if places.uid != uid
            && let Some(end) = places.revisions.last().copied()
        {
            let uid = std::mem::replace(&mut places.uid, uid);
            self.earlier
                .entry(name)
                .or_default()
                .push(Life { uid, end });
        }
        places.revisions.push(revision);
        self.covers = revision;
        self.held += 1;
    }

    /// The last commit up to this one that may have touched the object, or the one of that name with this uid.
    pub fn before(&self, key: &ObjectKey, uid: Option<&Uid>, until: Revision) -> Option<Revision> {
        let name = hash(key);
        let places = self.names.get(&name)?;
        let Some(uid) = uid.map(hash) else {
            return places.before(until);
        };
        let (mut of, mut end) = (places.uid, Revision::MAX);
        let earlier = self.earlier.get(&name).map_or(&[][..], Vec::as_slice);
        for life in earlier.iter().rev() {
            if of == uid
                && let Some(place) = places.before(until.min(end))
                && place > life.end
            {
                return Some(place);
            }
            (of, end) = (life.uid, life.end);
        }
        if of == uid {
            places.before(until.min(end))
        } else {
            None
        }
    }

    /// The first commit from this one on that may have touched the object.
    pub fn after(&self, key: &ObjectKey, from: Revision) -> Option<Revision> {
        let places = &self.names.get(&hash(key))?.revisions;
        let before = places.partition_point(|place| *place < from);
        places.get(before).copied()
    }
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::GroupResource;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(GroupResource::new("", "configmaps"), "default", name)
    }

    fn uid(text: &str) -> Uid {
        Uid::from(text)
    }

    fn folded(names: &[&str], max: usize) -> PositionIndex {
        let mut places = PositionIndex::new(max);
        for (revision, name) in (1..).zip(names) {
            places.push(&key(name), &uid(name), Revision(revision));
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
                places.before(&key(name), None, at),
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

    /// Each of these uids had the name in turn.
    fn reused(uids: &[&str]) -> PositionIndex {
        let mut places = PositionIndex::new(100);
        for (revision, of) in (1..).zip(uids) {
            places.push(&key("a"), &uid(of), Revision(revision));
        }
        places
    }

    #[test]
    fn of_those_who_had_a_name_the_one_that_is_asked_for_is_found() {
        let uids = ["x", "x", "y", "z", "z", "x", "x"];
        let mut places = reused(&uids);
        for until in 0..9_u64 {
            for of in ["x", "y", "z", "w"] {
                let had = uids.iter().zip(1..=until);
                let last = had.filter(|(uid, _)| **uid == of).last();
                let last = last.map(|(_, place)| Revision(place));
                let found = places.before(&key("a"), Some(&uid(of)), Revision(until));
                assert_eq!(found, last, "{of} {until}");
            }
        }
        assert_eq!(places.before(&key("b"), Some(&uid("x")), Revision(9)), None);
        // Nobody takes over what an earlier one did.
        places.forget(&key("a"), Revision(3));
        places.raise_floor(Revision(4), &[Revision(1)].into());
        for (of, last) in [("x", Some(1)), ("y", None), ("z", Some(5))] {
            let found = places.before(&key("a"), Some(&uid(of)), Revision(5));
            assert_eq!(found, last.map(Revision), "{of}");
        }
    }

    #[test]
    fn of_a_name_that_is_forgotten_nothing_is_left() {
        let mut places = reused(&["x", "y"]);
        places.forget(&key("a"), Revision(1));
        places.forget(&key("a"), Revision(2));
        assert!(places.names.is_empty() && places.earlier.is_empty());
        let mut places = reused(&["x", "y"]);
        places.raise_floor(Revision(2), &BTreeSet::new());
        assert!(places.names.is_empty() && places.earlier.is_empty());
    }

    #[test]
    fn only_what_comes_after_is_taken_and_only_as_much_as_there_is_room_for() {
        let mut places = folded(&["a", "b"], 3);
        let before = places.clone();
        places.push(&key("x"), &uid("x"), Revision(1));
        places.push(&key("x"), &uid("x"), Revision(2));
        assert_eq!(places, before);
        places.push(&key("c"), &uid("c"), Revision(5));
        assert_eq!(places.covers(), Revision(5));
        assert_eq!(
            places.before(&key("c"), None, Revision(9)),
            Some(Revision(5))
        );
        places.push(&key("d"), &uid("d"), Revision(6));
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
        assert_eq!(places.before(&key("b"), None, Revision(9)), None);
        places.forget(&key("a"), Revision(1));
        assert_eq!(places.after(&key("a"), Revision(1)), Some(Revision(3)));
        for (revision, is_full) in [(4, false), (5, true)] {
            places.push(&key("c"), &uid("c"), Revision(revision));
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
        assert_eq!(
            places.before(&key("b"), None, Revision(9)),
            Some(Revision(2))
        );
        for (revision, is_full) in [(6, false), (7, true), (8, true)] {
            places.push(&key("d"), &uid("d"), Revision(revision));
            assert_eq!(places.is_full(), is_full);
        }
        // What is below the floor already is not asked about again.
        places.raise_floor(Revision(6), &BTreeSet::new());
        assert_eq!(
            places.before(&key("b"), None, Revision(9)),
            Some(Revision(2))
        );
        assert_eq!(places.before(&key("a"), None, Revision(9)), None);
        assert_eq!(places.covers(), Revision(7));
    }

    #[test]
    fn revisions_that_a_restore_passed_over_are_no_place() {
        let mut places = folded(&["a", "b"], 9);
        places.push(&key("a"), &uid("a"), Revision(1000));
        assert_eq!(places.covers(), Revision(1000));
        assert_eq!(places.after(&key("a"), Revision(2)), Some(Revision(1000)));
        assert_eq!(
            places.before(&key("a"), None, Revision(999)),
            Some(Revision(1))
        );
    }
}
