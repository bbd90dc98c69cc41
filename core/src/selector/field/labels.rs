//! The field labels that each kind supports, and where their values are. Source: the conversion
//! functions of upstream's API packages, and what its strategies call selectable.

use crate::kind::Kind;
use crate::object::Name;
use serde_json::Value;

/// Where the value of a label comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Name,
    Namespace,
    /// The body: the selectable field at this place among those of the kind's version.
    Body(usize),
}

/// A label; the paths of its value, separated by `|`, if they differ from the label; the value if
/// absent. The first path that has a value is used.
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
    let row = row_of(kind);
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

/// The values of the selectable fields of a kind's version in this document, each at its place.
pub(super) fn values(kind: &Kind, version: &str, document: &Value) -> Vec<Box<str>> {
    if kind.is_custom() {
        let fields = selectable_fields(kind, version).iter();
        return fields
            .map(|field| value_at(document, path_of(field), ""))
            .collect();
    }
    let fields = row_of(kind).map_or(&[][..], |row| row.fields).iter();
    let value = |(label, path, default): &Field| {
        let path = if path.is_empty() { label } else { path };
        value_at(document, path, default)
    };
    fields.map(value).collect()
}

/// The row of a built-in kind, if it has one.
fn row_of(kind: &Kind) -> Option<&'static Row> {
    let resource = &kind.resource;
    let same = |row: &&Row| row.group == &*resource.group && row.resource == &*resource.resource;
    ROWS.iter().find(same).filter(|_| !kind.is_custom())
}

fn selectable_fields<'a>(kind: &'a Kind, version: &str) -> &'a [Name] {
    let version = kind.served(version);
    version.map_or(&[], |version| &version.selectable_fields)
}

fn path_of(field: &Name) -> &str {
    field.trim_start_matches('.')
}

fn selectable(label: &str, kind: &Kind, version: &str) -> Option<Source> {
    let mut fields = selectable_fields(kind, version).iter();
    let place = fields.position(|field| path_of(field) == label)?;
    Some(Source::Body(place))
}

fn built_in(label: &str, row: &Row) -> Option<Source> {
    let mut fields = row.fields.iter();
    let place = fields.position(|(known, ..)| *known == label)?;
    Some(Source::Body(place))
}

/// The first value at these paths that is a non-empty scalar, as text.
fn value_at(document: &Value, paths: &str, default: &str) -> Box<str> {
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    let texts = paths
        .split('|')
        .filter_map(|path| match document.pointer(&pointer(path))? {
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_)) => Some(other.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        });
    let mut texts = texts.filter(|text| !text.is_empty());
    texts.next().map_or_else(|| default.into(), Into::into)
}
