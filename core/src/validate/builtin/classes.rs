//! Classes and drivers of other kinds, attachments of volumes, leases and addresses. Source: upstream's
//! `pkg/apis/storage/validation`, `pkg/apis/networking/validation` and `pkg/apis/coordination/validation`.

use super::{Field, IMMUTABLE, Subject, shown};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, names, qualified_name};

const CONTROLLER_MAX: usize = 250;
const SOURCES: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
const LIFECYCLES: [&str; 2] = ["Persistent", "Ephemeral"];

/// Source: `validateProvisioner`.
pub(super) fn provisioner(name: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let lower = name.text().to_lowercase();
    if !lower.is_empty() {
        let problems = qualified_name(&lower).into_iter();
        causes.extend(problems.map(|why| name.invalid_as(&format!("{lower:?}"), &why)));
    }
}

/// Source: `validateIngressClassSpec`.
pub(super) fn ingress_class(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let controller = spec.child("controller");
    if controller.is_empty() {
        causes.push_with(|| controller.required(""));
    } else {
        if controller.text().len() > CONTROLLER_MAX {
            let field = controller.path.as_str();
            causes.push_with(|| FieldCause::too_long(field, CONTROLLER_MAX));
        }
        let problems = formats::prefixed_path(controller.text()).into_iter();
        let shown = |part: &str| format!("{part:?}");
        causes.extend(problems.map(|(part, why)| controller.invalid_as(&shown(part), &why)));
    }
    let parameters = spec.child("parameters");
    if parameters.is_absent() {
        return;
    }
    parameters.child("kind").check_segment("", causes);
    parameters.child("name").check_segment("", causes);
    let (scope, namespace) = (parameters.child("scope"), parameters.child("namespace"));
    match (scope.text(), namespace.is_absent()) {
        ("", _) => causes.push_with(|| scope.required("")),
        ("Namespace", true) => {
            causes.push_with(|| namespace.required("`parameters.scope` is set to 'Namespace'"));
        }
        ("Namespace", false) => namespace.refuse(names::label(namespace.text()).err(), causes),
        ("Cluster", false) => {
            causes.push_with(|| namespace.forbidden("`parameters.scope` is set to 'Cluster'"));
        }
        ("Cluster", true) => {}
        _ => causes.push_with(|| scope.not_supported(&["Cluster", "Namespace"])),
    }
}

/// Source: `validateIPAddressParentReference`.
pub(super) fn parent(place: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if place.is_absent() {
        causes.push_with(|| place.required(""));
    } else {
        place.child("group").check_subdomain(causes);
        place.child("resource").check_segment("", causes);
        place.child("name").check_segment("", causes);
    }
    if subject.changes(place) {
        let shown = shown::object(place.value, shown::PARENT_REF);
        causes.push_with(|| place.invalid_as(&shown, IMMUTABLE));
    }
}

/// Source: `ValidateVolumeAttachment` and its update.
pub(super) fn attachment(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (attacher, node) = (spec.child("attacher"), spec.child("nodeName"));
    if attacher.is_empty() {
        causes.push_with(|| attacher.required(""));
    }
    let source = spec.child("source");
    let name = source.child("persistentVolumeName");
    match (
        source.child("inlineVolumeSpec").is_absent(),
        name.is_absent(),
    ) {
        (true, true) => causes.push_with(|| source.required(SOURCES)),
        (false, false) => causes.push_with(|| source.forbidden(SOURCES)),
        (true, false) if name.is_empty() => {
            causes.push_with(|| name.required("must specify non empty persistentVolumeName"));
        }
        _ => {}
    }
    let problem = names::subdomain(node.text()).err();
    causes.extend(problem.map(|why| node.invalid_as(&format!("{:?}", node.text()), &why)));
    if subject.changes(spec) {
        causes.push_with(|| spec.invalid_as(&shown::attachment(spec), IMMUTABLE));
    }
}

/// Source: `ValidateCSIDriver` and its update, which has its own name for one of the members.
pub(super) fn driver(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let policy = spec.child("fsGroupPolicy");
    policy.one_of(&["File", "None", "ReadWriteOnceWithFSType"], causes);
    let modes = spec.child("volumeLifecycleModes");
    for mode in modes
        .items()
        .filter(|mode| !LIFECYCLES.contains(&mode.text()))
    {
        let field = modes.path.as_str();
        causes.push_with(|| FieldCause::not_supported(field, mode.text(), &LIFECYCLES));
    }
    let attaches = spec.child("attachRequired");
    if subject.changes(&attaches) {
        let field = "spec.attachedRequired";
        causes.push_with(|| FieldCause::invalid(field, attaches.value, IMMUTABLE));
    }
    if subject.changes(&modes) {
        causes.push_with(|| modes.invalid(IMMUTABLE));
    }
}

/// Source: `ValidateLeaseSpec`.
pub(super) fn lease(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let duration = spec.child("leaseDurationSeconds");
    if duration.value.as_i64().is_some_and(|seconds| seconds <= 0) {
        causes.push_with(|| duration.invalid("must be greater than 0"));
    }
    spec.child("leaseTransitions").at_least(0, causes);
    let holder = spec.child("preferredHolder");
    if !holder.is_empty() && spec.child("strategy").is_empty() {
        causes.push_with(|| holder.forbidden("may only be specified if `strategy` is defined"));
    }
}
