//! The state at one revision: what `decide` reads and `apply` changes. Cloning is cheap.

mod edges;
mod image;
mod latecomers;
mod overtaken;
mod parts_hasher;

pub use image::Image;
pub(crate) use overtaken::Obstacle;
pub use overtaken::{ABOVE_MAX, REFERENCES_ABOVE_MAX};
#[cfg(test)]
pub(crate) use overtaken::{ABOVE_MAX_FOR_DEFINITIONS, PASSED};

use crate::Revision;
use crate::custom::{is_served, kind_of_definition, schemas_of_definition};
use crate::event::{Commit, Event};
use crate::kind::{BuiltinKinds, GroupResource, Kinds, Schemas};
use crate::object::{Name, ORPHAN_FINALIZER, Object, ObjectKey, OwnerReference, Uid};
use crate::webhook::Webhooks;
use edges::{Dependents, Edges};
use imbl::{OrdMap, OrdSet};
use latecomers::Latecomers;
use overtaken::Overtaken;
use parts_hasher::PartsHasher;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// Orders after every possible name of a namespace.
const BEHIND_EVERY_NAMESPACE: &str = "\u{10ffff}";

/// The state at one revision. Its maps are persistent: a clone shares everything with the original.
#[derive(Debug, Clone)]
pub struct State {
    /// Revision of the last commit that was applied.
    pub revision: Revision,
    stored: OrdSet<Stored>,
    /// Every kind, built-in and custom.
    pub kinds: Kinds,
    /// Each definition in the last version that defined a served kind.
    accepted: OrdMap<GroupResource, Arc<Object>>,
    /// Webhook configurations: who has to be asked before writes.
    pub webhooks: Webhooks,
    /// Owners that a finalizer of the collector holds.
    pub(crate) held_owners: OrdMap<Uid, HeldOwner>,
    /// Counts of dependents by owner, and which of them are being deleted.
    edges: Edges,
    /// Number of objects in each namespace.
    populations: OrdMap<Name, u64>,
    /// The `Namespace` objects by name; every creation looks one up.
    namespaces: OrdMap<Name, Arc<Object>>,
    overtaken: Overtaken,
    latecomers: Latecomers,
}

/// An object, ordered by its key. Copying a node of the set copies one pointer for each object.
#[derive(Debug, Clone)]
struct Stored(Arc<Object>);

impl Stored {
    fn resource(&self) -> &GroupResource {
        &self.0.key.resource
    }
}

impl Borrow<ObjectKey> for Stored {
    fn borrow(&self) -> &ObjectKey {
        &self.0.key
    }
}

impl Ord for Stored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl PartialOrd for Stored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Stored {}

/// An owner in foreground or orphaning deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldOwner {
    /// The last commit that gave it a dependent, made a dependent block it, or made an `Event` refer to it. While it
    /// has dependents, a release that was planned before that commit is stale.
    pub(crate) since: Revision,
    /// Whether its dependents are to be orphaned; none of them may be collected then.
    pub(crate) orphaning: bool,
}

impl State {
    /// The state before the first commit.
    pub fn new(builtin: Arc<BuiltinKinds>) -> Self {
        Self {
            revision: Revision::ZERO,
            stored: OrdSet::new(),
            kinds: Kinds::new(builtin),
            accepted: OrdMap::new(),
            webhooks: Webhooks::default(),
            held_owners: OrdMap::new(),
            edges: Edges::default(),
            populations: OrdMap::new(),
            namespaces: OrdMap::new(),
            overtaken: Overtaken::default(),
            latecomers: Latecomers::default(),
        }
    }

