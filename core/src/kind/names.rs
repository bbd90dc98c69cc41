//! The names of kinds and resources, on the wire and in storage.

use crate::object::Name;
use std::fmt;

/// Group and plural resource: what a URL path names, and what storage is split by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: Name,
    /// Plural name, as `configmaps`.
    pub resource: Name,
}

impl GroupResource {
    /// A group and a plural resource.
    pub fn new(group: &str, resource: &str) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }

    /// Whether this is `events`, which take no part in garbage collection, as upstream. They are stored
    /// under the core group: the other one matters for what has not been mapped to storage yet.
    pub fn is_event(&self) -> bool {
        matches!(
            (&*self.group, &*self.resource),
            ("" | "events.k8s.io", "events")
        )
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.resource)
        } else {
            write!(f, "{}.{}", self.resource, self.group)
        }
    }
}

/// Group, version and kind: what a document names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// Empty for the core group.
    pub group: Name,
    /// Version, as `v1`.
    pub version: Name,
    /// Kind, as `ConfigMap`.
    pub kind: Name,
}

impl GroupVersionKind {
    /// Parses an `apiVersion`; `None` if its version is empty or it has two slashes.
    pub fn parse(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if version.is_empty() || version.contains('/') {
            return None;
        }
        Some(Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        })
    }

    /// The `apiVersion`: `v1` or `group/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}
