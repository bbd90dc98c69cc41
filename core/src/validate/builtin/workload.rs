//! Workload kinds: selectors that match their pod templates, and fields that may not change.
//! Source: `pkg/apis/apps/validation`, `autoscaling/validation`, `policy/validation`.

use super::container::NEGATIVE;
use super::{Field, Subject};
use crate::rejection::FieldCause;
use crate::validate::qualified_name;
use serde_json::{Value, json};

/// The error for a pod template whose labels the selector does not match.
pub(crate) const MISMATCH: &str = "`selector` does not match template `labels`";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' \
     (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const STATEFUL_SET_FROZEN: &str = "updates to statefulset spec for fields other than 'replicas', \
     'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
     'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const STATEFUL_SET_FREE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The selector is present, is not empty, and matches the labels of the template.
pub(super) fn selector(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let selector = subject.new.at("spec.selector");
    label_selector(&selector, causes);
    if !selector.value.is_null() && is_everything(selector.value) {
        let kind = match subject.resource {
            "statefulsets" => "statefulset",
            "daemonsets" => "daemonset",
            _ => "deployment",
        };
        causes.push(selector.invalid(&format!("empty selector is invalid for {kind}")));
        return;
    }
    let labels = subject.new.at("spec.template.metadata.labels");
    if !selects(selector.value, labels.value) {
        causes.push(labels.invalid(MISMATCH));
    }
}

/// Checks the requirements of a label selector.
pub(super) fn label_selector(selector: &Field<'_>, causes: &mut Vec<FieldCause>) {
    for requirement in selector.child("matchExpressions").items() {
        let (key, operator) = (requirement.child("key"), requirement.child("operator"));
        let values = requirement.child("values");
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                causes
                    .push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                causes.push(values.forbidden(
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => causes.push(operator.invalid("not a valid selector operator")),
        }
        let problems = qualified_name(key.text());
        causes.extend(problems.iter().map(|why| key.invalid(why)));
    }
}

fn is_everything(selector: &Value) -> bool {
    let root = Field::root(selector);
    root.child("matchLabels").is_empty() && root.child("matchExpressions").is_empty()
}

/// Whether a selector matches these labels; an absent selector matches nothing.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    if selector.is_null() {
        return false;
    }
    let root = Field::root(selector);
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = root
        .child("matchLabels")
        .entries()
        .all(|(key, wanted)| label(key) == Some(wanted.text()));
    let expressed = root.child("matchExpressions").items().all(|requirement| {
        let found = label(requirement.child("key").text());
        let values = requirement.child("values");
        let listed = found.is_some_and(|found| values.items().any(|value| value.text() == found));
        match requirement.child("operator").text() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    equal && expressed
}

pub(super) fn stateful_set_update(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let Some(old) = &subject.old else {
        return;
    };
    let frozen = |root: &Field<'_>| {
        let mut spec = root.child("spec").value.clone();
        if let Some(members) = spec.as_object_mut() {
            members.retain(|name, _| !STATEFUL_SET_FREE.contains(&name.as_str()));
        }
        spec
    };
    if frozen(old) != frozen(&subject.new) {
        causes.push(subject.new.child("spec").forbidden(STATEFUL_SET_FROZEN));
    }
}

pub(super) fn deployment(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let strategy = subject.new.at("spec.strategy");
    let rolling = strategy.child("rollingUpdate");
    if strategy.child("type").text() == "Recreate" && !rolling.value.is_null() {
        causes.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
    }
    if strategy.child("type").text() == "RollingUpdate" && !rolling.value.is_null() {
        let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
        counts(&unavailable, causes);
        counts(&surge, causes);
        if share(&unavailable) == 0 && share(&surge) == 0 {
            causes.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
        }
        not_more_than_all(&unavailable, causes);
    }
    let deadline = subject.new.at("spec.progressDeadlineSeconds");
    let ready = subject.new.at("spec.minReadySeconds");
    let ready = ready.value.as_i64().unwrap_or(0);
    if deadline
        .value
        .as_i64()
        .is_some_and(|seconds| seconds <= ready)
    {
        causes.push(deadline.invalid("must be greater than minReadySeconds"));
    }
}

/// Pods of a daemon set are replaced before or after their successors are ready, not both.
pub(super) fn daemon_set(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let strategy = subject.new.at("spec.updateStrategy");
    let rolling = strategy.child("rollingUpdate");
    if strategy.child("type").text() != "RollingUpdate" || rolling.value.is_null() {
        return;
    }
    let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
    for place in [&unavailable, &surge] {
        counts(place, causes);
        not_more_than_all(place, causes);
    }
    match (share(&unavailable) != 0, share(&surge) != 0) {
        (true, true) => {
            causes.push(surge.invalid("may not be set when maxUnavailable is non-zero"));
        }
        (false, false) => causes.push(unavailable.required("cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

/// The number of a percentage.
fn percent(place: &Field<'_>) -> Option<i64> {
    let number = place.text().strip_suffix('%')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

/// The number of a count or a percentage; 0 if it is neither.
fn share(place: &Field<'_>) -> i64 {
    let count = place.value.as_i64();
    count.or_else(|| percent(place)).unwrap_or(0)
}

/// Refuses what is neither a count nor a percentage.
fn counts(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    if place.value.is_string() && percent(place).is_none() {
        causes.push(place.invalid(PERCENT));
    }
    if place.value.as_i64().is_some_and(|count| count < 0) {
        causes.push(place.invalid(NEGATIVE));
    }
}

fn not_more_than_all(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    if percent(place).is_some_and(|share| share > 100) {
        causes.push(place.invalid("must not be greater than 100%"));
    }
}

pub(super) fn autoscaler(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let largest = subject.new.at("spec.maxReplicas");
    let max = largest.value.as_i64().unwrap_or(0);
    let min = subject.new.at("spec.minReplicas").value.as_i64();
    if max < 1 {
        let zero = json!(max);
        let why = "must be greater than 0";
        causes.push(FieldCause::invalid(largest.path.as_str(), &zero, why));
    }
    if min.is_some_and(|min| max < min) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(FieldCause::invalid(largest.path, &json!(max), why));
    }
}

pub(super) fn disruption_budget(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let set = |member: &str| !spec.child(member).value.is_null();
    if set("minAvailable") && set("maxUnavailable") {
        causes.push(spec.invalid("minAvailable and maxUnavailable cannot be both set"));
    }
    label_selector(&spec.child("selector"), causes);
}