    /// The object with this key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.stored.get(key).map(|stored| &stored.0)
    }

    /// The `Namespace` object with this name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<Object>> {
        self.namespaces.get(name)
    }

    /// All objects, in list order.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.stored.iter().map(|stored| &stored.0)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether there is no object at all.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Objects of one resource in list order, in one namespace or in all.
    pub fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        self.list_after(resource, namespace, None)
    }

    /// The same, but only those that come after the object of this namespace and name, which need not exist.
    pub fn list_after<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
        after: Option<(&str, &str)>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let key = |namespace, name| ObjectKey::new(resource.clone(), namespace, name);
        let first = Bound::Included(key(namespace.unwrap_or(""), ""));
        let after = after.filter(|(other, _)| namespace.is_none_or(|wanted| *other >= wanted));
        let start = after.map_or(first, |(namespace, name)| {
            Bound::Excluded(key(namespace, name))
        });
        self.stored
            .range((start, Bound::Unbounded))
            .map(|stored| &stored.0)
            .take_while(move |object| {
                object.key.resource == *resource
                    && namespace.is_none_or(|wanted| &*object.key.namespace == wanted)
            })
    }

    /// The instances of a definition. A definition over a built-in resource has none: it is never served,
    /// and the objects of the resource are not removed with it.
    ///
    /// Source: `OverlappingBuiltInResources` and `NeverEstablished` of upstream's `crd_finalizer.go`.
    pub fn instances(&self, definition: &ObjectKey) -> impl Iterator<Item = &Arc<Object>> {
        let resource = definition.defined_resource();
        let start = ObjectKey::new(resource.clone(), "", "");
        let first = self.stored.range(start..).next().map(Stored::resource);
        let kept = first.filter(|first| **first == resource && !self.kinds.is_builtin(&resource));
        kept.into_iter().flat_map(|kept| self.list(kept, None))
    }

    /// The definition of a resource; `None` for a built-in one.
    pub fn definition_of(&self, resource: &GroupResource) -> Option<&Arc<Object>> {
        if self.kinds.is_builtin(resource) {
            return None;
        }
        self.get(&ObjectKey::defining(resource))
    }

    /// What contains the object with this key, as far as that is an object: its namespace and the definition
    /// of its kind.
    pub fn containers(&self, key: &ObjectKey) -> impl Iterator<Item = &Arc<Object>> {
        let containers = [
            self.namespace(&key.namespace),
            self.definition_of(&key.resource),
        ];
        containers.into_iter().flatten()
    }

    /// The `Service` that takes these `Endpoints` along when it goes.
    pub fn service_of(&self, endpoints: &ObjectKey) -> Option<&Arc<Object>> {
        self.get(&endpoints.service()?)
    }

    /// Every object in a namespace, including those of kinds that are no longer served.
    pub fn contents<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.resources()
            .flat_map(move |resource| self.list(resource, Some(namespace)))
    }

    /// The resources that a namespace holds objects of.
    pub(crate) fn resources_in<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a GroupResource> {
        self.resources()
            .filter(move |resource| self.list(resource, Some(namespace)).next().is_some())
    }

    /// Every resource that has objects.
    fn resources(&self) -> impl Iterator<Item = &GroupResource> {
        let first = self.stored.get_min().map(Stored::resource);
        std::iter::successors(first, |last| {
            let behind = ObjectKey::new((*last).clone(), BEHIND_EVERY_NAMESPACE, "");
            self.stored.range(behind..).next().map(Stored::resource)
        })
    }

    /// The number of objects in this namespace.
    pub fn population(&self, namespace: &str) -> u64 {
        self.populations.get(namespace).copied().unwrap_or(0)
    }

    /// Counts of the objects that refer to this owner.
    pub(crate) fn dependents(&self, owner: &Uid) -> Dependents {
        self.edges.of(owner)
    }

    /// How many objects block the foreground deletion of this owner.
    pub fn blocker_count(&self, owner: &Uid) -> u64 {
        self.dependents(owner).blocking
    }

    /// The objects that block this owner and are being deleted.
    pub fn deleting_blockers(&self, owner: &Uid) -> impl Iterator<Item = &Arc<Object>> {
        self.edges
            .deleting_blockers(owner)
            .filter_map(|key| self.get(key))
    }

    /// Whether an object that refers to this owner waits for its own dependents.
    pub(crate) fn has_waiting_dependent(&self, owner: &Uid) -> bool {
        self.edges.has_waiting_dependent(owner)
    }

    /// A hash over the objects, when their deletion was first requested, and the owners that are held:
    /// equal logs give equal hashes. The reason of a deletion is not part of it.
    pub fn hash(&self) -> String {
        let mut hasher = PartsHasher::new();
        hasher.add(&self.revision.0.to_le_bytes());
        for object in self.objects() {
            let mark = object.mark.map_or(0, |mark| mark.revision.0);
            for part in object.key.parts() {
                hasher.add(part.as_bytes());
                hasher.add(&[0]);
            }
            hasher.add(&mark.to_le_bytes());
            hasher.add(&object.revision.0.to_le_bytes());
            hasher.add(&object.body);
        }
        for (uid, held) in &self.held_owners {
            hasher.add(uid.as_str().as_bytes());
            hasher.add(&held.since.0.to_le_bytes());
        }
        for definition in self.accepted.values() {
            hasher.add(&definition.revision.0.to_le_bytes());
        }
        hasher.finish().to_hex().to_string()
    }

    /// Whether both states are equal in everything that follows from the log, so that a state that was read
    /// back can be compared with one that never left memory. Not compared, because a state that was read back
    /// lacks them: since when a schema is unchanged, what overtakes plans, and latecomers.
    pub fn is_same(&self, other: &Self) -> bool {
        let mut objects = self.objects().zip(other.objects());
        self.revision == other.revision
            && self.len() == other.len()
            && objects.all(|(one, other)| one == other)
            && self.held_owners == other.held_owners
            && self.accepted == other.accepted
            && self.edges == other.edges
            && self.populations == other.populations
            && self.namespaces == other.namespaces
            && self.webhooks == other.webhooks
            && self.kinds.are_same(&other.kinds)
    }

    pub(crate) fn put(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let replaced = self.stored.insert(Stored(Arc::clone(object)));
        let before = replaced.as_ref().map(|stored| &*stored.0);
        self.edges.replace(before, Some(object));
        if object.key.is_namespace() {
            let name = Arc::clone(&object.key.name);
            self.namespaces.insert(name, Arc::clone(object));
        }
        if replaced.is_none() && !object.key.namespace.is_empty() {
            *self
                .populations
                .entry(Arc::clone(&object.key.namespace))
                .or_insert(0) += 1;
        }
        if waits_or_orphans(object) {
            let orphaning = object.meta.has_finalizer(ORPHAN_FINALIZER);
            let held = self.held_owners.entry(object.meta.uid.clone());
            held.or_insert(HeldOwner {
                since: object.revision,
                orphaning,
            })
            .orphaning = orphaning;
        } else if self.held_owners.remove(&object.meta.uid).is_some() {
            self.forget_owner(&object.meta.uid);
        }
        let before = replaced.map(|stored| stored.0);
        self.note_latecomer(before.as_deref(), Some(object));
        before
    }

    pub(crate) fn take(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let Stored(object) = self.stored.remove(key)?;
        if self.held_owners.remove(&object.meta.uid).is_some() {
            self.forget_owner(&object.meta.uid);
        }
        self.edges.replace(Some(&object), None);
        self.note_latecomer(Some(&object), None);
        self.forget_container(&object);
        if key.is_namespace() {
            self.namespaces.remove(&key.name);
        }
        let left = self.population(&key.namespace).saturating_sub(1);
        if left == 0 {
            self.populations.remove(&key.namespace);
        } else {
            self.populations.insert(Arc::clone(&key.namespace), left);
        }
        Some(object)
    }

    /// Whether a finalizer of the collector holds the owner with this uid.
    pub fn is_held(&self, owner: &Uid) -> bool {
        self.held_owners.contains_key(owner)
    }

    /// Whether the owner with this uid is orphaning its dependents.
    pub(crate) fn is_orphaning(&self, owner: &Uid) -> bool {
        let held = self.held_owners.get(owner);
        held.is_some_and(|held| held.orphaning)
    }

    /// Whether an owner of this object is orphaning its dependents. Owners orphan by uid, even if the reference
    /// misspells the rest.
    pub fn is_orphaned(&self, object: &Object) -> bool {
        let mut owners = object.owners().iter();
        owners.any(|owner| self.is_orphaning(&owner.uid))
    }

    /// Marks plans to release an owner as stale, if this commit gave the owner a new edge.
    pub(crate) fn note_held_owner(&mut self, commit: &Commit) {
        if self.held_owners.is_empty() {
            return;
        }
        for owner in commit.events.iter().filter_map(owner_of_edge) {
            if let Some(held) = self.held_owners.get_mut(&owner.uid) {
                held.since = commit.revision;
            }
        }
    }

    /// Updates the kind of a definition. A definition that cannot be read, or was never established, leaves
    /// its kind as it was.
    pub(crate) fn note_definition(&mut self, commit: &Commit, previous: Option<&Object>) {
        if !commit.key.is_definition() {
            return;
        }
        match (commit.object(), previous) {
            (Some(object), _) => self.define(object),
            (None, Some(_)) => {
                let resource = commit.key.defined_resource();
                self.kinds.remove(&resource);
                self.accepted.remove(&resource);
                self.forget_definition(&resource);
            }
            (None, None) => {}
        }
    }

    /// Defines the kind, or marks it as terminating: it does so while the object stored as its definition
    /// is being deleted, whatever that object says by then.
    fn define(&mut self, definition: &Arc<Object>) {
        let document = definition.document();
        let resource = definition.key.defined_resource();
        let deleting = self.get(&definition.key).is_some_and(|it| it.is_deleting());
        if is_served(&document)
            && let Some(kind) = kind_of_definition(&document, &definition.meta.uid, deleting)
        {
            let unchanged = self.unchanged_schemas(&resource, definition).cloned();
            let schemas = unchanged.unwrap_or_else(|| {
                let (by_version, patterns) = schemas_of_definition(&document);
                Arc::new(Schemas::new(by_version, patterns, definition.revision))
            });
            let before = self.kinds.custom(&resource).cloned();
            self.note_kind(before.as_deref(), &kind, definition.revision);
            self.accepted.insert(resource, Arc::clone(definition));
            self.kinds.define(kind, schemas);
        } else if deleting {
            self.kinds.terminate(&resource);
        }
        if deleting {
            self.follow_definition(definition.key.defined_resource());
        }
    }

    /// The schemas of this kind, if the definition does not change them. They change only with its
    /// generation.
    fn unchanged_schemas(
        &self,
        resource: &GroupResource,
        definition: &Object,
    ) -> Option<&Arc<Schemas>> {
        let wants = |object: &Object| (object.meta.uid.clone(), object.meta.generation);
        let known = self.accepted.get(resource)?;
        if wants(known) != wants(definition) {
            return None;
        }
        self.kinds.schemas(self.kinds.custom(resource)?)
    }
}

