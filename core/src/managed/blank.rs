//! The structures, lists and zeros that an object of a built-in kind has before a client sets anything, because its
//! Go type cannot be without them. No manager owns these themselves, only fields and items in them, and values that
//! are not zero.
//! Source: fields of upstream's types that are structs, not pointers; its OpenAPI document gives
//! them the default `{}`.

#[cfg(test)]
mod tests;

use crate::document::text;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `group Kind path ...`, with `-` for the core group. A structure comes before those inside it.
const STRUCTURES: &str = "\
- Event /involvedObject /source
- LimitRange /spec
- Namespace /spec /status
- Node /spec /status /status/daemonEndpoints /status/daemonEndpoints/kubeletEndpoint /status/nodeInfo
- PersistentVolume /spec /status
- PersistentVolumeClaim /spec /spec/resources /status
- Pod /spec /status
- PodTemplate /template /template/metadata /template/spec
- ReplicationController /spec /status
- ResourceQuota /spec /status
- Service /spec /status /status/loadBalancer
admissionregistration.k8s.io ValidatingAdmissionPolicy /spec /status
admissionregistration.k8s.io ValidatingAdmissionPolicyBinding /spec
apiextensions.k8s.io CustomResourceDefinition /spec /spec/names /status /status/acceptedNames
apiregistration.k8s.io APIService /spec /status
apps DaemonSet /spec /spec/template /spec/template/metadata /spec/template/spec /spec/updateStrategy /status
apps Deployment /spec /spec/strategy /spec/template /spec/template/metadata /spec/template/spec /status
apps ReplicaSet /spec /spec/template /spec/template/metadata /spec/template/spec /status
apps StatefulSet /spec /spec/template /spec/template/metadata /spec/template/spec /spec/updateStrategy /status
autoscaling HorizontalPodAutoscaler /spec /spec/scaleTargetRef /status
batch CronJob /spec /spec/jobTemplate /spec/jobTemplate/metadata /spec/jobTemplate/spec \
/spec/jobTemplate/spec/template /spec/jobTemplate/spec/template/metadata \
/spec/jobTemplate/spec/template/spec /status
batch Job /spec /spec/template /spec/template/metadata /spec/template/spec /status
certificates.k8s.io CertificateSigningRequest /spec /status
coordination.k8s.io Lease /spec
events.k8s.io Event /deprecatedSource /regarding
flowcontrol.apiserver.k8s.io FlowSchema /spec /spec/priorityLevelConfiguration /status
flowcontrol.apiserver.k8s.io PriorityLevelConfiguration /spec /status
networking.k8s.io IPAddress /spec
networking.k8s.io Ingress /spec /status /status/loadBalancer
networking.k8s.io IngressClass /spec
networking.k8s.io NetworkPolicy /spec /spec/podSelector
networking.k8s.io ServiceCIDR /spec /status
policy PodDisruptionBudget /spec /status
rbac.authorization.k8s.io ClusterRoleBinding /roleRef
rbac.authorization.k8s.io RoleBinding /roleRef
resource.k8s.io DeviceClass /spec
resource.k8s.io ResourceClaim /spec /spec/devices /status
resource.k8s.io ResourceClaimTemplate /spec /spec/metadata /spec/spec /spec/spec/devices
resource.k8s.io ResourceSlice /spec /spec/pool
storage.k8s.io CSIDriver /spec
storage.k8s.io CSINode /spec
storage.k8s.io VolumeAttachment /spec /spec/source /status
";

/// The lists that Go writes as `null` if they have no items, because their fields lack `omitempty`: a manager owns items
/// of them and not the lists. Only those whose items have managers of their own.
const LISTS: [Row; 10] = [
    ("", "Pod", "/spec/containers"),
    ("", "PodTemplate", "/template/spec/containers"),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "/status/conditions",
    ),
    ("apps", "DaemonSet", "/spec/template/spec/containers"),
    ("apps", "Deployment", "/spec/template/spec/containers"),
    ("apps", "ReplicaSet", "/spec/template/spec/containers"),
    ("apps", "StatefulSet", "/spec/template/spec/containers"),
    (
        "batch",
        "CronJob",
        "/spec/jobTemplate/spec/template/spec/containers",
    ),
    ("batch", "Job", "/spec/template/spec/containers"),
    ("storage.k8s.io", "CSINode", "/spec/drivers"),
];

/// The numbers and texts outside of a status that Go writes even if they are zero, because their fields lack
/// `omitempty`, and those that it leaves out if they are zero, whereas they are kept here. Only those that may be zero.
const ZEROS: [Row; 8] = [
    ("", "Event", "/reportingComponent"),
    ("", "Event", "/reportingInstance"),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "/spec/preserveUnknownFields",
    ),
    (
        "apiregistration.k8s.io",
        "APIService",
        "/spec/insecureSkipTLSVerify",
    ),
    ("apps", "ControllerRevision", "/revision"),
    ("apps", "StatefulSet", "/spec/serviceName"),
    ("resource.k8s.io", "ResourceSlice", "/spec/pool/generation"),
    ("scheduling.k8s.io", "PriorityClass", "/value"),
];

