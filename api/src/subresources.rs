//! The subresources that clients are told of, by discovery and by OpenAPI.

use hindsight_core::kind::{GroupVersionKind, Kind, Version};

/// The output of a pod's container.
pub(crate) const LOG: &str = "log";

/// A subresource, as clients are told of it.
pub(crate) struct Told {
    pub(crate) name: &'static str,
    /// The kind of document that is exchanged.
    pub(crate) gvk: GroupVersionKind,
    pub(crate) verbs: &'static [&'static str],
}

/// Those of a version of a kind: its own, and what can be read of a pod although it is no part of the object.
pub(crate) fn of(kind: &Kind, version: &Version) -> impl Iterator<Item = Told> {
    let own = version.subresources.iter().map(|one| Told {
        name: one.name(),
        gvk: kind.document_gvk(&version.name, Some(*one)),
        verbs: one.verbs(),
    });
    let is_pod = (&*kind.resource.group, &*kind.resource.resource) == ("", "pods");
    let log = is_pod.then(|| Told {
        name: LOG,
        gvk: kind.document_gvk(&version.name, None),
        verbs: &["get"],
    });
    own.chain(log)
}
