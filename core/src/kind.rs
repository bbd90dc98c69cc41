//! The kinds of objects, built-in and custom, and how each behaves.

mod names;
mod preference;
mod registry;
mod size;
mod subresource;

pub use names::{GroupResource, GroupVersionKind};
pub use preference::{Preference, Stability};
pub use registry::{BuiltinKinds, BuiltinSchemas, KindName, Kinds, Schemas};
pub use subresource::{ScalePaths, ScaleSelector, Subresource};

use crate::command::Propagation;
use crate::convert;
use crate::object::{Name, Uid};
use std::sync::Arc;

/// One kind in all its versions. Objects of all versions share one storage.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Group and plural: what storage is split by.
    pub resource: GroupResource,
    /// Name of the kind, as `ConfigMap`.
    pub kind: Name,
    /// Name of its lists, as `ConfigMapList`.
    pub list_kind: Name,
    /// Singular name, as `configmap`.
    pub singular: Name,
    /// Short names, as `cm`.
    pub short_names: Vec<Name>,
    /// Categories that clients may list by, as `all`.
    pub categories: Vec<Name>,
    /// Namespaced or cluster-scoped.
    pub scope: Scope,
    /// Served and stored versions; those of a custom kind in the order of its definition. Never empty.
    pub versions: Vec<Arc<Version>>,
    /// How the type differs from others.
    pub strategy: Strategy,
    /// Path of the pod specification in its objects, as `spec.template.spec`, if they have one.
    pub pod: Option<Name>,
    /// Whether the kind is built in, or defined by an object.
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
    /// Name of the version, as `v1`.
    pub name: Name,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether objects are stored in it; true for exactly one version.
    pub storage: bool,
    /// The subresources that it serves.
    pub subresources: Vec<Subresource>,
    /// What its `Scale` subresource maps to, if it has one.
    pub scale: Option<ScalePaths>,
    /// Printer columns of a custom kind; those of built-in kinds are in the `api` crate.
    pub columns: Vec<PrinterColumn>,
    /// JSON paths that field selectors may use, besides name and namespace.
    pub selectable_fields: Vec<Name>,
    /// Text of the `Warning` header that every request to this version gets.
    pub deprecation_warning: Option<Name>,
}

impl Version {
    /// Whether status is written through a subresource of its own; the main endpoint then ignores it.
    pub(crate) fn has_status(&self) -> bool {
        self.serves(Some(Subresource::Status))
    }

    /// Whether this subresource is served; the object itself (`None`) always is.
    pub fn serves(&self, subresource: Option<Subresource>) -> bool {
        subresource.is_none_or(|one| self.subresources.contains(&one))
    }

    /// Path of the count that the `Scale` of an object shows, if it has a `Scale`.
    pub(crate) fn count_path(&self) -> Option<&str> {
        self.scale.as_ref().map(|paths| &*paths.wanted)
    }
}

/// A printer column that the definition of a custom kind asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Column heading.
    pub name: Name,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub type_name: Name,
    /// OpenAPI format, often empty.
    pub format: Name,
    /// Help text of the column.
    pub description: Name,
    /// 0 is always shown; anything above 0 only in wide output.
    pub priority: i64,
    /// Simple JSON path into the object.
    pub json_path: Name,
}

/// Type-specific behaviour. Source: the strategies of upstream's `pkg/registry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// Which rules of its own the kind has, if any.
    pub shape: Shape,
    /// Takes part in garbage collection. Kinds that do not (events) are deleted without a propagation
    /// policy, and lose the finalizers that a policy sets.
    pub collected: bool,
    /// The propagation policy of a delete that names none.
    pub default_propagation: Propagation,
    /// Deletion observes a grace period (Pod alone).
    pub graceful: bool,
    /// The answer to a completed deletion is the object rather than a `Status`.
    pub returns_object: bool,
    /// A `PUT` without `resourceVersion` overwrites.
    pub unconditional_update: bool,
    /// A `PUT` of a missing object creates it.
    pub create_on_update: bool,
    /// Which names are valid.
    pub names: NameRule,
    /// What increments `metadata.generation`.
    pub generation: Generation,
    /// Finalizers without a `/` must be the standard ones.
    pub strict_finalizers: bool,
    /// A whole collection can be deleted with one request.
    pub collection_deletes: bool,
    /// Never stored: a review that is answered at once (as `SubjectAccessReview`).
    pub review: bool,
    /// A new object keeps the status that it was sent with, as a node that a kubelet registers. It has no
    /// manager even then.
    pub keeps_status: bool,
    /// Its pods also mount volumes that are claimed for each pod, by the names of its claim templates (`StatefulSet`
    /// alone).
    pub claims_volumes: bool,
}

