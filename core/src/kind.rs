//! What kinds of objects exist, and how each behaves: the built-in table and the custom ones.

mod names;
mod preference;
mod registry;
mod subresource;

pub use names::{GroupResource, GroupVersionKind};
pub use preference::{Preference, Stability};
pub use registry::{BuiltinKinds, BuiltinSchemas, Kinds, Schemas};
pub use subresource::{ScalePaths, ScaleSelector, Subresource};

use crate::command::Propagation;
use crate::convert;
use crate::object::{Name, Uid};
use std::sync::Arc;

/// One kind, in all the versions that are served. Objects of all versions share one storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Group and plural: the storage identity.
    pub resource: GroupResource,
    /// The kind's name, `ConfigMap`.
    pub kind: Name,
    /// `ConfigMapList`.
    pub list_kind: Name,
    /// Singular, `configmap`.
    pub singular: Name,
    /// `cm`.
    pub short_names: Vec<Name>,
    /// `all`.
    pub categories: Vec<Name>,
    /// Namespaced or not.
    pub scope: Scope,
    /// Served and stored versions; of a custom kind in the order of its definition. Never empty.
    pub versions: Vec<Version>,
    /// What the type does differently.
    pub strategy: Strategy,
    /// Where its objects keep a pod, as `spec.template.spec`, if they keep one.
    pub pod: Option<Name>,
    /// Built in, or defined by an object.
    pub origin: Origin,
}

/// Whether objects live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every object has a namespace.
    Namespaced,
    /// No object has one.
    Cluster,
}

/// One version of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// `v1`.
    pub name: Name,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether objects are stored in it; true for exactly one.
    pub storage: bool,
    /// Its subresources beside the object itself.
    pub subresources: Vec<Subresource>,
    /// What its `Scale` maps to, where it has one.
    pub scale: Option<ScalePaths>,
    /// Printer columns of a custom kind; built-in kinds have theirs in the API surface.
    pub columns: Vec<PrinterColumn>,
    /// JSON paths that field selectors may use, besides name and namespace.
    pub selectable_fields: Vec<Name>,
    /// Said in a `Warning` header with every request to it.
    pub deprecation_warning: Option<Name>,
}

impl Version {
    /// Whether its status is written through an endpoint of its own, which the main one then ignores.
    pub(crate) fn has_status(&self) -> bool {
        self.serves(Some(Subresource::Status))
    }

    /// Whether this can be asked for; the object itself always can.
    pub fn serves(&self, subresource: Option<Subresource>) -> bool {
        subresource.is_none_or(|one| self.subresources.contains(&one))
    }

    /// Where its objects have the count that their `Scale` shows, where they have one.
    pub(crate) fn count_path(&self) -> Option<&str> {
        self.scale.as_ref().map(|paths| &*paths.wanted)
    }
}

/// A column that a custom kind asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: Name,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub type_name: Name,
    /// OpenAPI format, often empty.
    pub format: Name,
    /// Help text.
    pub description: Name,
    /// 0 is always shown; above 0 only when wide.
    pub priority: i64,
    /// Simple JSON path into the object.
    pub json_path: Name,
}

/// Type-specific behaviour. Source: the strategies of upstream's `pkg/registry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Whether it has rules that no other kind has.
    pub shape: Shape,
    /// Takes part in garbage collection; what does not (events) is deleted without a policy, and loses
    /// the finalizers of one.
    pub collected: bool,
    /// What a delete without a policy does to dependents.
    pub default_propagation: Propagation,
    /// Deletion waits for a grace period (Pod alone).
    pub graceful: bool,
    /// A finished deletion answers with the object rather than a `Status`.
    pub returns_object: bool,
    /// `PUT` without `resourceVersion` overwrites.
    pub unconditional_update: bool,
    /// `PUT` of a missing object creates it.
    pub create_on_update: bool,
    /// Which names are legal.
    pub names: NameRule,
    /// What moves `metadata.generation`.
    pub generation: Generation,
    /// Finalizers without a `/` must be standard ones.
    pub strict_finalizers: bool,
    /// All of them may be deleted with one request.
    pub collection_deletes: bool,
    /// Never stored: a review that is answered at once (`SubjectAccessReview`).
    pub review: bool,
    /// Its pods also mount what is claimed for each of them, which no template names (`StatefulSet`
    /// alone): whether a mounted volume is there is not asked.
    pub claims_volumes: bool,
}

/// What objects are beside documents: each shape but the plain one is a kind with rules of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing: the other columns say all of it.
    Plain,
    /// Holds other objects; goes when it is empty, and its list of finalizers is.
    Namespace,
    /// Makes a kind, which goes with its objects.
    Definition,
    /// Runs: new ones are pending.
    Pod,
    /// Runs pods to their end, and selects them by what it labels them with.
    Job,
    /// Loses what its new type has no use for.
    Service,
    /// Names who asks, and is judged through `/approval`.
    CertificateRequest,
}

/// What moves `metadata.generation`. A deletion moves it too, wherever there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Nothing: a new object keeps what it is sent with.
    Uncounted,
    /// From 1 on, whatever changes but metadata and status.
    Spec,
    /// The same, and the labels.
    SpecAndLabels,
    /// It is 1, and no update moves it.
    Still,
}

/// Which names a type accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// DNS-1123 subdomain, at most 253 bytes.
    Subdomain,
    /// DNS-1123 label, at most 63 bytes.
    Label,
    /// DNS-1035 label (Service).
    Label1035,
    /// Anything that is one path segment (RBAC).
    PathSegment,
    /// An IP address in its canonical form (`IPAddress`).
    Address,
}

/// Where a kind comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Part of the binary.
    Builtin,
    /// Defined by a `CustomResourceDefinition`.
    Custom {
        /// Identity of the definition.
        definition: Uid,
        /// Being removed: instances may not be created.
        terminating: bool,
    },
}

impl Kind {
    /// The version that objects are stored in.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }

    /// A version that requests may use.
    pub fn served(&self, version: &str) -> Option<&Version> {
        self.versions
            .iter()
            .find(|candidate| candidate.served && &*candidate.name == version)
    }

    /// The resource that objects are stored under; for events of either group the core one.
    pub fn stored_under(&self) -> GroupResource {
        convert::storage_of(&self.resource)
    }

    /// `v1` or `group/v1`.
    pub fn api_version(&self, version: &str) -> String {
        if self.resource.group.is_empty() {
            version.into()
        } else {
            format!("{}/{version}", self.resource.group)
        }
    }

    /// Whether objects live in a namespace.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Whether this is one of its names, in whatever case: plural, singular, kind or a short one.
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        *self.resource.resource == *name
            || *self.singular == *name
            || self.kind.to_lowercase() == name
            || self.short_names.iter().any(|short| **short == *name)
    }

    /// Whether it is defined by an object rather than by the binary.
    pub fn is_custom(&self) -> bool {
        matches!(self.origin, Origin::Custom { .. })
    }

    /// Whether its definition is going.
    pub fn is_going(&self) -> bool {
        matches!(
            self.origin,
            Origin::Custom {
                terminating: true,
                ..
            }
        )
    }
}

/// A kind, shared.
pub type KindRef = Arc<Kind>;
