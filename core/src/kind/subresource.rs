//! Subresources: what of an object has a path of its own, which kind is spoken there, and how.

use super::{GroupVersionKind, Kind};
use crate::object::Name;
use crate::scale;
use std::sync::Arc;

/// A part of an object that is read or written by itself, or what is posted to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// What is observed.
    Status,
    /// How many there are to be.
    Scale,
    /// What holds a namespace that is going.
    Finalize,
    /// The verdict on a certificate request.
    Approval,
    /// The node that a pod is to run on.
    Binding,
    /// The end of a pod, if its disruption budget allows it.
    Eviction,
}

impl Subresource {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Scale,
        Self::Finalize,
        Self::Approval,
        Self::Binding,
        Self::Eviction,
    ];

    /// Its path segment, which is also what `managedFields` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
        }
    }

    /// The one with this path segment.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The kind of what is posted to it, where that is no version of the object.
    pub fn posted(self) -> Option<GroupVersionKind> {
        let (group, kind) = match self {
            Self::Binding => ("", "Binding"),
            Self::Eviction => ("policy", "Eviction"),
            Self::Status | Self::Scale | Self::Finalize | Self::Approval => return None,
        };
        Some(GroupVersionKind {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
        })
    }

    /// What can be done with it, as discovery says it.
    pub const fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Status | Self::Scale | Self::Approval => &["get", "patch", "update"],
            Self::Finalize => &["update"],
            Self::Binding | Self::Eviction => &["create"],
        }
    }
}

impl Kind {
    /// What is spoken of an object in this version: of some subresources a kind of their own.
    pub fn spoken_at(&self, version: &str, subresource: Option<Subresource>) -> GroupVersionKind {
        if let Some(posted) = subresource.and_then(Subresource::posted) {
            return posted;
        }
        let (group, version, kind) = match subresource {
            Some(Subresource::Scale) => ("autoscaling".into(), "v1", scale::KIND.into()),
            _ => (
                Arc::clone(&self.resource.group),
                version,
                Arc::clone(&self.kind),
            ),
        };
        GroupVersionKind {
            group,
            version: version.into(),
            kind,
        }
    }
}

/// JSON paths into an object (as `.spec.replicas`) that its `Scale` maps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// Where the wanted count is.
    pub wanted: Name,
    /// Where the observed count is.
    pub observed: Name,
    /// Where the selector of the pods is.
    pub selector: ScaleSelector,
}

/// Where a `Scale` has its selector from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleSelector {
    /// Nowhere.
    None,
    /// A text at this path, or none.
    Text(Name),
    /// `spec.selector`, which is a structure.
    Spec,
}
