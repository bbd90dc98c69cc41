//! When custom kinds came to be served to which objects referred before. Only since then is it known what
//! became of the owners of these kinds.

#[cfg(test)]
mod tests;

use super::OwnershipGraph;
use super::kind_references::live_owners;
use hindsight_core::object::Name;
use hindsight_core::{
    Commit, Event, Kind, Object, ObjectKey, OwnerReference, Revision, State, Uid, served_kind,
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

    /// The search for what [`Self::rebuild`] could not know. Since when a kind is served matters where an
    /// owner may be gone: objects whose owners are all there are left out.
    pub(super) fn arrival_search(&self) -> ArrivalSearch {
        let mut search = ArrivalSearch::default();
        let served = self.arrivals.served.iter();
        let served = served.flat_map(|(key, names)| names.iter().map(move |name| (name, key)));
        let definitions: BTreeMap<&VersionedKind, &ObjectKey> = served.collect();
        if definitions.is_empty() {
            return search;
        }
        for (uid, object) in &self.objects {
            let custom = references(Some(object));
            let custom = custom.filter(|(name, _)| definitions.contains_key(name));
            let custom: Vec<(VersionedKind, &Uid)> = custom.collect();
            let mut owners = object.owners().iter();
            if custom.is_empty() || !owners.any(|one| self.may_be_gone(object, one)) {
                continue;
            }
            for (name, owner) in custom {
                if let Some(definition) = definitions.get(&name) {
                    search.add(name, definition, (uid.clone(), owner.clone()));
                }
            }
        }
        search
    }

    fn may_be_gone(&self, dependent: &Object, reference: &OwnerReference) -> bool {
        let Some(owner) = self.objects.get(&reference.uid) else {
            return true;
        };
        let is_named = owner.key.name == reference.name
            && owner.type_meta.kind == reference.kind
            && &*owner.key.resource.group == reference.group()
            && dependent.key.reaches(&owner.key.namespace);
        owner.is_waiting() || !is_named
    }
}

/// A search for arrivals that reads the log backward.
#[derive(Debug, Default)]
pub(super) struct ArrivalSearch {
    definitions: BTreeMap<ObjectKey, BTreeSet<VersionedKind>>,
    sought: BTreeMap<VersionedKind, Sought>,
    by_edge: BTreeMap<Edge, BTreeSet<VersionedKind>>,
}

#[derive(Debug, Default)]
struct Sought {
    /// It was served from here on, as far as was read.
    served_since: Option<Revision>,
    /// The references that were there as far back as was read.
    older: BTreeSet<Edge>,
    /// Those that came after the commit of the definition that will be read next, and before `served_since`.
    between: BTreeSet<Edge>,
}

impl Sought {
    fn is_over(&self) -> bool {
        self.older.is_empty() && self.between.is_empty()
    }

    /// A commit that adds this reference. If the definition was written since, it is not known yet whether
    /// the version was served before that.
    fn read_reference(&mut self, edge: Edge) {
        if self.older.remove(&edge) && self.served_since.is_some() {
            self.between.insert(edge);
        }
    }

    fn read_serving(&mut self, commit: &Commit) {
        self.served_since = Some(commit.revision);
        self.between.clear();
    }
}

impl ArrivalSearch {
    fn add(&mut self, name: VersionedKind, definition: &ObjectKey, edge: Edge) {
        let names = self.definitions.entry(definition.clone()).or_default();
        names.insert(name.clone());
        let names = self.by_edge.entry(edge.clone()).or_default();
        names.insert(name.clone());
        self.sought.entry(name).or_default().older.insert(edge);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sought.is_empty()
    }

    /// Reads the next commit, backward; adds what it finds to `arrivals`.
    pub(super) fn read(&mut self, commit: &Commit, arrivals: &mut Arrivals) {
        if self.is_empty() {
            return;
        }
        self.read_definition(commit, arrivals);
        for reference in new_references(commit) {
            let edge = (commit.uid.clone(), reference.uid.clone());
            let name = versioned_kind_of(reference);
            let names = self.by_edge.get(&edge);
            if names.is_some_and(|names| names.contains(&name))
                && let Some(sought) = self.sought.get_mut(&name)
            {
                sought.read_reference(edge);
                if sought.is_over() {
                    self.sought.remove(&name);
                }
            }
        }
    }

    fn read_definition(&mut self, commit: &Commit, arrivals: &mut Arrivals) {
        let Some(names) = self.definitions.get(&commit.key) else {
            return;
        };
        let served = commit.object().and_then(|object| served_kind(object));
        let served = served.map(|kind| served_names(&kind));
        let begins = commit.object().is_none() || commit.creates();
        for name in names {
            let Some(sought) = self.sought.get_mut(name) else {
                continue;
            };
            let serves = served.as_ref().map(|served| served.contains(name));
            if serves == Some(true) {
                sought.read_serving(commit);
            }
            let is_found = begins || serves == Some(false);
            if !is_found && !sought.is_over() {
                continue;
            }
            if let Some(mut found) = self.sought.remove(name)
                && let Some(at) = found.served_since
            {
                found.older.append(&mut found.between);
                arrivals.add(name.clone(), at, found.older);
            }
        }
    }
}

/// The references that the object of a commit did not have before in this version and kind.
fn new_references(commit: &Commit) -> Vec<&OwnerReference> {
    let Some(object) = commit.object() else {
        return Vec::new();
    };
    if commit.creates() {
        return object.owners().iter().collect();
    }
    let is_same = |one: &OwnerReference, other: &OwnerReference| {
        (one.uid == other.uid) && versioned_kind_of(one) == versioned_kind_of(other)
    };
    let changes = commit.events.iter().map(Event::owner_change);
    let given: Vec<_> = changes.filter_map(|(from, to)| Some((from, to?))).collect();
    let is_kept = |reference: &OwnerReference| {
        let mut others = object.owners().iter().filter(|one| is_same(one, reference));
        others.any(|one| given.iter().all(|(_, to)| *to != one))
    };
    let new = given.iter().filter(|(from, to)| {
        let is_respelt = from.is_some_and(|from| is_same(from, to));
        !is_respelt && !is_kept(to)
    });
    new.map(|(_, to)| *to).collect()
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
