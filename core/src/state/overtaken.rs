//! What may have overtaken a plan of the collector. Nothing of it is in a snapshot or a
//! hash, because no plan outlives the process that made it.
//!
//! The revisions of [`Overtaken`] are set by commits and compared with the one that a plan was made on. Those that are
//! never cleared are soon below that of any new plan.
//!
//! Fields called `any` hold the last of all such commits, those with `by` the last for each key.
//!
//! | Field                  | Set by                       | Read by                           | Cleared by          |
//! |------------------------|------------------------------|-----------------------------------|---------------------|
//! | `any_resolvable`       | `note_kind`                  | `overtaken_at`, `undecided_since` | -                   |
//! | `touched_by_owner`     | `note_references`            | `overtaken_at`                    | `forget_owner`      |
//! | `touched_by_resource`  | `note_references`, for those | `overtaken_at`                    | `forget_definition` |
//! |                        | `follow_definition` added    |                                   |                     |
//! | `any_definition`       | `note_decided`               | `overtaken_at`                    | -                   |
//! | `any_above_others`     | `note_decided`               | `overtaken_at`, `undecided_since` | -                   |
//! | `any_emptied`          | `note_decided`, of a removal | `overtaken_at`, `undecided_since` | -                   |
//! | `emptied_by_container` | `note_decided`, of a removal | `undecided_since`                 | `forget_container`  |
//!
//! [`apply`](crate::apply) comes here on these ways, in this order:
//! - It stores or removes the object (`put` and `take` of [`State`]). That calls `forget_owner` for one that is no
//!   longer held, and `forget_container`.
//! - It reads a definition (`note_definition`). That calls `note_kind`, `follow_definition` and `forget_definition`.
//! - It calls `note_references`, then `note_decided`.
//!
//! A decision asks `overtaken_at` before it releases an owner, and `undecided_since` before each step that was planned.

use super::{State, owner_of_edge};
use crate::Revision;
use crate::classify::{Influence, find_owner, influence_on, is_undecided_by};
use crate::command::Basis;
use crate::event::{Cause, Commit, Event, OwnerClass};
use crate::kind::{GroupResource, Kind};
use crate::object::{Object, ObjectKey, OwnerReference, Uid};
use imbl::OrdMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many objects above one are looked at.
pub const ABOVE_MAX: usize = 1_000;

/// How many owner references of these are looked at, and those of one more object: as many as the largest object has. So
/// one object alone is never too much, which would keep all below it waiting for a moment without requests.
pub const REFERENCES_ABOVE_MAX: usize = 1 << 16;

/// How many objects above one are looked at for definitions that are being deleted. While there is one, every commit
/// that changes references looks.
pub(crate) const ABOVE_MAX_FOR_DEFINITIONS: usize = 64;

/// How many owner references of these, at most.
const REFERENCES_MAX_FOR_DEFINITIONS: usize = 1_000;

