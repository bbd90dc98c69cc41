//! Which definition is the first to touch an object: the one that ends first.

use super::reach::{Place, Reach};
use hindsight_core::Uid;
use std::collections::BTreeMap;

/// What ending definitions touch, each with the first of these. Each object is passed once, however many
/// definitions touch it.
#[derive(Debug)]
pub(super) struct Touched<'a, 'r> {
    reach: &'r Reach<'a>,
    objects: First<'a, &'a Uid>,
    /// Places that were passed: everything that is reached from them is touched, too.
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

    /// Marks what the end of this definition touches: itself, everything that may be deleted with it or because of
    /// it, and the objects that refer to a kind that ends with it or becomes known. Returns whether no definition
    /// before it touched any of that.
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
                Place::WhoRefers(what) => {
                    for uid in &*self.reach.referring(what) {
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

/// The definition that touched this before. If there is none, this one is noted.
fn before<'a, T: Ord>(all: &mut First<'a, T>, one: T, definition: &'a Uid) -> Option<&'a Uid> {
    let known = all.get(&one).copied();
    if known.is_none() {
        all.insert(one, definition);
    }
    known
}
