//! Decides owners before their dependents, so that the result does not depend on which object is looked
//! at first. Upstream has no such order. See `docs/decisions/0005-owners-first.md`.

use super::View;
use hindsight_core::event::OwnerClass;
use hindsight_core::kind::Origin;
use hindsight_core::{Object, ObjectKey, Uid};
use hindsight_projector::Node;
use std::collections::BTreeSet;

impl View<'_> {
    /// The objects above this one on which the collector has yet to act.
    pub(super) fn undecided_above(&self, uid: &Uid) -> impl Iterator<Item = Uid> {
        let above = self.above(uid).into_iter();
        above.filter(|one| self.is_pending(one))
    }

    /// Those of them that are decided before this one. In a circle these are owners that orphan,
    /// containers that are being emptied, and of the others those with a lower key: uids are random.
    pub(super) fn undecided_before(&self, uid: &Uid) -> Vec<Uid> {
        let key = |one: &Uid| self.graph.node(one).map(Node::key);
        let leads = |other: &Uid| {
            let node = self.graph.node(other);
            self.emptying.contains(other) || node.is_some_and(Node::is_orphaning)
        };
        self.undecided_above(uid)
            .filter(|one| key(one) < key(uid) || leads(one) || !self.above(one).contains(uid))
            .collect()
    }

    /// Undecided objects that may still delete an owner which orphans its dependents, so that it orphans
    /// none. Its own owners have no influence on it any more.
    pub(super) fn undecided_around(&self, owner: &Object) -> Vec<Uid> {
        let uid = &owner.meta.uid;
        let around = self.with_all_above(self.containers(&owner.key).cloned().collect());
        let undecided = around.into_iter().filter(|one| self.is_pending(one));
        undecided
            .filter(|one| self.emptying.contains(one) || !self.above(one).contains(uid))
            .filter(|one| one != uid)
            .collect()
    }

    /// The owners and containers of an object, and theirs in turn, as far as they exist.
    fn above(&self, uid: &Uid) -> BTreeSet<Uid> {
        let mut found = self.with_all_above(self.directly_above(uid));
        found.remove(uid);
        found
    }

    /// These objects and all above them. An object in deletion hides what is above it, which has no
    /// influence on the objects below any more. The exceptions are the containers of an object that
    /// waits: when such a container is deleted, the object is released.
    pub(super) fn with_all_above(&self, mut open: Vec<Uid>) -> BTreeSet<Uid> {
        let mut found = BTreeSet::new();
        while let Some(at) = open.pop() {
            let Some(node) = self.graph.node(&at) else {
                continue;
            };
            if found.contains(&at) {
                continue;
            }
            if !node.is_deleting() {
                open.append(&mut self.directly_above(&at));
            } else if node.is_waiting() {
                open.extend(self.containers(node.key()).cloned());
            }
            found.insert(at);
        }
        found
    }

    /// The first step up. An object that is about to be deleted under a waiting owner is decided by
    /// whether it has dependents, and the containers of those may delete them.
    pub(super) fn directly_above(&self, uid: &Uid) -> Vec<Uid> {
        let Some(node) = self.graph.node(uid) else {
            return Vec::new();
        };
        let owners = node.owners().iter().map(|owner| &owner.uid);
        let mut above: BTreeSet<&Uid> = owners.chain(self.containers(node.key())).collect();
        if self.goes_under_a_waiting_owner(uid) {
            let dependents = self.graph.dependents(uid);
            above.extend(dependents.flat_map(|(_, one)| self.containers(one.key())));
        }
        above.into_iter().cloned().collect()
    }

    fn goes_under_a_waiting_owner(&self, uid: &Uid) -> bool {
        let live = self.object(uid).filter(|object| !object.is_deleting());
        live.is_some_and(|object| self.classes(object).contains(&OwnerClass::Waiting))
    }

    /// The containers of an object: its namespace, and the definition of its kind.
    fn containers(&self, key: &ObjectKey) -> impl Iterator<Item = &Uid> {
        let namespace = self.state.namespace(&key.namespace);
        let kind = self.state.kinds.by_resource(&key.resource);
        let definition = kind.and_then(|kind| match &kind.origin {
            Origin::Custom { definition, .. } => Some(definition),
            Origin::Builtin => None,
        });
        namespace
            .map(|namespace| &namespace.meta.uid)
            .into_iter()
            .chain(definition)
    }

    /// Whether a look at this object, in its turn, would change it, its dependents or its contents.
    pub(super) fn is_pending(&self, uid: &Uid) -> bool {
        if self.emptying.contains(uid) {
            return true;
        }
        let Some((object, node)) = self.object(uid).zip(self.graph.node(uid)) else {
            return false;
        };
        if node.is_deleting() {
            return node.is_orphaning() && self.graph.has_dependents(uid);
        }
        if self.will_be_orphaned(object) {
            return true;
        }
        let classes = self.classes(object);
        !classes.contains(&OwnerClass::Unresolvable)
            && classes.iter().any(|class| *class != OwnerClass::Solid)
            && (classes.contains(&OwnerClass::Solid) || !object.key.is_immortal())
    }
}
