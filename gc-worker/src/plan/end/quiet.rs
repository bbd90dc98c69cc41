//! Whether the collector has come to rest wherever the end of a definition could matter.

use super::ends_a_definition;
use super::reach::{Place, Reach, Reference};
use crate::content;
use crate::plan::{View, whole_plan};
use hindsight_core::{OwnerReference, Uid};
use hindsight_projector::Components;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What has been found out, so that no object is looked at again for each definition.
#[derive(Debug)]
pub(super) struct Quiet<'a, 'r> {
    reach: &'r Reach<'a>,
    /// By object: nothing is left to do in it or in what is decided before it.
    above: RefCell<Components<bool>>,
    /// By object: neither that, nor is anything left to do in or before the definitions of its owners' kinds.
    around: RefCell<BTreeMap<Uid, bool>>,
    /// By place that an end reaches: nothing is left to do around it or around what the end reaches from there.
    below: RefCell<Components<bool, Place<'a>>>,
}

impl<'a, 'r> Quiet<'a, 'r> {
    pub(super) fn of(reach: &'r Reach<'a>) -> Self {
        Self {
            reach,
            above: RefCell::default(),
            around: RefCell::default(),
            below: RefCell::default(),
        }
    }

    /// Whether the collector has nothing left to do in or above the objects that the end of this definition
    /// touches, and would not release another definition whose kind they refer to.
    pub(super) fn is_quiet(&self, definition: &'a Uid) -> bool {
        self.is_quiet_around(definition) && self.is_quiet_below(definition)
    }

    fn is_quiet_below(&self, definition: &'a Uid) -> bool {
        let next = |at: &Place<'a>| self.reach.next(*at);
        let is_quiet = |at: &Place<'a>| match at {
            Place::Object(uid) => self.is_quiet_around(uid),
            Place::WhoRefers(what) => self.is_quiet_where_named(*what),
        };
        let mut below = self.below.borrow_mut();
        let known = below.find(&Place::Object(definition), next, |members, reached| {
            reached.iter().all(|one| **one) && members.iter().all(is_quiet)
        });
        known.copied().unwrap_or(true)
    }

    fn is_quiet_where_named(&self, what: Reference<'a>) -> bool {
        let referring = self.reach.referring(what);
        let is_quiet = referring.iter().all(|uid| self.is_quiet_around(uid));
        let Reference::ToUnknown(group) = what else {
            return is_quiet;
        };
        // Which kind becomes known depends on who has names then, and who waits for them.
        let mut definitions = self.reach.definitions(group);
        is_quiet && definitions.all(|one| self.is_quiet_around(one))
    }

    fn is_quiet_around(&self, uid: &Uid) -> bool {
        if let Some(known) = self.around.borrow().get(uid) {
            return *known;
        }
        let view = self.reach.view;
        let owners = view
            .graph
            .object(uid)
            .map_or(&[][..], |object| object.owners());
        let mut definitions = owners.iter().filter_map(|owner| view.definition_of(owner));
        let is_quiet = self.is_quiet_above(uid) && definitions.all(|one| self.is_quiet_above(one));
        self.around.borrow_mut().insert(uid.clone(), is_quiet);
        is_quiet
    }

    fn is_quiet_above(&self, uid: &Uid) -> bool {
        let view = self.reach.view;
        if view.graph.object(uid).is_none() {
            return true;
        }
        let mut above = self.above.borrow_mut();
        let next = |at: &Uid| view.known_before(at);
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

    /// What is decided before this object, or before it is released: of an owner that waits, also what it
    /// waits for, and whatever may still act on that.
    fn known_before(&self, uid: &Uid) -> Vec<Uid> {
        let Some(object) = self.graph.object(uid) else {
            return Vec::new();
        };
        if !object.is_waiting() && !object.is_orphaning() {
            return self.known_above(uid);
        }
        let mut next = self.directly_above(uid);
        next.retain(|one| self.graph.object(one).is_some());
        if object.is_waiting() {
            let dependents = self.graph.dependents(uid);
            let counted = dependents.inspect(|_| self.memo.visit(1));
            next.extend(counted.map(|(dependent, _)| dependent.clone()));
        }
        next
    }

    /// Whether it will be acted on, not counting the end of a definition, which has an order of its own.
    fn has_work(&self, uid: &Uid) -> bool {
        if self.is_pending(uid) {
            return true;
        }
        let object = self.graph.object(uid);
        let Some(object) = object.filter(|object| object.is_deleting()) else {
            return false;
        };
        let plan = whole_plan(*self, uid);
        content::is_busy(self.state, object) || !plan.all_steps().all(ends_a_definition)
    }
}
