//! Finds in the log since when the kinds of a state are served.

use super::{Arrivals, Edge, VersionedKind, references, served_names, versioned_kind_of};
use crate::ownership::OwnershipGraph;
use hindsight_core::{
    Commit, Event, Object, ObjectKey, OwnerReference, Revision, Uid, served_kind,
};
use std::collections::{BTreeMap, BTreeSet};

impl OwnershipGraph {
    /// The search for what [`Self::rebuild`] could not know. Since when a kind is served matters where an
    /// owner may be gone: objects whose owners are all there are left out.
    pub(in crate::ownership) fn arrival_search(&self) -> ArrivalSearch {
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
pub(in crate::ownership) struct ArrivalSearch {
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

    pub(in crate::ownership) fn is_empty(&self) -> bool {
        self.sought.is_empty()
    }

    /// Reads the next commit, backward; adds what it finds to `arrivals`.
    pub(in crate::ownership) fn read(&mut self, commit: &Commit, arrivals: &mut Arrivals) {
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