#[cfg(test)]
thread_local! {
    /// How many owner references this thread has looked up, and how many objects it has passed on the way up from
    /// planned steps.
    pub(crate) static PASSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What keeps a planned step from being carried out.
#[derive(Debug)]
pub(crate) enum Obstacle<'a> {
    /// This object must be decided first.
    Undecided(&'a ObjectKey),
    /// [`ABOVE_MAX`] objects or more are above it, or more than [`REFERENCES_ABOVE_MAX`] references: whether one of them
    /// must be decided first is not known.
    TooMuchAbove,
}

/// The last commits after which a plan that was made before them has to be made again.
#[derive(Debug, Clone, Default)]
pub(super) struct Overtaken {
    /// The last commit by which references may have become resolvable.
    any_resolvable: Revision,
    /// By held owner: the last commit that changed its references, or other references of an object that refers
    /// to it. References to the owner itself that are new, or changed, are noted with the owner (`HeldOwner`).
    touched_by_owner: OrdMap<Uid, Revision>,
    /// By resource whose definition is being deleted: the last commit that changed the references of an object
    /// that refers to its kind, or to an unknown one of its group, or is below the definition.
    touched_by_resource: OrdMap<GroupResource, Revision>,
    /// The last request after which a definition may have to wait: about a definition, because these end in an order
    /// of their own, or about an object that the collector holds, or whose owner it holds.
    any_definition: Revision,
    /// The last request that changed the deletion or the owners of an object with dependents or contents.
    any_above_others: Revision,
    /// The last request that removed an object from a container that is being deleted. Other contents may have
    /// waited for that.
    any_emptied: Revision,
    /// The same by container.
    emptied_by_container: OrdMap<Uid, Revision>,
}

impl Overtaken {
    /// The last request about an object with dependents or contents.
    fn around_others(&self) -> Revision {
        self.any_above_others.max(self.any_emptied)
    }
}

impl State {
    /// The last commit that may have changed what is decided about objects that refer to this owner, or to
    /// the kind of this definition. A plan to release it that was made before that commit is stale.
    pub(crate) fn overtaken_at(&self, released: &Object) -> Revision {
        let overtaken = &self.overtaken;
        let as_owner = overtaken.touched_by_owner.get(&released.meta.uid).copied();
        let at = overtaken.any_resolvable.max(as_owner.unwrap_or_default());
        if !released.key.is_definition() {
            return at;
        }
        let resource = released.key.defined_resource();
        let as_definition = overtaken.touched_by_resource.get(&resource).copied();
        at.max(overtaken.any_definition)
            .max(overtaken.around_others())
            .max(as_definition.unwrap_or_default())
    }

    /// What must be decided before the planned step on these objects, because of a request since `basis`; `None` if the
    /// plan stands. One object alone is not in its own way. Of several, each may be above another.
    pub(crate) fn undecided_since<'a>(
        &'a self,
        keys: &[&'a ObjectKey],
        basis: &Basis,
    ) -> Option<Obstacle<'a>> {
        let overtaken = &self.overtaken;
        let since = basis.revision;
        if overtaken.around_others().max(overtaken.any_resolvable) <= since {
            return None;
        }
        let is_emptied = |one: &Object| {
            let marked = one.mark.is_some_and(|mark| mark.revision > since);
            let emptied = overtaken.emptied_by_container.get(&one.meta.uid);
            one.key.is_container() && (marked || emptied.is_some_and(|emptied| *emptied > since))
        };
        let named = basis.above.iter().filter_map(|key| self.get(key));
        let beside = keys.iter();
        let beside = beside.flat_map(|key| self.containers(key).chain(self.service_of(key)));
        let mut open: Vec<&Arc<Object>> = beside.chain(named).collect();
        let mut seen: BTreeSet<&ObjectKey> = match keys {
            [alone] => BTreeSet::from([*alone]),
            _ => BTreeSet::new(),
        };
        let mut references = 0;
        while let Some(at) = open.pop() {
            #[cfg(test)]
            PASSED.set(PASSED.get() + 1);
            if !seen.insert(&at.key) {
                continue;
            }
            if references > REFERENCES_ABOVE_MAX {
                return Some(Obstacle::TooMuchAbove);
            }
            let influence = influence_on(at);
            let owners = self.owners_in(at, influence);
            references += owners.len();
            let classes = owners.iter().map(|(class, _)| *class);
            let decides = is_emptied(at) || is_undecided_by(self, at, classes);
            if decides {
                return Some(Obstacle::Undecided(&at.key));
            }
            if seen.len() > ABOVE_MAX {
                return Some(Obstacle::TooMuchAbove);
            }
            if influence == Influence::All {
                let named = owners.iter().filter_map(|(_, owner)| *owner);
                open.extend(named.chain(self.service_of(&at.key)));
            }
            if influence != Influence::Nothing {
                open.extend(self.containers(&at.key));
            }
        }
        None
    }

    /// What the references of an object point at, as far as they have influence on it. Each is looked up once: an object
    /// may have tens of thousands.
    fn owners_in(
        &self,
        object: &Object,
        influence: Influence,
    ) -> Vec<(OwnerClass, Option<&Arc<Object>>)> {
        if influence != Influence::All {
            return Vec::new();
        }
        let owners = object.owners().iter();
        owners
            .map(|owner| find_owner(self, object, owner))
            .collect()
    }

    /// Whether there are `Endpoints` that go with this `Service`.
    fn has_endpoints(&self, key: &ObjectKey) -> bool {
        key.endpoints().is_some_and(|key| self.get(&key).is_some())
    }

    /// Notes a request, or the work of a policy, that decides whether an object goes, once it has been applied.
    /// What the collector itself does was planned together with its other steps.
    pub(crate) fn note_decided(&mut self, commit: &Commit, previous: Option<&Object>) {
        let after = commit.object().map(|object| &**object);
        if was_planned(commit) || !goes_otherwise(previous, after) {
            return;
        }
        let mut versions = previous.into_iter().chain(after);
        if commit.key.is_definition() || versions.any(|one| self.is_or_has_held_owner(one)) {
            self.overtaken.any_definition = commit.revision;
        }
        let is_above_others = previous.is_some_and(|before| {
            before.key.is_container() || self.dependents(&before.meta.uid).all > 0
        });
        if is_above_others || self.has_endpoints(&commit.key) {
            self.overtaken.any_above_others = commit.revision;
        }
        if after.is_none() {
            self.note_removed(commit);
        }
    }

    /// Notes that a request removed an object.
    fn note_removed(&mut self, commit: &Commit) {
        let containers = self.containers(&commit.key);
        let deleting = containers.filter(|one| one.is_deleting());
        let deleting: Vec<Uid> = deleting.map(|one| one.meta.uid.clone()).collect();
        for container in deleting {
            self.overtaken.any_emptied = commit.revision;
            self.overtaken
                .emptied_by_container
                .insert(container, commit.revision);
        }
    }

    /// Whether the collector holds this object or an owner of it: when it releases that depends on this object.
    fn is_or_has_held_owner(&self, object: &Object) -> bool {
        let owners = object.owners().iter().map(|owner| &owner.uid);
        let mut uids = owners.chain([&object.meta.uid]);
        uids.any(|uid| self.is_held(uid))
    }

    /// Notes a commit that changes the references of an object, once it has been applied.
    pub(crate) fn note_references(&mut self, commit: &Commit) {
        if self.held_owners.is_empty() && self.overtaken.touched_by_resource.is_empty() {
            return;
        }
        let changes = |event: &Event| event.owner_change() != (None, None);
        let object = commit.object();
        let Some(object) = object.filter(|_| commit.events.iter().any(changes)) else {
            return;
        };
        if self.is_held(&object.meta.uid) {
            let uid = object.meta.uid.clone();
            self.overtaken.touched_by_owner.insert(uid, commit.revision);
        }
        let edges = commit.events.iter().filter_map(owner_of_edge);
        let edges: BTreeSet<&Uid> = edges.map(|owner| &owner.uid).collect();
        for owner in object.owners() {
            if !edges.contains(&owner.uid) && self.is_held(&owner.uid) {
                let uid = owner.uid.clone();
                self.overtaken.touched_by_owner.insert(uid, commit.revision);
            }
        }
        let mut touched = self.definitions_named_by(object.owners());
        touched.extend(self.definitions_above(object, was_planned(commit)));
        for definition in touched {
            if let Some(at) = self.overtaken.touched_by_resource.get_mut(&definition) {
                *at = commit.revision;
            }
        }
    }

    /// The resources of the kinds that these references name. For those to unknown kinds: the resources of their groups
    /// whose definitions are being deleted, because the end of one of these may make a kind known. Each group is looked
    /// at once: an object may have tens of thousands of references.
    fn definitions_named_by(&self, owners: &[OwnerReference]) -> BTreeSet<GroupResource> {
        let followed = &self.overtaken.touched_by_resource;
        let (mut named, mut groups) = (BTreeSet::new(), BTreeSet::new());
        if followed.is_empty() {
            return named;
        }
        for owner in owners {
            match self.kinds.named_by(owner) {
                Some(kind) => named.insert(kind.resource.clone()),
                None => groups.insert(owner.group()),
            };
        }
        for group in groups {
            let from_group = followed.range(GroupResource::new(group, "")..);
            let of_group = from_group.map(|(one, _)| {
                #[cfg(test)]
                PASSED.set(PASSED.get() + 1);
                one
            });
            let of_group = of_group.take_while(|one| &*one.group == group);
            named.extend(of_group.cloned());
        }
        named
    }

    /// The resources defined by definitions above this object. All whose definitions are being deleted, if too many
    /// objects or references are above it, or if a reference leads to no object: it may misspell an owner that only the
    /// collector finds, by its uid. In its own steps the collector has taken such owners into account.
    fn definitions_above(&self, object: &Arc<Object>, was_planned: bool) -> Vec<GroupResource> {
        let followed = &self.overtaken.touched_by_resource;
        if followed.is_empty() {
            return Vec::new();
        }
        let all = || followed.keys().cloned().collect();
        let mut seen = BTreeSet::from([&object.key]);
        let mut references = 0;
        let mut open = vec![object];
        let mut found = Vec::new();
        while let Some(at) = open.pop() {
            references += at.owners().len();
            if seen.len() > ABOVE_MAX_FOR_DEFINITIONS || references > REFERENCES_MAX_FOR_DEFINITIONS
            {
                return all();
            }
            if at.key.is_definition() {
                found.push(at.key.defined_resource());
            }
            for reference in at.owners() {
                let (_, owner) = find_owner(self, at, reference);
                if owner.is_none() && !was_planned {
                    return all();
                }
                open.extend(owner.filter(|one| seen.insert(&one.key)));
            }
            let beside = self.containers(&at.key).chain(self.service_of(&at.key));
            open.extend(beside.filter(|one| seen.insert(&one.key)));
        }
        found
    }

    /// Notes that references to this kind may have become resolvable, unless they were before.
    pub(super) fn note_kind(&mut self, before: Option<&Kind>, after: &Kind, at: Revision) {
        let already_served = |before: &Kind| {
            let mut versions = after.versions.iter().filter(|one| one.served);
            (before.kind == after.kind && before.scope == after.scope)
                && versions.all(|one| before.served(&one.name).is_some())
        };
        if !before.is_some_and(already_served) {
            self.overtaken.any_resolvable = at;
        }
    }

    /// Follows the definition of a resource, which is being deleted.
    pub(super) fn follow_definition(&mut self, resource: GroupResource) {
        self.overtaken
            .touched_by_resource
            .entry(resource)
            .or_insert(Revision::ZERO);
    }

    /// Forgets an owner that is no longer held.
    pub(super) fn forget_owner(&mut self, uid: &Uid) {
        self.overtaken.touched_by_owner.remove(uid);
        self.forget_latecomers(uid);
    }

    /// Forgets a container that is gone.
    pub(super) fn forget_container(&mut self, object: &Object) {
        if object.key.is_container() {
            self.overtaken.emptied_by_container.remove(&object.meta.uid);
        }
    }

    /// Forgets a definition that is gone.
    pub(super) fn forget_definition(&mut self, resource: &GroupResource) {
        self.overtaken.touched_by_resource.remove(resource);
    }
}

/// Whether this is a step of the collector, which was planned together with its others.
const fn was_planned(commit: &Commit) -> bool {
    matches!(commit.cause, Cause::Commit(_))
}

/// Whether the commit changes if or how the object is deleted, or who owns it.
fn goes_otherwise(before: Option<&Object>, after: Option<&Object>) -> bool {
    let course = |object: &Object| (object.mark, object.is_waiting(), object.is_orphaning());
    match (before, after) {
        (Some(before), Some(after)) => {
            course(before) != course(after) || before.owners() != after.owners()
        }
        (Some(_), None) | (None, Some(_)) => true,
        (None, None) => false,
    }
}
