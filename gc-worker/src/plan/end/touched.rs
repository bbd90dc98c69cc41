//! Which definition is the first to touch an object: the one that ends first.

use super::reach::{Naming, Reach};
use hindsight_core::Uid;
use std::collections::BTreeMap;

/// What definitions touch that end, each with the first of them. Each object is passed once, however many
/// definitions touch it.
#[derive(Debug)]
pub(super) struct Touched<'a, 'r> {
    reach: &'r Reach<'a>,
    objects: First<'a, &'a Uid>,
    /// Those with which everything below them is touched.
    passed: First<'a, &'a Uid>,
    naming: First<'a, Naming<'a>>,
}

type First<'a, T> = BTreeMap<T, &'a Uid>;

impl<'a, 'r> Touched<'a, 'r> {
    pub(super) const fn of(reach: &'r Reach<'a>) -> Self {
        Self {
            reach,
            objects: BTreeMap::new(),
            passed: BTreeMap::new(),
            naming: BTreeMap::new(),
        }
    }

    /// Adds what this definition touches: itself and everything that may be deleted with it or because of
    /// it, and the objects with a reference to a kind that ends with it. Whether it is the first to touch
    /// all of that.
    pub(super) fn is_first(&mut self, definition: &'a Uid) -> bool {
        let mut is_first = true;
        let mut open = vec![definition];
        while let Some(at) = open.pop() {
            if let Some(by) = before(&mut self.passed, at, definition) {
                is_first &= by == definition;
                continue;
            }
            is_first &= touch(&mut self.objects, at, definition);
            for what in self.reach.named_by(at) {
                is_first &= self.is_first_to_name(what, definition);
            }
            open.extend(self.reach.below(at));
        }
        is_first
    }

    fn is_first_to_name(&mut self, what: Naming<'a>, definition: &'a Uid) -> bool {
        let naming = self.reach.naming(what);
        if let Some(by) = before(&mut self.naming, what, definition) {
            return naming.is_empty() || by == definition;
        }
        let mut others = 0;
        for uid in &*naming {
            others += usize::from(!touch(&mut self.objects, *uid, definition));
        }
        others == 0
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

fn touch<'a, T: Ord>(all: &mut First<'a, T>, one: T, definition: &'a Uid) -> bool {
    before(all, one, definition).is_none_or(|by| by == definition)
}
