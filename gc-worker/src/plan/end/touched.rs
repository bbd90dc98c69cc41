//! Which definition is the first to touch an object: the one that ends first.

use super::reach::{Place, Reach};
use hindsight_core::Uid;
use std::collections::BTreeMap;

/// What definitions touch that end, each with the first of them. Each object is passed once, however many
/// definitions touch it.
#[derive(Debug)]
pub(super) struct Touched<'a, 'r> {
    reach: &'r Reach<'a>,
    objects: First<'a, &'a Uid>,
    /// Those with which everything after them is touched.
    passed: First<'a, Place<'a>>,
}

type First<'a, T> = BTreeMap<T, &'a Uid>;

impl<'a, 'r> Touched<'a, 'r> {
    pub(super) const fn of(reach: &'r Reach<'a>) -> Self {
        Self {
            reach,
            objects: BTreeMap::new(),
            passed: BTreeMap::new(),
        }
    }

    /// Adds what this definition touches: itself and everything that may be deleted with it or because of
    /// it, and the objects with a reference to a kind that ends with it or becomes known. Whether it is the
    /// first to touch all of that.
    pub(super) fn is_first(&mut self, definition: &'a Uid) -> bool {
        let mut is_first = true;
        let mut open = vec![Place::Object(definition)];
        while let Some(at) = open.pop() {
            if let Some(by) = before(&mut self.passed, at, definition) {
                is_first &= by == definition;
                continue;
            }
            match at {
                Place::Object(uid) => is_first &= self.touch(uid, definition),
                Place::Naming(what) => {
                    for uid in &*self.reach.naming(what) {
                        is_first &= self.touch(uid, definition);
                    }
                }
            }
            open.extend(self.reach.next(at));
        }
        is_first
    }

    /// Whether no other definition touched it before.
    fn touch(&mut self, uid: &'a Uid, definition: &'a Uid) -> bool {
        before(&mut self.objects, uid, definition).is_none_or(|by| by == definition)
    }
}

/// Who was there before; from then on it is this one.
fn before<'a, T: Ord>(all: &mut First<'a, T>, one: T, definition: &'a Uid) -> Option<&'a Uid> {
    let known = all.get(&one).copied();
    if known.is_none() {
        all.insert(one, definition);
    }
    known
}
