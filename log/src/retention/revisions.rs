//! A compact set of revisions: a bitmap with one word for each 64 of them.

use hindsight_core::Revision;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Revisions(BTreeMap<u64, u64>);

impl Revisions {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn insert(&mut self, revision: Revision) {
        let (word, bit) = word_and_bit(revision);
        *self.0.entry(word).or_default() |= bit;
    }

    pub(super) fn remove(&mut self, revision: Revision) {
        let (word, bit) = word_and_bit(revision);
        if let Some(bits) = self.0.get_mut(&word) {
            *bits &= !bit;
            if *bits == 0 {
                self.0.remove(&word);
            }
        }
    }

    pub(super) fn contains(&self, revision: Revision) -> bool {
        let (word, bit) = word_and_bit(revision);
        self.0.get(&word).is_some_and(|bits| bits & bit != 0)
    }
}

const fn word_and_bit(revision: Revision) -> (u64, u64) {
    (revision.0 / 64, 1 << (revision.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_there_until_it_is_taken_out() {
        let mut set = Revisions::new();
        let some = [0, 1, 63, 64, 127, 128, u64::MAX].map(Revision);
        some.into_iter().for_each(|one| set.insert(one));
        for revision in some {
            assert!(set.contains(revision) && !set.contains(Revision(revision.0 ^ 2)));
            set.remove(revision);
            set.remove(revision);
            assert!(!set.contains(revision), "{revision}");
        }
        assert!(set.0.is_empty());
    }
}