/// The owner to which this event adds an edge, or whose edge it changes.
const fn owner_of_edge(event: &Event) -> Option<&OwnerReference> {
    event.owner_change().1
}

fn waits_or_orphans(object: &Object) -> bool {
    object.is_waiting() || object.is_orphaning()
}

#[cfg(test)]
mod tests {
    use crate::testing::World;
    use serde_json::json;

    #[test]
    fn a_list_goes_on_after_any_place_whether_it_exists_or_not() {
        let mut world = World::new();
        for (namespace, name) in [("a", "m"), ("default", "b"), ("default", "d"), ("z", "a")] {
            if namespace != "default" {
                let namespace = json!({"metadata": {"name": namespace}});
                world.create("namespaces", namespace).expect("created");
            }
            let object = json!({"metadata": {"name": name}});
            let made = world.create_in(namespace, "configmaps", object);
            made.expect("created");
        }
        let resource = world.key("configmaps", "").resource;
        let places = ["", "a", "c", "default", "z", "zz"];
        let places = places
            .iter()
            .flat_map(|one| places.map(|other| (*one, other)));
        let all = |namespace| world.state.list(&resource, namespace);
        for after in places {
            for namespace in [None, Some("a"), Some("default"), Some("none")] {
                let rest = world.state.list_after(&resource, namespace, Some(after));
                let expected = all(namespace)
                    .filter(|object| (&*object.key.namespace, &*object.key.name) > after);
                let (rest, expected): (Vec<_>, Vec<_>) = (rest.collect(), expected.collect());
                assert_eq!(rest, expected, "{namespace:?} after {after:?}");
            }
        }
    }
}
