//! Persistent volumes, claims of them, and the drivers of nodes: required fields, and what is immutable
//! after creation. Source: `ValidatePersistentVolumeClaim`, `ValidatePersistentVolume`,
//! `ValidateCSINodeUpdate` and their updates.

use super::{Field, IMMUTABLE, Subject};
use crate::quantity::{self, Quantity};
use crate::rejection::FieldCause;
use serde_json::{Map, Value};

const FROZEN: &str = "spec is immutable after creation except resources.requests and \
     volumeAttributesClassName for bound claims";
const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn claim(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let modes = spec.child("accessModes");
    if modes.is_empty() {
        causes.push(modes.required("at least 1 access mode is required"));
    }
    for mode in modes.items().filter(|mode| !MODES.contains(&mode.text())) {
        let field = modes.path.as_str();
        causes.push(FieldCause::not_supported(field, mode.text(), &MODES));
    }
    let asked = spec.at(REQUESTED);
    if asked.value.is_null() {
        causes.push(FieldCause::required("spec.resources[storage]", ""));
    } else if size_of(asked.value).is_some_and(|size| size.sign() <= 0) {
        let why = "must be greater than zero";
        causes.push(FieldCause::invalid(
            "spec.resources[storage]",
            asked.value,
            why,
        ));
    }
    let Some(old) = &subject.old else {
        return;
    };
    let bound = subject.new.at("status.phase").text() == "Bound";
    let before = old.child("spec");
    if frozen(&before, &spec, bound) != frozen(&spec, &spec, bound) {
        causes.push(spec.forbidden(FROZEN));
    }
    let size = |place: &Field<'_>| size_of(place.value);
    let has = size(&old.at("status.capacity.storage")).unwrap_or(Quantity::whole(0));
    let now = size(&asked).unwrap_or(Quantity::whole(0));
    if size(&before.at(REQUESTED)).is_some_and(|before| now < before) && now <= has {
        causes.push(asked.forbidden("field can not be less than status.capacity"));
    }
}

const REQUESTED: &str = "resources.requests.storage";

fn size_of(value: &Value) -> Option<Quantity> {
    quantity::read(value).ok().flatten().map(|(size, _)| size)
}

/// The part of the spec that an update may not change. A volume may be named once, and a class if none was
/// named, be it the empty one.
fn frozen(old: &Field<'_>, new: &Field<'_>, bound: bool) -> Value {
    let mut spec = old.value.clone();
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    let named = [
        ("volumeName", old.child("volumeName").is_empty()),
        (
            "storageClassName",
            old.child("storageClassName").value.is_null(),
        ),
    ];
    for (once, _) in named.iter().filter(|(_, is_open)| *is_open) {
        let name = new.child(once).value;
        if name.is_null() {
            members.remove(*once);
        } else {
            members.insert((*once).into(), name.clone());
        }
    }
    members.remove("volumeAttributesClassName");
    let requests = spec.pointer_mut("/resources/requests");
    if let Some(requests) = requests.and_then(Value::as_object_mut).filter(|_| bound) {
        requests.remove("storage");
    }
    spec
}

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

pub(super) fn volume(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let mut now = source(&spec);
    if now.is_empty() {
        causes.push(spec.required("must specify a volume type"));
    }
    for second in now.keys().skip(1) {
        let why = "may not specify more than 1 volume type";
        causes.push(spec.child(second).forbidden(why));
    }
    let Some(old) = &subject.old else {
        return;
    };
    let before = old.child("spec");
    if before.at(EXPANDS).value.is_null()
        && let Some(csi) = now.get_mut("csi").and_then(Value::as_object_mut)
    {
        csi.remove("controllerExpandSecretRef");
    }
    // Upstream's paths of these have no `spec`, and the first one has a name of its own.
    if now != source(&before) {
        let why = "spec.persistentvolumesource is immutable after creation";
        causes.push(FieldCause::forbidden("spec.persistentvolumesource", why));
    }
    let refuse = |name: &str| FieldCause::invalid(name, spec.child(name).value, IMMUTABLE);
    if subject.changes(&spec.child("volumeMode")) {
        causes.push(refuse("volumeMode"));
    }
    let affinity = before.child("nodeAffinity").value;
    let is_kept = relabelled(affinity, spec.child("nodeAffinity").value);
    if !affinity.is_null() && !is_kept {
        causes.push(refuse("nodeAffinity"));
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

/// A driver of a node keeps everything but the number of volumes that it can attach.
pub(super) fn csi_node(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let fixed = |driver: &Field<'_>| {
        let mut driver = driver.value.clone();
        if let Some(members) = driver.as_object_mut() {
            members.remove("allocatable");
        }
        driver
    };
    let old = subject.old.iter();
    for old in old.flat_map(|old| old.at("spec.drivers").items()) {
        let name = old.child("name").value;
        let drivers = subject.new.at("spec.drivers").items();
        let same = drivers.filter(|new| new.child("name").value == name);
        for new in same
            .map(|new| fixed(&new))
            .filter(|new| *new != fixed(&old))
        {
            causes.push(FieldCause::invalid("spec.drivers", &new, IMMUTABLE));
        }
    }
}
