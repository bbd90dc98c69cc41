//! Owners are decided before their dependents, so that one outcome follows whatever is looked at
//! first. Upstream has no such order. See `docs/decisions/0005-owners-first.md`.

use super::View;
use hindsight_core::Uid;
use hindsight_core::event::OwnerClass;
use std::collections::BTreeSet;

impl View<'_> {
    /// Owners of an object, and theirs, that the collector has yet to act on. In a circle the
    /// lower uid comes first.
    pub(super) fn undecided_owners(&self, uid: &Uid) -> Vec<Uid> {
        let undecided = self
            .owners_of(uid)
            .into_iter()
            .filter(|owner| self.is_pending(owner));
        undecided
            .filter(|owner| owner < uid || !self.owners_of(owner).contains(uid))
            .collect()
    }

    /// Everything above an object that exists, by uid. What is going already hides its own owners:
    /// they decide nothing about it any more.
    fn owners_of(&self, uid: &Uid) -> BTreeSet<Uid> {
        let mut found = BTreeSet::new();
        let mut open = vec![uid.clone()];
        while let Some(at) = open.pop() {
            let Some(node) = self.graph.node(&at) else {
                continue;
            };
            if node.is_deleting() && at != *uid {
                continue;
            }
            for owner in node.owners() {
                if self.graph.node(&owner.uid).is_some() && found.insert(owner.uid.clone()) {
                    open.push(owner.uid.clone());
                }
            }
        }
        found.remove(uid);
        found
    }

    /// Whether a look at it, in its turn, would change it or its dependents.
    fn is_pending(&self, uid: &Uid) -> bool {
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
    }
}
