//! The field labels that each kind supports, and where their values are. Source: the conversion
//! functions of upstream's API packages, and what its strategies call selectable.

use crate::kind::Kind;

/// Where the value of a label comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Name,
    Namespace,
    Body {
        /// JSON pointers; the first one that has a value is used.
        paths: Vec<String>,
        /// The value if there is none at these paths.
        default: &'static str,
    },
}

/// A label; the paths of its value, separated by `|`, if they differ from the label; the value if
/// absent.
type Field = (&'static str, &'static str, &'static str);

struct Row {
    group: &'static str,
    resource: &'static str,
    fields: &'static [Field],
}

const fn row(group: &'static str, resource: &'static str, fields: &'static [Field]) -> Row {
    Row {
        group,
        resource,
        fields,
    }
}

const ROWS: [Row; 12] = [
    row(
        "",
        "pods",
        &[
            ("spec.nodeName", "", ""),
            ("spec.host", "spec.nodeName", ""),
            ("spec.restartPolicy", "", ""),
            ("spec.schedulerName", "", ""),
            ("spec.serviceAccountName", "", ""),
            ("spec.hostNetwork", "", "false"),
            ("status.phase", "", ""),
            ("status.podIP", "status.podIPs.0.ip|status.podIP", ""),
            // Accepted, but no object has a value there.
            ("status.podIPs", "-", ""),
            ("status.nominatedNodeName", "", ""),
        ],
    ),
    row("", "nodes", &[("spec.unschedulable", "", "false")]),
    row("", "secrets", &[("type", "", "")]),
    row("", "namespaces", &[("status.phase", "", "")]),
    row(
        "",
        "services",
        &[("spec.clusterIP", "", ""), ("spec.type", "", "")],
    ),
    row(
        "",
        "replicationcontrollers",
        &[("status.replicas", "", "0")],
    ),
    row("apps", "replicasets", &[("status.replicas", "", "0")]),
    row(
        "batch",
        "jobs",
        &[("status.successful", "status.succeeded", "0")],
    ),
    row(
        "certificates.k8s.io",
        "certificatesigningrequests",
        &[("spec.signerName", "", "")],
    ),
    row(
        "resource.k8s.io",
        "resourceslices",
        &[("spec.nodeName", "", ""), ("spec.driver", "", "")],
    ),
    row(
        "",
        "events",
        &[
            ("involvedObject.kind", "", ""),
            ("involvedObject.namespace", "", ""),
            ("involvedObject.name", "", ""),
            ("involvedObject.uid", "", ""),
            ("involvedObject.apiVersion", "", ""),
            ("involvedObject.resourceVersion", "", ""),
            ("involvedObject.fieldPath", "", ""),
            ("reason", "", ""),
            ("reportingComponent", "", ""),
            ("source", "source.component|reportingComponent", ""),
            ("type", "", ""),
        ],
    ),
    row(
        "events.k8s.io",
        "events",
        &[
            ("regarding.kind", "involvedObject.kind", ""),
            ("regarding.namespace", "involvedObject.namespace", ""),
            ("regarding.name", "involvedObject.name", ""),
            ("regarding.uid", "involvedObject.uid", ""),
            ("regarding.apiVersion", "involvedObject.apiVersion", ""),
            (
                "regarding.resourceVersion",
                "involvedObject.resourceVersion",
                "",
            ),
            ("regarding.fieldPath", "involvedObject.fieldPath", ""),
            ("reason", "", ""),
            ("reportingController", "reportingComponent", ""),
            ("type", "", ""),
        ],
    ),
];

pub(super) fn source(label: &str, kind: &Kind, version: &str) -> Result<Source, String> {
    let resource = &kind.resource;
    let same = |row: &&Row| row.group == &*resource.group && row.resource == &*resource.resource;
    let row = ROWS.iter().find(same).filter(|_| !kind.is_custom());
    // Kinds without their own conversion support `metadata.namespace` even if they are
    // cluster-scoped.
    let namespace = kind.is_namespaced() || !(kind.is_custom() || row.is_some());
    let found = match label {
        "metadata.name" => Some(Source::Name),
        "metadata.namespace" if namespace => Some(Source::Namespace),
        _ if kind.is_custom() => selectable(label, kind, version),
        _ => row.and_then(|row| built_in(label, row)),
    };
    found.ok_or_else(|| match row {
        Some(row) if row.resource == "jobs" => format!("field label {label:?} not supported for Job"),
        Some(row) if row.resource == "resourceslices" => format!(
            "field label not supported for {}/{version}, Kind=ResourceSlice: {label}",
            row.group
        ),
        None if !kind.is_custom() => format!(
            "{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
        Some(_) | None => format!("field label not supported: {label}"),
    })
}

fn selectable(label: &str, kind: &Kind, version: &str) -> Option<Source> {
    let fields = &kind.served(version)?.selectable_fields;
    let same = |field: &&crate::object::Name| field.trim_start_matches('.') == label;
    fields.iter().find(same).map(|_| body(label, ""))
}

fn built_in(label: &str, row: &Row) -> Option<Source> {
    let (_, path, default) = row.fields.iter().find(|(known, ..)| *known == label)?;
    let path = if path.is_empty() { label } else { path };
    Some(body(path, default))
}

fn body(path: &str, default: &'static str) -> Source {
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    Source::Body {
        paths: path.split('|').map(pointer).collect(),
        default,
    }
}
