//! What walks over a state have found, so that it need not be found again for the next object.

use super::Plan;
use super::order::{Above, Around};
use super::outlook::Outlook;
use hindsight_core::Uid;
use hindsight_projector::{Components, Deadlocks};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known already. Valid as long as neither the state nor what is being emptied changes.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    pub(super) above: RefCell<Components<Above>>,
    pub(super) deadlocks: RefCell<Deadlocks>,
    /// The plans for deadlocks, by their first members.
    pub(super) breakings: RefCell<BTreeMap<Uid, Plan>>,
    /// What is above containers in which owners orphan.
    pub(super) around: RefCell<BTreeMap<Vec<Uid>, Arc<Around>>>,
    /// Dependents, as the owners that wait for them see them.
    pub(super) outlooks: RefCell<BTreeMap<Uid, Outlook>>,
    /// How many objects and references were visited on walks.
    visited: Cell<usize>,
}

impl Memo {
    /// Counts objects and references that are visited on a walk.
    pub(super) fn visit(&self, count: usize) {
        self.visited.set(self.visited.get() + count);
    }

    /// How many were visited: what a forecast is bounded by.
    pub(crate) fn visited(&self) -> usize {
        self.visited.get() + self.deadlocks.borrow().visited()
    }
}
