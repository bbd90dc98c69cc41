//! Where an object lives: resource, namespace, name.

use crate::kind::GroupResource;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A shared, immutable string.
pub type Name = Arc<str>;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The key of an object. Orders as lists do: by resource, then namespace, then name, bytewise.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

    /// Whether this is a namespace that cannot be deleted.
    pub fn is_immortal(&self) -> bool {
        crate::state::is_namespace(self) && IMMORTAL.contains(&&*self.name)
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
