//! The media types of patches. Source: upstream's `APIInstaller` and, for custom kinds, the builder of their
//! OpenAPI.

use hindsight_core::kind::{Kind, Origin};

/// A media type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchMedia {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchMedia {
    /// The media types with which objects of a kind can be patched. A strategic merge needs to know how lists
    /// merge, which is not known of custom kinds.
    pub(crate) const fn of(kind: &Kind) -> &'static [Self] {
        match kind.origin {
            Origin::Builtin => &[Self::Json, Self::Merge, Self::Strategic, Self::Apply],
            Origin::Custom { .. } => &[Self::Json, Self::Merge, Self::Apply],
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }

    /// The names of these media types.
    pub(crate) fn names(all: &[Self]) -> Vec<&'static str> {
        all.iter().map(|one| one.name()).collect()
    }
}
