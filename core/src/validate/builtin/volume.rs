//! Persistent volumes: what they need, and what is immutable after creation. Source:
//! `ValidatePersistentVolumeSpec` and `ValidatePersistentVolumeUpdate` of upstream's
//! `pkg/apis/core/validation`.

use super::storage::{class_and_mode, modes, positive};
use super::{Field, IMMUTABLE, Subject, amounts, placement, shown, volumes};
use crate::rejection::{CauseList, FieldCause};
use serde_json::{Map, Value};

const RELABELLED: &str = "field is immutable, except for updating from beta label to GA";

/// Members of the spec of a volume that do not say where it is.
const NO_SOURCES: [&str; 9] = [
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

pub(super) fn volume(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (list, capacity) = (spec.child("accessModes"), spec.child("capacity"));
    if list.is_empty() {
        causes.push_with(|| list.required(""));
    }
    modes(&list, causes);
    if capacity.is_empty() {
        causes.push_with(|| capacity.required(""));
    }
    if capacity.child("storage").is_absent() || capacity.entries().count() > 1 {
        let known = ["storage"];
        causes
            .push_with(|| FieldCause::unsupported(capacity.path.as_str(), capacity.value, &known));
    }
    for (name, amount) in capacity.entries() {
        amounts::value(&amount, name, causes);
        positive(&amount, causes);
    }
    let reclaim = spec.child("persistentVolumeReclaimPolicy");
    reclaim.one_of(&["Delete", "Recycle", "Retain"], causes);
    let sources = source(spec);
    affinity(spec, causes);
    first_source(spec, &sources, causes);
    class_and_mode(spec, causes);
    if let Some(old) = &subject.old {
        volume_update(&old.child("spec"), spec, sources, causes);
    }
}

/// On which nodes a volume can be used. Source: `validateVolumeNodeAffinity`.
fn affinity(spec: &Field<'_>, causes: &mut CauseList) {
    let affinity = spec.child("nodeAffinity");
    let required = affinity.child("required");
    if affinity.is_absent() {
        return;
    }
    if required.is_absent() {
        causes.push_with(|| required.required("must specify required node constraints"));
    } else {
        placement::node_selector(&required, causes);
    }
}

fn first_source(spec: &Field<'_>, sources: &Map<String, Value>, causes: &mut CauseList) {
    if sources.is_empty() {
        causes.push_with(|| spec.required("must specify a volume type"));
    }
    for second in sources.keys().skip(1) {
        let why = "may not specify more than 1 volume type";
        causes.push_with(|| spec.child(second).forbidden(why));
    }
    let Some(kind) = sources.keys().next() else {
        return;
    };
    let source = spec.child(kind);
    match kind.as_str() {
        "hostPath" => volumes::host_path(&source, causes),
        "nfs" => volumes::nfs(&source, causes),
        "local" => {
            let path = source.child("path");
            if path.is_empty() {
                causes.push_with(|| path.required(""));
            }
            if spec.child("nodeAffinity").is_absent() {
                let why = "Local volume requires node affinity";
                causes.push_with(|| FieldCause::required("metadata.annotations", why));
            }
        }
        _ => {}
    }
}

fn volume_update(
    before: &Field<'_>,
    spec: &Field<'_>,
    mut now: Map<String, Value>,
    causes: &mut CauseList,
) {
    if before.at(EXPANDS).value.is_null()
        && let Some(csi) = now.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    // Upstream's paths of these have no `spec`, and the first one has a name of its own.
    if now != source(before) {
        let why = "spec.persistentvolumesource is immutable after creation";
        causes.push_with(|| FieldCause::forbidden("spec.persistentvolumesource", why));
    }
    let mode = spec.child("volumeMode");
    if before.child("volumeMode").value != mode.value {
        causes.push_with(|| FieldCause::invalid("volumeMode", mode.value, IMMUTABLE));
    }
    let (old, new) = (before.child("nodeAffinity"), spec.child("nodeAffinity"));
    if !old.is_absent() && !relabelled(old.value, new.value) {
        let shown = shown::volume_affinity(&new);
        causes.push_with(|| FieldCause::invalid_as("nodeAffinity", &shown, RELABELLED));
    }
    let class = spec.child("volumeAttributesClassName");
    if class.is_absent() && !before.child("volumeAttributesClassName").is_absent() {
        let why = "update from non-nil value to nil is forbidden";
        causes.push_with(|| class.forbidden(why));
    }
}

/// The one member of a source that may be set later.
const EXPANDS: &str = "csi.controllerExpandSecretRef";

fn source(spec: &Field<'_>) -> Map<String, Value> {
    let mut source = spec.value.as_object().cloned().unwrap_or_default();
    source.retain(|name, value| !value.is_null() && !NO_SOURCES.contains(&name.as_str()));
    source
}

/// Labels of nodes in their beta form, and what replaces them.
const RENAMED: [(&str, &str); 5] = [
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
];

/// Whether two node affinities are the same but for beta labels that the new one has by their new names.
fn relabelled(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let member = |(name, value): (&String, &Value)| {
                let other = new.get(name).unwrap_or(&Value::Null);
                let keys = (value.as_str(), other.as_str());
                let is_renamed = |row: &(&str, &str)| keys == (Some(row.0), Some(row.1));
                name == "key" && RENAMED.iter().any(is_renamed) || relabelled(value, other)
            };
            old.len() == new.len() && old.iter().all(member)
        }
        (Value::Array(old), Value::Array(new)) => {
            let mut pairs = old.iter().zip(new);
            old.len() == new.len() && pairs.all(|(old, new)| relabelled(old, new))
        }
        _ => old == new,
    }
}