/// Kinds with rules that the other fields of a strategy cannot express. Each shape but the plain one stands
/// for one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No rules of its own: the other fields say everything.
    Plain,
    /// Contains other objects; is removed once it is empty and `spec.finalizers` is too.
    Namespace,
    /// Defines a kind, which is removed with its instances.
    Definition,
    /// Runs containers: a new one is pending.
    Pod,
    /// Runs pods to completion, and selects them by labels that it gives them itself.
    Job,
    /// Counts the changes of its pod template in an annotation.
    DaemonSet,
    /// Says since when it has been in its phase (`PersistentVolume`).
    Volume,
    /// Says in two ways what it is filled from (`PersistentVolumeClaim`).
    Claim,
    /// Is available at once if no other server serves it (`APIService`).
    ApiService,
    /// Loses the fields that its new type has no use for.
    Service,
    /// Records who made the request, and is approved or denied through `/approval`.
    CertificateRequest,
}

/// What increments `metadata.generation`. A deletion does too, for objects that have a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Nothing: a new object keeps the generation that it was sent with.
    Uncounted,
    /// Any change outside of metadata and status; starts at 1.
    Spec,
    /// The same, and changes of labels; starts at 1.
    SpecAndLabels,
    /// The same, and changes of annotations through the object itself; starts at 1.
    SpecAndAnnotations,
    /// Nothing: it is 1 for good.
    Still,
}

/// Which names a type accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// DNS-1123 subdomain, at most 253 bytes.
    Subdomain,
    /// DNS-1123 label, at most 63 bytes.
    Label,
    /// Anything that is a single path segment (RBAC).
    PathSegment,
    /// An IP address in its canonical form (`IPAddress`).
    Address,
}

/// Where a kind comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Compiled into the binary.
    Builtin,
    /// Defined by a `CustomResourceDefinition`.
    Custom {
        /// Uid of the definition.
        definition: Uid,
        /// Whether the definition is being deleted; no instances may be created then.
        terminating: bool,
        /// How its objects get from one version into another.
        conversion: Conversion,
    },
}

/// How objects of a custom kind get from one version into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// A webhook would have to convert them. It is never called: they are served in the version in which they
    /// are stored alone.
    Webhook,
}

impl Kind {
    /// The version that objects are stored in.
    pub fn storage_version(&self) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.storage)
    }

    /// A served version, by name.
    pub fn served(&self, version: &str) -> Option<&Arc<Version>> {
        self.versions
            .iter()
            .find(|candidate| candidate.served && &*candidate.name == version)
    }

    /// The resource that objects are stored under; events of both groups are stored under the core one.
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

    /// Whether this is one of its names, ignoring case: plural, singular, kind or a short name.
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

    /// Whether it may take long to check an object: against the rules of its definition, or because it is one.
    pub fn is_long_to_check(&self) -> bool {
        self.is_custom() || self.strategy.shape == Shape::Definition
    }

    /// The uid of its definition, if an object defines it.
    pub fn definition(&self) -> Option<&Uid> {
        match &self.origin {
            Origin::Custom { definition, .. } => Some(definition),
            Origin::Builtin => None,
        }
    }

    /// Why objects can be neither shown nor read in this version, if only a conversion webhook could convert
    /// them. Begins as upstream's message does when the webhook cannot be reached
    /// (`pkg/apiserver/conversion/webhook_converter.go`).
    pub fn unconvertible(&self, version: &str) -> Option<String> {
        let Origin::Custom {
            conversion: Conversion::Webhook,
            ..
        } = self.origin
        else {
            return None;
        };
        let stored = self.storage_version().filter(|one| *one.name != *version)?;
        let (asked, stored) = (self.api_version(version), self.api_version(&stored.name));
        Some(format!(
            "conversion webhook for {asked}, Kind={} failed: this server calls no conversion webhooks; use {stored}, \
             in which these objects are stored",
            self.kind
        ))
    }

    /// Whether its definition is being deleted.
    pub fn is_terminating(&self) -> bool {
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
