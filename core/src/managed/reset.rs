//! What a write through an endpoint leaves as it was, and what nobody comes to hold by it. Source:
//! `PrepareForUpdate` and `GetResetFields` of each strategy of upstream.

#[cfg(test)]
mod tests;

use crate::kind::{Kind, Subresource, Version};

const CERTIFICATES: &str = "certificates.k8s.io";
const STATUS: Option<Subresource> = Some(Subresource::Status);

/// Of the metadata, what a status has no say in where it is its own.
const METADATA: &[&str] = &["labels", "annotations", "finalizers", "ownerReferences"];

/// Built-in kinds whose `/status` leaves members of the metadata as they are.
const KEPT: &[(&str, &str, &[&str])] = &[
    ("", "pods", &["ownerReferences"]),
    ("apps", "deployments", &["labels"]),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        METADATA,
    ),
    ("apiregistration.k8s.io", "apiservices", METADATA),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", METADATA),
    (
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
        METADATA,
    ),
    ("networking.k8s.io", "servicecidrs", METADATA),
    ("resource.k8s.io", "resourceclaims", METADATA),
    ("storage.k8s.io", "volumeattachments", METADATA),
];

/// Paths that nobody holds by a write through an endpoint, where they are not only `status` or `spec`.
const UNOWNED: &[(&str, &str, Option<Subresource>, &[&str])] = &[
    (
        "",
        "pods",
        STATUS,
        &[
            "spec",
            "metadata.deletionTimestamp",
            "metadata.ownerReferences",
        ],
    ),
    ("apps", "deployments", STATUS, &["spec", "metadata.labels"]),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        STATUS,
        &["spec", "metadata"],
    ),
    // Its metadata is written all the same: so are finalizers taken off.
    (
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        STATUS,
        &["spec", "metadata"],
    ),
    (
        "apiregistration.k8s.io",
        "apiservices",
        STATUS,
        &["spec", "metadata"],
    ),
    (
        CERTIFICATES,
        "certificatesigningrequests",
        None,
        &["spec", "status"],
    ),
    (
        CERTIFICATES,
        "certificatesigningrequests",
        STATUS,
        &["spec", "status.conditions"],
    ),
    (
        CERTIFICATES,
        "certificatesigningrequests",
        Some(Subresource::Approval),
        &["spec", "status.certificate"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "flowschemas",
        STATUS,
        &["spec", "metadata"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
        STATUS,
        &["spec", "metadata"],
    ),
    (
        "resource.k8s.io",
        "resourceclaims",
        STATUS,
        &["spec", "metadata"],
    ),
    (
        "storage.k8s.io",
        "volumeattachments",
        STATUS,
        &["spec", "metadata"],
    ),
];

/// Members of a built-in kind's metadata that a write to its status leaves as they are.
pub(crate) fn kept(kind: &Kind) -> &'static [&'static str] {
    let (group, resource) = (&*kind.resource.group, &*kind.resource.resource);
    let mut rows = KEPT.iter();
    let row = rows.find(|row| (row.0, row.1) == (group, resource));
    row.map_or(&[], |row| row.2)
}

/// Paths that nobody comes to hold by a write through an endpoint, names joined by dots.
pub(crate) fn unowned(
    kind: &Kind,
    version: &Version,
    subresource: Option<Subresource>,
) -> &'static [&'static str] {
    let place = (&*kind.resource.group, &*kind.resource.resource, subresource);
    let mut rows = UNOWNED.iter();
    let row = rows.find(|row| (row.0, row.1, row.2) == place);
    match (row.filter(|_| !kind.is_custom()), subresource) {
        (Some(row), _) => row.3,
        (None, STATUS) if kind.is_custom() => &["spec", "metadata"],
        (None, STATUS) => &["spec"],
        (None, None) if version.has_status() => &["status"],
        (None, Some(Subresource::Finalize)) => &["status"],
        (None, _) => &[],
    }
}
