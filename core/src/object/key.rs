//! Where an object lives: resource, namespace, name.

use crate::kind::GroupResource;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A shared, immutable string.
pub type Name = Arc<str>;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The key of an object. Orders as lists do: by resource, then namespace, then name, bytewise.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectKey {
    /// Group and plural resource.
    pub resource: GroupResource,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Name,
    /// `metadata.name`.
    pub name: Name,
}

impl ObjectKey {
    /// Makes a key; the namespace of a cluster-scoped object is empty.
    pub fn new(resource: GroupResource, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Whether an object with this key can have an owner in this namespace: its own, or none (empty) for
    /// owners that are cluster-scoped.
    pub fn reaches(&self, namespace: &str) -> bool {
        namespace.is_empty() || *namespace == *self.namespace
    }

    /// Group, resource, namespace and name, in the order in which they are stored and hashed.
    pub fn parts(&self) -> [&Name; 4] {
        let GroupResource { group, resource } = &self.resource;
        [group, resource, &self.namespace, &self.name]
    }

    /// The key of the `Namespace` with this name.
    pub fn namespace(name: &str) -> Self {
        Self::new(GroupResource::new("", "namespaces"), "", name)
    }

    /// The key of the definition (CRD) with this name; a definition is named after the resource it defines.
    pub fn definition(name: &str) -> Self {
        let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
        Self::new(definitions, "", name)
    }

    /// The key of the definition that this resource would have.
    pub fn defining(resource: &GroupResource) -> Self {
        Self::definition(&resource.to_string())
    }

    /// The key of the `Endpoints` of this `Service`; `None` for any other resource.
    pub fn endpoints(&self) -> Option<Self> {
        self.beside("services", "endpoints")
    }

    /// The key of the `Service` that these `Endpoints` belong to; `None` for any other resource.
    pub fn service(&self) -> Option<Self> {
        self.beside("endpoints", "services")
    }

    /// The key with the same name in another core resource, if this one is in `resource`.
    fn beside(&self, resource: &str, other: &str) -> Option<Self> {
        let is_it = (&*self.resource.resource, &*self.resource.group) == (resource, "");
        is_it.then(|| Self {
            resource: GroupResource::new("", other),
            ..self.clone()
        })
    }

    /// Whether this is the key of a `Namespace`.
    pub fn is_namespace(&self) -> bool {
        (&*self.resource.resource, &*self.resource.group) == ("namespaces", "")
    }

    /// Whether this is the key of a definition (CRD).
    pub fn is_definition(&self) -> bool {
        let resource = (&*self.resource.resource, &*self.resource.group);
        resource == ("customresourcedefinitions", "apiextensions.k8s.io")
    }

    /// Whether other objects are in this one: in a namespace its contents, in a definition its instances.
    pub fn is_container(&self) -> bool {
        self.is_namespace() || self.is_definition()
    }

    /// The resource that the definition with this key defines, from its name: `<plural>.<group>`.
    pub fn defined_resource(&self) -> GroupResource {
        let (resource, group) = self.name.split_once('.').unwrap_or((&self.name, ""));
        GroupResource::new(group, resource)
    }

    /// Whether this is a namespace that cannot be deleted.
    pub fn is_immortal(&self) -> bool {
        self.is_namespace() && IMMORTAL.contains(&&*self.name)
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.resource.group, &other.resource.group)
            .then_with(|| compare(&self.resource.resource, &other.resource.resource))
            .then_with(|| compare(&self.namespace, &other.namespace))
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares pointers first: the keys of one collection share their parts, so most comparisons need not look
/// at the text.
fn compare(one: &Name, other: &Name) -> Ordering {
    if Arc::ptr_eq(one, other) {
        Ordering::Equal
    } else {
        one.cmp(other)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.resource, self.name)
        } else {
            write!(f, "{} {}/{}", self.resource, self.namespace, self.name)
        }
    }
}
