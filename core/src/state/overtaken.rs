//! What may have overtaken a plan to release an owner or a definition. Nothing of it is in a snapshot or a
//! hash, because no plan outlives the process that made it.

use super::{State, owner_of_edge};
use crate::Revision;
use crate::event::{Commit, Event};
use crate::kind::Kind;
use crate::object::{Object, Uid};
use imbl::OrdMap;
use std::collections::BTreeSet;

/// The last commits after which a plan that was made before them has to be made again.
#[derive(Debug, Clone, Default)]
pub(super) struct Overtaken {
    /// The last commit by which references may have become resolvable.
    kinds: Revision,
    /// By held owner: the last commit that changed other references of an object that refers to it. References
    /// to the owner itself that are new, or changed, are noted with the owner (`HeldOwner`).
    owners: OrdMap<Uid, Revision>,
    /// By definition that is being deleted: the last commit that changed the references of an object that
    /// refers to its kind.
    definitions: OrdMap<Uid, Revision>,
}

impl State {
    /// The last commit that may have changed what is decided about objects that refer to this owner, or to
    /// the kind of this definition. A plan to release it that was made before that commit is stale.
    pub(crate) fn overtaken_at(&self, released: &Object) -> Revision {
        let overtaken = &self.overtaken;
        let of = |map: &OrdMap<Uid, Revision>| map.get(&released.meta.uid).copied();
        let found = [of(&overtaken.owners), of(&overtaken.definitions)];
        found
            .into_iter()
            .flatten()
            .fold(overtaken.kinds, Revision::max)
    }

    /// Notes a commit that changes the references of an object, once it has been applied.
    pub(crate) fn note_references(&mut self, commit: &Commit) {
        if self.held_owners.is_empty() && self.overtaken.definitions.is_empty() {
            return;
        }
        let changes = |event: &Event| event.owner_change() != (None, None);
        let object = commit.object();
        let Some(object) = object.filter(|_| commit.events.iter().any(changes)) else {
            return;
        };
        let edges = commit.events.iter().filter_map(owner_of_edge);
        let edges: BTreeSet<&Uid> = edges.map(|owner| &owner.uid).collect();
        for owner in object.owners() {
            if !edges.contains(&owner.uid) && self.held_owners.contains_key(&owner.uid) {
                let uid = owner.uid.clone();
                self.overtaken.owners.insert(uid, commit.revision);
            }
            let named = self.kinds.named_by(owner);
            if let Some(definition) = named.and_then(|kind| kind.definition()).cloned()
                && let Some(at) = self.overtaken.definitions.get_mut(&definition)
            {
                *at = commit.revision;
            }
        }
    }

    /// Notes that references to this kind may have become resolvable, unless they were before.
    pub(super) fn note_kind(&mut self, before: Option<&Kind>, after: &Kind, at: Revision) {
        let serves_no_more = |before: &Kind| {
            let mut versions = after.versions.iter().filter(|one| one.served);
            (before.kind == after.kind && before.scope == after.scope)
                && versions.all(|one| before.served(&one.name).is_some())
        };
        if !before.is_some_and(serves_no_more) {
            self.overtaken.kinds = at;
        }
    }

    /// Follows a definition that is being deleted.
    pub(super) fn follow_definition(&mut self, definition: &Uid) {
        self.overtaken
            .definitions
            .entry(definition.clone())
            .or_insert(Revision::ZERO);
    }

    /// Forgets an owner that is no longer held.
    pub(super) fn forget_owner(&mut self, uid: &Uid) {
        self.overtaken.owners.remove(uid);
    }

    /// Forgets a definition that is gone.
    pub(super) fn forget_definition(&mut self, definition: &Uid) {
        self.overtaken.definitions.remove(definition);
    }
}
