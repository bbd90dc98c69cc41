//! When custom kinds came to be served to which objects referred before. Only since then is it known what
//! became of the owners of these kinds. Who follows the log sees it from commit to commit; who begins with a state
//! searches the log backward for it.

mod search;
#[cfg(test)]
mod tests;

use super::OwnershipGraph;
use super::kind_references::live_owners;
use hindsight_core::object::Name;
use hindsight_core::{
    Commit, Kind, Object, ObjectKey, OwnerReference, Revision, State, Uid, served_kind,
};
use std::collections::{BTreeMap, BTreeSet};

/// A version of a kind as references name it: `apiVersion` and `kind`.
pub(crate) type VersionedKind = (Name, Name);

/// A dependent, and the owner that it refers to.
type Edge = (Uid, Uid);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrival {
    at: Revision,
    /// References of live objects that are older than that.
    older: BTreeSet<Edge>,
}

/// What definitions serve, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arrivals {
    served: BTreeMap<ObjectKey, BTreeSet<VersionedKind>>,
    /// Versions of kinds to which there are older references.
    arrived: BTreeMap<VersionedKind, Arrival>,
}

impl Arrivals {
    /// What this state serves. Since when, the log shows.
    pub(super) fn of(state: &State) -> Self {
        let custom = state.kinds.iter().filter(|kind| kind.is_custom());
        let served = custom.map(|kind| {
            let definition = ObjectKey::defining(&kind.resource);
            (definition, served_names(kind))
        });
        Self {
            served: served.collect(),
            arrived: BTreeMap::new(),
        }
    }

    /// Replaces a version of an object by the next: references that it has no more are forgotten.
    pub(super) fn replace(&mut self, uid: &Uid, before: Option<&Object>, after: Option<&Object>) {
        if self.arrived.is_empty() {
            return;
        }
        let kept: BTreeSet<(VersionedKind, &Uid)> = references(after).collect();
        for (name, owner) in references(before).filter(|one| !kept.contains(one)) {
            if let Some(arrival) = self.arrived.get_mut(&name) {
                arrival.older.remove(&(uid.clone(), owner.clone()));
                if arrival.older.is_empty() {
                    self.arrived.remove(&name);
                }
            }
        }
    }

    fn forget<'a>(&mut self, names: impl IntoIterator<Item = &'a VersionedKind>) {
        for name in names {
            self.arrived.remove(name);
        }
    }

    fn add(&mut self, name: VersionedKind, at: Revision, older: BTreeSet<Edge>) {
        if !older.is_empty() {
            self.arrived.insert(name, Arrival { at, older });
        }
    }
}

impl OwnershipGraph {
    /// The commit since which the kind of this reference is served, if this dependent had the reference
    /// before.
    pub fn arrived_at(&self, reference: &OwnerReference, dependent: &Uid) -> Option<Revision> {
        let arrival = self.arrivals.arrived.get(&versioned_kind_of(reference))?;
        let edge = (dependent.clone(), reference.uid.clone());
        arrival.older.contains(&edge).then_some(arrival.at)
    }

    /// Notes what a definition serves from this commit on. One whose names are not accepted changes
    /// nothing.
    pub(super) fn define(&mut self, commit: &Commit) {
        if !commit.key.is_definition() {
            return;
        }
        let Some(object) = commit.object() else {
            let before = self.arrivals.served.remove(&commit.key);
            self.arrivals.forget(before.iter().flatten());
            return;
        };
        let Some(kind) = served_kind(object) else {
            return;
        };
        let served = served_names(&kind);
        let known = &mut self.arrivals.served;
        let before = known.insert(commit.key.clone(), served.clone());
        let before = before.unwrap_or_default();
        self.arrivals.forget(before.difference(&served));
        for name in served.difference(&before) {
            let older = self.edges_to(&kind, name);
            self.arrivals.add(name.clone(), commit.revision, older);
        }
    }

    fn edges_to(&self, kind: &Kind, name: &VersionedKind) -> BTreeSet<Edge> {
        let dependents = self.dependents_of_kind(kind);
        let dependents = dependents.filter_map(|uid| Some((uid, self.objects.get(uid)?)));
        let edges = dependents.flat_map(|(uid, dependent)| {
            let owners = dependent
                .owners()
                .iter()
                .filter(|one| versioned_kind_of(one) == *name);
            owners.map(|one| (uid.clone(), one.uid.clone()))
        });
        edges.collect()
    }
}

/// The references of a live object; nothing is decided about the owners of one in deletion.
fn references(object: Option<&Object>) -> impl Iterator<Item = (VersionedKind, &Uid)> {
    live_owners(object)
        .iter()
        .map(|one| (versioned_kind_of(one), &one.uid))
}

/// The name that a reference gives the kind of its owner.
pub(crate) fn versioned_kind_of(reference: &OwnerReference) -> VersionedKind {
    (reference.api_version.clone(), reference.kind.clone())
}

/// The names of the served versions of a kind.
pub(crate) fn served_names(kind: &Kind) -> BTreeSet<VersionedKind> {
    let served = kind.versions.iter().filter(|version| version.served);
    let names = served.map(|version| {
        let version = kind.api_version(&version.name);
        (Name::from(version), kind.kind.clone())
    });
    names.collect()
}
