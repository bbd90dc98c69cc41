//! Whether the collector has come to rest wherever the end of a definition could matter.

use super::ends_a_definition;
use super::reach::{Naming, Reach};
use crate::content;
use crate::plan::{View, whole_plan};
use hindsight_core::{OwnerReference, Uid};
use hindsight_projector::{Components, Node};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What has been found out about this, so that no object is asked for each definition again.
#[derive(Debug)]
pub(super) struct Quiet<'a, 'r> {
    reach: &'r Reach<'a>,
    /// Nothing is left to do in an object or above it.
    above: RefCell<Components<bool>>,
    /// Nor around it.
    around: RefCell<BTreeMap<Uid, bool>>,
    naming: RefCell<BTreeMap<Naming<'a>, bool>>,
    /// Nor wherever its end matters.
    below: RefCell<Components<bool>>,
}

impl<'a, 'r> Quiet<'a, 'r> {
    pub(super) fn of(reach: &'r Reach<'a>) -> Self {
        Self {
            reach,
            above: RefCell::default(),
            around: RefCell::default(),
            naming: RefCell::default(),
            below: RefCell::default(),
        }
    }

    /// Whether the collector has nothing left to do in or above the objects that the end of this definition
    /// touches, and would not release another definition whose kind they refer to.
    pub(super) fn is_quiet(&self, definition: &Uid) -> bool {
        self.is_quiet_around(definition) && self.is_quiet_below(definition)
    }

    fn is_quiet_below(&self, definition: &Uid) -> bool {
        let next = |at: &Uid| self.reach.below(at).into_iter().cloned().collect();
        let is_quiet = |uid: &Uid| {
            let mut naming = self.reach.named_by(uid);
            self.is_quiet_around(uid) && naming.all(|what| self.is_quiet_where_named(what))
        };
        let mut below = self.below.borrow_mut();
        let known = below.find(definition, next, |members, reached| {
            reached.iter().all(|one| **one) && members.iter().all(is_quiet)
        });
        known.copied().unwrap_or(true)
    }

    fn is_quiet_where_named(&self, what: Naming<'a>) -> bool {
        if let Some(known) = self.naming.borrow().get(&what) {
            return *known;
        }
        let naming = self.reach.naming(what);
        let is_quiet = naming.iter().all(|uid| self.is_quiet_around(uid));
        self.naming.borrow_mut().insert(what, is_quiet);
        is_quiet
    }

    fn is_quiet_around(&self, uid: &Uid) -> bool {
        if let Some(known) = self.around.borrow().get(uid) {
            return *known;
        }
        let view = self.reach.view;
        let owners = view.object(uid).map_or(&[][..], |object| object.owners());
        let mut definitions = owners.iter().filter_map(|owner| view.definition_of(owner));
        // What is above a live object has been asked with it.
        let is_deleting = view.graph.node(uid).is_some_and(Node::is_deleting);
        let above = || view.directly_above(uid);
        let is_quiet = self.is_quiet_above(uid)
            && definitions.all(|one| self.is_quiet_above(one))
            && (!is_deleting || above().iter().all(|one| self.is_quiet_above(one)));
        self.around.borrow_mut().insert(uid.clone(), is_quiet);
        is_quiet
    }

    fn is_quiet_above(&self, uid: &Uid) -> bool {
        let view = self.reach.view;
        if view.graph.node(uid).is_none() {
            return true;
        }
        let mut above = self.above.borrow_mut();
        let next = |at: &Uid| view.known_above(at);
        let known = above.find(uid, next, |members, reached| {
            reached.iter().all(|one| **one) && !members.iter().any(|one| view.has_work(one))
        });
        known.copied().unwrap_or(true)
    }
}

impl<'a> View<'a> {
    /// The definition of the kind that a reference names.
    fn definition_of(&self, owner: &OwnerReference) -> Option<&'a Uid> {
        self.state.kinds.named_by(owner)?.definition()
    }

    /// Whether it will be acted on, not counting the end of a definition, which has an order of its own.
    fn has_work(&self, uid: &Uid) -> bool {
        if self.is_pending(uid) {
            return true;
        }
        let Some(object) = self.object(uid).filter(|object| object.is_deleting()) else {
            return false;
        };
        let plan = whole_plan(*self, uid);
        content::is_busy(self.state, object) || !plan.all_steps().all(ends_a_definition)
    }
}
