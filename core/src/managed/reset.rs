//! What a write through a subresource does not change, and which fields it gives to no manager.
//! Source: `PrepareForUpdate` and `GetResetFields` of each strategy of upstream.

#[cfg(test)]
mod tests;

use crate::kind::{Kind, Subresource, Version};

const CERTIFICATES: &str = "certificates.k8s.io";
const STATUS: Option<Subresource> = Some(Subresource::Status);

/// The members of `metadata` that some kinds protect from writes to their status.
const METADATA: &[&str] = &["labels", "annotations", "finalizers", "ownerReferences"];

/// Built-in kinds for which a write to `/status` leaves some members of `metadata` unchanged.
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

/// Paths that a write gives to no manager, by endpoint, where these are not just `status` or
/// `spec`.
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
    // Its metadata can still be written here: this is how finalizers are removed.
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

/// Returns the members of `metadata` that a write to the status of a built-in kind leaves
/// unchanged.
pub(crate) fn kept(kind: &Kind) -> &'static [&'static str] {
    let (group, resource) = (&*kind.resource.group, &*kind.resource.resource);
    let mut rows = KEPT.iter();
    let row = rows.find(|row| (row.0, row.1) == (group, resource));
    row.map_or(&[], |row| row.2)
}

/// Returns the paths (names joined by dots) that a write through an endpoint gives to no manager.
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
