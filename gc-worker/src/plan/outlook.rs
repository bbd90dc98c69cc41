//! What an owner has to know of a dependent before it is released. Many owners may wait for the same
//! dependents, so each of these is looked at once for all of them.

use super::View;
use hindsight_core::event::OwnerClass;
use hindsight_core::{Object, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A live dependent, as its owners see it.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    /// The owners that it sees waiting or gone.
    going: BTreeSet<Uid>,
    /// The dependent, if it may still be acted on, or what may do so.
    undecided: Option<Uid>,
}

impl Outlook {
    fn undecided_for(&self, owner: &Uid) -> Option<Uid> {
        let undecided = self.undecided.as_ref();
        undecided.filter(|_| self.going.contains(owner)).cloned()
    }
}

impl View<'_> {
    /// A live dependent that sees the owner waiting and may still be acted on, or what may do so.
    pub(super) fn undecided_at(&self, dependent: &Uid, owner: &Uid) -> Option<Uid> {
        self.memo.visit(1);
        if let Some(outlook) = self.memo.outlooks.borrow().get(dependent) {
            return outlook.undecided_for(owner);
        }
        let outlook = self.outlook(dependent);
        let undecided = outlook.undecided_for(owner);
        let mut all = self.memo.outlooks.borrow_mut();
        all.insert(dependent.clone(), outlook);
        undecided
    }

    fn outlook(&self, dependent: &Uid) -> Outlook {
        let live = |object: &&Arc<Object>| !object.is_deleting();
        let Some(object) = self.graph.object(dependent).filter(live) else {
            return Outlook::default();
        };
        let classes = self.classes(object);
        let sees = object.owners().iter().zip(&classes);
        let going: BTreeSet<Uid> = sees
            .filter(|(_, class)| matches!(class, OwnerClass::Waiting | OwnerClass::Dangling))
            .map(|(reference, _)| reference.uid.clone())
            .collect();
        if going.is_empty() {
            return Outlook::default();
        }
        let undecided = if self.is_pending(dependent) {
            Some(dependent.clone())
        } else {
            // An owner above may still come to orphan it, which also removes a reference that cannot be
            // resolved.
            self.undecided_above(dependent)
        };
        Outlook { going, undecided }
    }
}
