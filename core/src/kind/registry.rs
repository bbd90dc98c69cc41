//! Lookup of kinds by resource and by name.

use super::{GroupResource, GroupVersionKind, Kind, KindRef, Origin, Subresource, Version};
use crate::memory::allocated;
use crate::object::{Name, OwnerReference};
use crate::schema::{Schema, pattern_bytes_max};
use crate::{Revision, convert};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Source of the schemas of built-in kinds; implemented by the crate that has them.
pub trait BuiltinSchemas: fmt::Debug + Send + Sync {
    /// The schema of a built-in kind's version, if one is known.
    fn schema(&self, kind: &GroupVersionKind) -> Option<Arc<Schema>>;
}

/// A kind, whatever its version: its group and its name.
pub type KindName = (Name, Name);

/// The built-in kinds.
#[derive(Debug)]
pub struct BuiltinKinds {
    by_resource: BTreeMap<GroupResource, Builtin>,
    by_name: BTreeMap<KindName, GroupResource>,
    schemas: Option<Box<dyn BuiltinSchemas>>,
    /// Schemas of the documents that are posted to a pod's subresources, made when first needed.
    posted_schemas: [(Subresource, OnceLock<Option<Arc<Schema>>>); 2],
}

#[derive(Debug)]
struct Builtin {
    kind: KindRef,
    /// One for each version, made when first needed.
    schemas: Vec<OnceLock<Option<Arc<Schema>>>>,
}

impl Builtin {
    fn new(kind: Kind) -> Self {
        let schemas = kind.versions.iter().map(|_| OnceLock::new()).collect();
        Self {
            kind: Arc::new(kind),
            schemas,
        }
    }
}

impl BuiltinKinds {
    /// Makes the table of kinds. Without schemas, bodies of built-in kinds are accepted unchecked.
    pub fn new(kinds: Vec<Kind>, schemas: Option<Box<dyn BuiltinSchemas>>) -> Self {
        let by_name = kinds
            .iter()
            .map(|kind| (name_of(kind), kind.resource.clone()))
            .collect();
        let by_resource = kinds
            .into_iter()
            .map(|kind| (kind.resource.clone(), Builtin::new(kind)))
            .collect();
        Self {
            by_resource,
            by_name,
            schemas,
            posted_schemas: [Subresource::Binding, Subresource::Eviction]
                .map(|one| (one, OnceLock::new())),
        }
    }

    fn posted_schema(&self, to: Subresource) -> Option<&Arc<Schema>> {
        let (_, made) = self.posted_schemas.iter().find(|(one, _)| *one == to)?;
        let make = || self.schemas.as_ref()?.schema(&to.posted_gvk()?);
        made.get_or_init(make).as_ref()
    }

    fn schema(&self, kind: &Kind, version: &str) -> Option<&Arc<Schema>> {
        let builtin = self.by_resource.get(&kind.resource)?;
        let index = kind.versions.iter().position(|one| &*one.name == version)?;
        let made = builtin.schemas.get(index)?.get_or_init(|| {
            self.schemas.as_ref()?.schema(&GroupVersionKind {
                group: Arc::clone(&kind.resource.group),
                version: version.into(),
                kind: Arc::clone(&kind.kind),
            })
        });
        made.as_ref()
    }
}

/// Every kind at one revision: the built-in ones and those that definitions add.
#[derive(Debug, Clone)]
pub struct Kinds {
    builtin: Arc<BuiltinKinds>,
    custom: imbl::OrdMap<GroupResource, Custom>,
    custom_names: imbl::OrdMap<KindName, GroupResource>,
}

#[derive(Debug, Clone)]
struct Custom {
    kind: KindRef,
    schemas: Arc<Schemas>,
}

/// The schemas that a definition has for the instances of its kind.
#[derive(Debug)]
pub struct Schemas {
    /// Schemas by version.
    by_version: BTreeMap<Arc<str>, Arc<Schema>>,
    /// About how many bytes they take in memory.
    estimated_bytes: usize,
    /// A revision since which they have not changed. It may differ between two states that are otherwise
    /// equal.
    pub(crate) since: Revision,
}

impl Schemas {
    /// Schemas whose patterns take so many bytes at most.
    pub(crate) fn new(
        by_version: BTreeMap<Arc<str>, Arc<Schema>>,
        patterns: usize,
        since: Revision,
    ) -> Self {
        let schema = |(name, schema): (&Arc<str>, &Arc<Schema>)| {
            allocated(name.len()) + allocated(schema.estimated_bytes())
        };
        let schemas: usize = by_version.iter().map(schema).sum();
        let literals = by_version.values().map(|schema| schema.literals_max());
        let literals = pattern_bytes_max(literals.sum());
        Self {
            by_version,
            estimated_bytes: schemas + patterns + literals,
            since,
        }
    }

    /// The schema of a version, if the definition still has it.
    pub(crate) fn of(&self, version: &str) -> Option<&Arc<Schema>> {
        self.by_version.get(version)
    }
}

impl Kinds {
    /// Whether both have the same kinds. Since when their schemas are unchanged may differ.
    pub(crate) fn are_same(&self, other: &Self) -> bool {
        let kinds = |of: &Self| -> Vec<KindRef> {
            let custom = of.custom.values();
            custom.map(|custom| Arc::clone(&custom.kind)).collect()
        };
        kinds(self) == kinds(other) && self.custom_names == other.custom_names
    }

    /// Starts with the built-in kinds only.
    pub fn new(builtin: Arc<BuiltinKinds>) -> Self {
        Self {
            builtin,
            custom: imbl::OrdMap::new(),
            custom_names: imbl::OrdMap::new(),
        }
    }

