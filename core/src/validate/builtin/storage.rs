//! Claims of persistent volumes: required fields, and what is immutable after creation.
//! Source: `ValidatePersistentVolumeClaim` and its update.

use super::{Field, Subject};
use crate::rejection::FieldCause;
use serde_json::Value;

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
    if spec.at("resources.requests.storage").value.is_null() {
        causes.push(FieldCause::required("spec.resources[storage]", ""));
    }
    let bound = subject.new.at("status.phase").text() == "Bound";
    if let Some(old) = &subject.old
        && frozen(&old.child("spec"), &spec, bound) != frozen(&spec, &spec, bound)
    {
        causes.push(spec.forbidden(FROZEN));
    }
}

/// The part of the spec that an update may not change. A name that was not set may be set once.
fn frozen(old: &Field<'_>, new: &Field<'_>, bound: bool) -> Value {
    let mut spec = old.value.clone();
    let Some(members) = spec.as_object_mut() else {
        return spec;
    };
    for once in ["volumeName", "storageClassName"] {
        if old.child(once).is_empty() && !new.child(once).value.is_null() {
            members.insert(once.into(), new.child(once).value.clone());
        }
    }
    if bound {
        members.remove("resources");
        members.remove("volumeAttributesClassName");
    }
    spec
}
