//! Subresources: the parts of an object with a path of their own, and the kind of document that each takes.

use super::{GroupVersionKind, Kind};
use crate::object::Name;
use crate::scale;
use std::sync::Arc;

/// A part of an object that is read or written by itself, or an action that is posted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// The observed state.
    Status,
    /// The number of replicas.
    Scale,
    /// The `spec.finalizers` of a namespace that is being deleted.
    Finalize,
    /// The approval or denial of a certificate request.
    Approval,
    /// The assignment of a pod to a node.
    Binding,
    /// The deletion of a pod, if its disruption budget allows it.
    Eviction,
}

impl Subresource {
    /// All subresources.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Scale,
        Self::Finalize,
        Self::Approval,
        Self::Binding,
        Self::Eviction,
    ];

    /// The path segment, which is also the name in `managedFields`.
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

    /// The variant with this path segment.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The kind of the document that is posted to it, if that is not a version of the object.
    pub(crate) fn posted_gvk(self) -> Option<GroupVersionKind> {
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

    /// The verbs that discovery lists for it.
    pub const fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Status | Self::Scale | Self::Approval => &["get", "patch", "update"],
            Self::Finalize => &["update"],
            Self::Binding | Self::Eviction => &["create"],
        }
    }
}

impl Kind {
    /// The kind of document that requests for an object exchange in this version; some subresources have a
    /// kind of their own.
    pub fn document_gvk(
        &self,
        version: &str,
        subresource: Option<Subresource>,
    ) -> GroupVersionKind {
        if let Some(posted) = subresource.and_then(Subresource::posted_gvk) {
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
    /// Path of the desired count.
    pub wanted: Name,
    /// Path of the observed count.
    pub observed: Name,
    /// Where the pod selector comes from.
    pub selector: ScaleSelector,
}

/// Where the selector of a `Scale` comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScaleSelector {
    /// There is no selector.
    None,
    /// A selector in text form at this path, if the object has one.
    Text(Name),
    /// `spec.selector`, which is a structured selector.
    Spec,
}
