//! The few fields of a pod that an update may change. Source: `ValidatePodUpdate`,
//! `ValidatePodStatusUpdate` and `validateOnlyAddedTolerations` of upstream's `pkg/apis/core/validation`.

use super::{Field, IMMUTABLE, Subject, gated};
use crate::rejection::CauseList;
use serde_json::Value;
use std::collections::BTreeSet;

const FROZEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
     additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set \
     to 1 if it was previously negative)";

const SECONDS_MAX: i64 = 2_147_483_647;
const GRACE: &str = "terminationGracePeriodSeconds";

/// The spec of a pod is immutable except for images, `activeDeadlineSeconds` and additional
/// tolerations; a pod with scheduling gates may also lose gates. Binding is not an update, so
/// `nodeName` cannot change.
pub(super) fn update(subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    let (old, new) = (old.child("spec"), subject.new.child("spec"));
    for list in ["containers", "initContainers"] {
        let count = |spec: &Field<'_>| spec.child(list).items().count();
        if count(&old) != count(&new) {
            let why = "pod updates may not add or remove containers";
            causes.push_with(|| new.child(list).forbidden(why));
            return;
        }
    }
    if !deadline(&old, &new, causes) {
        return;
    }
    // `tolerationSeconds` may change.
    let tolerations = |spec: &Field<'_>| -> BTreeSet<String> {
        let list = spec.child("tolerations");
        list.items()
            .map(|one| tolerated(one.value).to_string())
            .collect()
    };
    if !tolerations(&old).is_subset(&tolerations(&new)) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push_with(|| new.child("tolerations").forbidden(why));
    }
    gated::gates(&old, &new, causes);
    let narrowed = gated::narrowed(&old, &new, causes);
    let mut kept = frozen(narrowed.as_ref().unwrap_or(new.value));
    let (before, after) = (old.child(GRACE), new.child(GRACE).number());
    if before.number() < 0
        && after == 1
        && let Some(members) = kept.as_object_mut()
    {
        members.insert(GRACE.into(), before.value.clone());
    }
    if frozen(old.value) != kept {
        causes.push_with(|| new.forbidden(FROZEN));
    }
}

/// The quality of service is told once; an object that was stored without it may get it.
pub(super) fn status(subject: &Subject<'_>, causes: &mut CauseList) {
    let place = subject.new.at("status.qosClass");
    let before = subject.old.as_ref().map(|old| old.at(&place.path));
    let is_told = before.is_some_and(|before| !before.is_empty());
    if is_told && subject.changes(&place) {
        causes.push_with(|| place.invalid(IMMUTABLE));
    }
}

/// The deadline may be set or brought forward. Returns whether the rest is to be checked too.
fn deadline(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) -> bool {
    let place = new.child("activeDeadlineSeconds");
    let seconds = |spec: &Field<'_>| spec.child("activeDeadlineSeconds").value.as_i64();
    match (seconds(old), seconds(new)) {
        (_, Some(after)) if !(0..=SECONDS_MAX).contains(&after) => {
            causes.push_with(|| place.invalid("must be between 0 and 2147483647, inclusive"));
            false
        }
        (Some(before), Some(after)) if before < after => {
            causes.push_with(|| place.invalid("must be less than or equal to previous value"));
            false
        }
        (Some(_), None) => {
            causes.push_with(|| {
                place.invalid("must not update from a positive integer to nil value")
            });
            true
        }
        _ => true,
    }
}

fn tolerated(toleration: &Value) -> Value {
    let mut what = toleration.clone();
    if let Some(members) = what.as_object_mut() {
        members.remove("tolerationSeconds");
    }
    what
}

fn frozen(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(members) = spec.as_object_mut() {
        for free in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            members.remove(free);
        }
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(members) = container.as_object_mut() {
                members.remove("image");
            }
        }
    }
    spec
}