    /// The built-in kinds.
    pub const fn builtin(&self) -> &Arc<BuiltinKinds> {
        &self.builtin
    }

    /// The kind with this group and plural.
    pub fn by_resource(&self, resource: &GroupResource) -> Option<&KindRef> {
        let builtin = self.builtin.by_resource.get(resource);
        builtin
            .map(|builtin| &builtin.kind)
            .or_else(|| self.custom(resource))
    }

    /// The kind of another group that serves the same objects, if there is one.
    pub fn cohabitant(&self, kind: &Kind) -> Option<&KindRef> {
        self.by_resource(&convert::cohabitant(&kind.resource)?)
    }

    /// Whether the resource is built in, so that no definition is needed for it.
    pub(crate) fn is_builtin(&self, resource: &GroupResource) -> bool {
        self.builtin.by_resource.contains_key(resource)
    }

    /// The kind and version that a command names. The version has a group in front if the request named
    /// another group than the one the resource is stored under.
    pub fn resolve(&self, stored: &GroupResource, version: &str) -> Option<(&KindRef, &Version)> {
        let (kind, version) = match version.split_once('/') {
            Some((group, version)) => {
                let named = GroupResource::new(group, &stored.resource);
                (self.by_resource(&named)?, version)
            }
            None => (self.by_resource(stored)?, version),
        };
        Some((kind, kind.served(version)?))
    }

    /// The kind with this group and name, whatever the version.
    pub fn by_kind(&self, group: &str, kind: &str) -> Option<&KindRef> {
        let name: KindName = (group.into(), kind.into());
        let resource = self
            .builtin
            .by_name
            .get(&name)
            .or_else(|| self.custom_names.get(&name));
        self.by_resource(resource?)
    }

    /// The kind that a reference names, whatever the version.
    pub fn named_by(&self, owner: &OwnerReference) -> Option<&KindRef> {
        self.by_kind(owner.group(), &owner.kind)
    }

    /// The kind of a body's `apiVersion` and `kind`; the version must be served.
    pub fn by_gvk(&self, gvk: &GroupVersionKind) -> Option<&KindRef> {
        self.by_kind(&gvk.group, &gvk.kind)
            .filter(|kind| kind.served(&gvk.version).is_some())
    }

    /// All kinds, built-in first.
    pub fn iter(&self) -> impl Iterator<Item = &KindRef> {
        self.builtin
            .by_resource
            .values()
            .map(|builtin| &builtin.kind)
            .chain(self.custom.values().map(|custom| &custom.kind))
    }

    /// The schema of one version of a kind.
    pub fn schema(&self, kind: &Kind, version: &str) -> Option<&Arc<Schema>> {
        if kind.is_custom() {
            return self.schemas(kind)?.of(version);
        }
        self.builtin.schema(kind, version)
    }

    /// A custom kind.
    pub(crate) fn custom(&self, resource: &GroupResource) -> Option<&KindRef> {
        self.custom.get(resource).map(|custom| &custom.kind)
    }

    /// All schemas that the definition of a custom kind has; `None` for a built-in kind.
    pub(crate) fn schemas(&self, kind: &Kind) -> Option<&Arc<Schemas>> {
        if !kind.is_custom() {
            return None;
        }
        self.custom
            .get(&kind.resource)
            .map(|custom| &custom.schemas)
    }

    /// About how many bytes were made of a definition that these kinds hold and later ones no longer share.
    pub fn replaced_bytes(&self, later: &Self, resource: &GroupResource) -> usize {
        let Some(custom) = self.custom.get(resource) else {
            return 0;
        };
        let later = later.custom.get(resource);
        let keeps_schemas = later.is_some_and(|one| Arc::ptr_eq(&one.schemas, &custom.schemas));
        let schemas = if keeps_schemas {
            0
        } else {
            custom.schemas.estimated_bytes
        };
        let keeps_kind = later.is_some_and(|one| Arc::ptr_eq(&one.kind, &custom.kind));
        let kind = if keeps_kind {
            0
        } else {
            custom.kind.estimated_bytes()
        };
        schemas + kind
    }

    /// The schema of what is posted to this subresource, if that is a document of its own kind.
    pub fn posted_schema(&self, to: Subresource) -> Option<&Arc<Schema>> {
        self.builtin.posted_schema(to)
    }

    /// Adds or replaces a custom kind.
    pub(crate) fn define(&mut self, kind: Kind, schemas: Arc<Schemas>) {
        let resource = kind.resource.clone();
        self.remove(&resource);
        self.custom_names.insert(name_of(&kind), resource.clone());
        self.custom.insert(
            resource,
            Custom {
                kind: Arc::new(kind),
                schemas,
            },
        );
    }

    /// Marks a custom kind as terminating: its definition is being deleted.
    pub(crate) fn terminate(&mut self, resource: &GroupResource) {
        let custom = self.custom.get_mut(resource);
        let Some(kind) = custom.map(|custom| Arc::make_mut(&mut custom.kind)) else {
            return;
        };
        if let Origin::Custom { terminating, .. } = &mut kind.origin {
            *terminating = true;
        }
    }

    /// Removes a custom kind.
    pub(crate) fn remove(&mut self, resource: &GroupResource) {
        if let Some(custom) = self.custom.remove(resource) {
            self.custom_names.remove(&name_of(&custom.kind));
        }
    }
}

fn name_of(kind: &Kind) -> KindName {
    (Arc::clone(&kind.resource.group), Arc::clone(&kind.kind))
}
