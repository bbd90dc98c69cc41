//! Values as refusals show them: upstream's internal types have no JSON names, so their members appear under
//! the names that they have in Go, in the order of the type, and those that are unset as well. Source:
//! `ErrorBody` of apimachinery's `field`, and `pkg/apis/*/types.go`.

use super::Field;
use serde_json::Value;

/// The members of a type: their names in Go, their names in JSON, and how an unset one is shown.
type Members = [(&'static str, &'static str, &'static str)];

const TEXT: &str = "\"\"";
const NUMBER: &str = "0";
const NULL: &str = "null";

pub(super) const SERVICE_PORT: &Members = &[
    ("Name", "name", TEXT),
    ("Protocol", "protocol", TEXT),
    ("AppProtocol", "appProtocol", NULL),
    ("Port", "port", NUMBER),
    ("TargetPort", "targetPort", NUMBER),
    ("NodePort", "nodePort", NUMBER),
];
pub(super) const TAINT: &Members = &[
    ("Key", "key", TEXT),
    ("Value", "value", TEXT),
    ("Effect", "effect", TEXT),
    ("TimeAdded", "timeAdded", NULL),
];
pub(super) const NODE_ADDRESS: &Members = &[("Type", "type", TEXT), ("Address", "address", TEXT)];
pub(super) const ROLE_REF: &Members = &[
    ("APIGroup", "apiGroup", TEXT),
    ("Kind", "kind", TEXT),
    ("Name", "name", TEXT),
];
pub(super) const PARENT_REF: &Members = &[
    ("Group", "group", TEXT),
    ("Resource", "resource", TEXT),
    ("Namespace", "namespace", TEXT),
    ("Name", "name", TEXT),
];
pub(super) const STATEFUL_ROLLING: &Members = &[
    ("Partition", "partition", NUMBER),
    ("MaxUnavailable", "maxUnavailable", NULL),
];
pub(super) const SERVICE_RANGES: &Members = &[("CIDRs", "cidrs", NULL)];
/// The members of these members appear as they were sent.
pub(super) const SECURITY_CONTEXT: &Members = &[
    ("Capabilities", "capabilities", NULL),
    ("Privileged", "privileged", NULL),
    ("SELinuxOptions", "seLinuxOptions", NULL),
    ("WindowsOptions", "windowsOptions", NULL),
    ("RunAsUser", "runAsUser", NULL),
    ("RunAsGroup", "runAsGroup", NULL),
    ("RunAsNonRoot", "runAsNonRoot", NULL),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", NULL),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation", NULL),
    ("ProcMount", "procMount", NULL),
    ("SeccompProfile", "seccompProfile", NULL),
    ("AppArmorProfile", "appArmorProfile", NULL),
];
const REQUIREMENT: &Members = &[
    ("Key", "key", TEXT),
    ("Operator", "operator", TEXT),
    ("Values", "values", NULL),
];

/// Shows an object of a type.
pub(super) fn object(value: &Value, members: &Members) -> String {
    let show = |(go, name, unset): &(&str, &str, &str)| {
        let member = value.get(*name).filter(|member| !member.is_null());
        let member = member.map_or_else(|| (*unset).to_owned(), Value::to_string);
        format!("{go:?}:{member}")
    };
    let shown: Vec<String> = members.iter().map(show).collect();
    format!("{{{}}}", shown.join(","))
}

/// Shows a list; one that is not there is null.
fn list(value: &Value, show: impl Fn(&Value) -> String) -> String {
    let Some(items) = value.as_array() else {
        return NULL.into();
    };
    let shown: Vec<String> = items.iter().map(show).collect();
    format!("[{}]", shown.join(","))
}

/// Shows a term of a node selector.
pub(super) fn term(term: &Value) -> String {
    let requirements = |name: &str| {
        let listed = term.get(name).unwrap_or(&Value::Null);
        list(listed, |one| object(one, REQUIREMENT))
    };
    let (expressions, fields) = (
        requirements("matchExpressions"),
        requirements("matchFields"),
    );
    format!("{{\"MatchExpressions\":{expressions},\"MatchFields\":{fields}}}")
}

/// Shows the terms of a node selector.
pub(super) fn terms(terms: &Field<'_>) -> String {
    list(terms.value, term)
}

/// Shows on which nodes a volume can be used.
pub(super) fn volume_affinity(affinity: &Field<'_>) -> String {
    let required = affinity.child("required");
    if affinity.is_absent() {
        return NULL.into();
    }
    if required.is_absent() {
        return "{\"Required\":null}".into();
    }
    let terms = terms(&required.child("nodeSelectorTerms"));
    format!("{{\"Required\":{{\"NodeSelectorTerms\":{terms}}}}}")
}

/// Shows a list of texts; one that is not there is null.
pub(super) fn list_of(texts: &Field<'_>) -> String {
    list(texts.value, Value::to_string)
}

const SCOPE: &Members = &[
    ("ScopeName", "scopeName", TEXT),
    ("Operator", "operator", TEXT),
    ("Values", "values", NULL),
];

/// Shows the selector of a quota.
pub(super) fn scopes(expressions: &Field<'_>) -> String {
    let shown = list(expressions.value, |one| object(one, SCOPE));
    format!("{{\"MatchExpressions\":{shown}}}")
}

pub(super) const NODE_DRIVER: &Members = &[
    ("Name", "name", TEXT),
    ("NodeID", "nodeID", TEXT),
    ("TopologyKeys", "topologyKeys", NULL),
    ("Allocatable", "allocatable", NULL),
];
const SOURCE: &Members = &[
    ("PersistentVolumeName", "persistentVolumeName", NULL),
    ("InlineVolumeSpec", "inlineVolumeSpec", NULL),
];

/// Shows how a volume is attached.
pub(super) fn attachment(spec: &Field<'_>) -> String {
    let (attacher, node) = (spec.child("attacher"), spec.child("nodeName"));
    let source = object(spec.child("source").value, SOURCE);
    format!(
        "{{\"Attacher\":{:?},\"Source\":{source},\"NodeName\":{:?}}}",
        attacher.text(),
        node.text()
    )
}