/// A place in a kind: its group, the kind, and a JSON pointer.
type Row = (&'static str, &'static str, &'static str);

/// The structures of a kind, by group.
type Groups = BTreeMap<&'static str, Vec<&'static str>>;

/// The rows of [`STRUCTURES`] by kind, parsed once, since every write needs them.
static ROWS: LazyLock<BTreeMap<&str, Groups>> = LazyLock::new(|| {
    let mut rows: BTreeMap<&str, Groups> = BTreeMap::new();
    for line in STRUCTURES.lines() {
        let mut words = line.split(' ');
        if let (Some(group), Some(kind)) = (words.next(), words.next()) {
            let group = group.trim_start_matches('-');
            rows.entry(kind).or_default().insert(group, words.collect());
        }
    }
    rows
});

/// Returns the structures that objects of a built-in kind always have besides `metadata`, as JSON
/// pointers.
pub fn always_there(group: &str, kind: &str) -> &'static [&'static str] {
    let groups = ROWS.get(kind);
    let paths = groups.and_then(|groups| groups.get(group));
    paths.map_or(&[], Vec::as_slice)
}

/// Adds the structures that an object lacks but that its Go type would write, as empty objects.
pub(crate) fn fill(document: &mut Value) {
    for path in structures(document) {
        if document.pointer(path).is_none_or(Value::is_null) {
            put(document, path, empty());
        }
    }
}

/// Returns the structures of its kind that this object has.
fn shown(object: &Value) -> impl Iterator<Item = &'static str> {
    let paths = structures(object).iter().copied();
    paths.filter(|path| object.pointer(path).is_some_and(Value::is_object))
}

/// Returns the structures of the kind that the object names.
fn structures(object: &Value) -> &'static [&'static str] {
    let groups = ROWS.get(text(object, "kind"));
    let paths = groups.and_then(|groups| groups.get(group(object)));
    paths.map_or(&[], Vec::as_slice)
}

/// Returns the lists of its kind that this object has.
fn lists(object: &Value) -> impl Iterator<Item = &'static str> {
    let paths = of_kind(&LISTS, object);
    paths.filter(|path| object.pointer(path).is_some_and(Value::is_array))
}

/// Returns the zeros of its kind that this object has.
fn zeros(object: &Value) -> impl Iterator<Item = (&'static str, Value)> {
    let places = of_kind(&ZEROS, object);
    let found = places.filter_map(|path| Some((path, object.pointer(path)?)));
    let zero = found.filter(|(_, value)| is_zero(value));
    zero.map(|(path, value)| (path, value.clone()))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Returns the places of the kind that the object names.
fn of_kind(rows: &'static [Row], object: &Value) -> impl Iterator<Item = &'static str> {
    let named = (group(object), text(object, "kind"));
    let rows = rows.iter().filter(move |row| (row.0, row.1) == named);
    rows.map(|row| row.2)
}

fn group(object: &Value) -> &str {
    let group = text(object, "apiVersion").split_once('/');
    group.unwrap_or_default().0
}

/// Returns an object that has only the structures of this object, all of them empty, its lists, as nulls, and its
/// zeros.
pub(super) fn blank(object: &Value) -> Value {
    let mut blank = Value::Object(Map::new());
    for (path, value) in unowned(object) {
        put(&mut blank, path, value);
    }
    blank
}

/// Returns the old object with the structures, lists and zeros that only the new one has, so that these do not
/// count as added.
pub(super) fn complete<'a>(old: &'a Value, new: &Value) -> Cow<'a, Value> {
    let mut old = Cow::Borrowed(old);
    for (path, value) in unowned(new) {
        if old.pointer(path).is_none_or(Value::is_null) {
            put(old.to_mut(), path, value);
        }
    }
    old
}

/// Returns what this object has and no manager owns: its structures, and then its lists, as if nothing were in them,
/// and its zeros.
fn unowned(object: &Value) -> impl Iterator<Item = (&'static str, Value)> {
    let structures = shown(object).map(|path| (path, empty()));
    let lists = lists(object).map(|path| (path, Value::Null));
    structures.chain(lists).chain(zeros(object))
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// Puts a value where there is something around it.
fn put(document: &mut Value, path: &str, value: Value) {
    let (around, name) = path.rsplit_once('/').unwrap_or_default();
    let around = document.pointer_mut(around).and_then(Value::as_object_mut);
    if let Some(around) = around {
        around.insert(name.to_owned(), value);
    }
}
