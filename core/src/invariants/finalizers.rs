//! Checks that finalizers hold objects, and that each is taken by somebody it may be taken by.

use super::{Checker, Violation};
use crate::event::Cause;
use crate::object::{DEFINITION_FINALIZER, Object, is_collector_finalizer};
use std::collections::BTreeSet;

const HELD: &str = "nothing is removed while a finalizer holds it";
const TAKEN: &str = "only clients take a finalizer that is none of the collectors";

impl Checker<'_> {
    /// Checks that every finalizer the object still had is removed by this very commit, with an event for
    /// each, and that this commit may remove it.
    pub(super) fn check_finalizers(&self, previous: &Object) -> Result<(), Violation> {
        let removed = self.commit.removed_finalizers();
        let mut finalizers = previous.meta.finalizers.iter();
        if let Some(held) = finalizers.find(|held| !removed.contains(&***held)) {
            return Err(self.violation(HELD, format!("removed while {held} holds it")));
        }
        if previous.is_deleting() {
            return self.check_taken(previous, None);
        }
        // A deletion that is asked for just now ends at once, so nobody has let the object go.
        let mut finalizers = previous.meta.finalizers.iter();
        match finalizers.find(|held| is_clients(held)) {
            Some(held) => Err(self.violation(HELD, format!("its deletion took {held} from it"))),
            None => Ok(()),
        }
    }

    /// Checks that collectors take no finalizer but their own; `left` is the object after the commit.
    pub(super) fn check_taken(
        &self,
        previous: &Object,
        left: Option<&Object>,
    ) -> Result<(), Violation> {
        if self.commit.cause == Cause::Request {
            return Ok(());
        }
        let left = left.map_or_else(BTreeSet::new, |object| object.meta.finalizer_set());
        let mut taken = previous.meta.finalizers.iter();
        match taken.find(|one| is_clients(one) && !left.contains(&***one)) {
            Some(one) => Err(self.violation(TAKEN, format!("a collector took {one} from it"))),
            None => Ok(()),
        }
    }
}

/// Whether a finalizer is none of those that collectors take away.
fn is_clients(finalizer: &str) -> bool {
    !is_collector_finalizer(finalizer) && finalizer != DEFINITION_FINALIZER
}
