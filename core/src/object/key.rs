//! Where an object lives: resource, namespace, name.

use crate::kind::GroupResource;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A shared, immutable string.
pub type Name = Arc<str>;

/// Coordinates of an object. Orders as lists do: by resource, then namespace, then name, bytewise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Group and plural resource.
    pub resource: GroupResource,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: Name,
    /// `metadata.name`.
    pub name: Name,
}

impl ObjectKey {
    /// The key of a namespaced object, or with an empty namespace of a cluster-scoped one.
    pub fn new(resource: GroupResource, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.into(),
            name: name.into(),
        }
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
