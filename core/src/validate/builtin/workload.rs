//! Workload kinds, in upstream's order: selectors that match their pod templates, rolling updates, and fields
//! that may not change. Source: `pkg/apis/apps/validation`, `policy/validation`, and
//! `ValidateReplicationControllerSpec`.

use super::selector::{MISMATCH, is_everything, label_selector, selects};
use super::{Field, Subject, amounts::NEGATIVE, pod, shown};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::names;
use serde_json::json;

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

/// What reports call a kind, what they call the kind that has its pods, and what they say of a selector that
/// cannot be used, if anything.
fn called(resource: &str) -> (&'static str, &'static str, Option<&'static str>) {
    match resource {
        "statefulsets" => ("statefulset", "StatefulSet", Some("")),
        "daemonsets" => ("daemonset", "DaemonSet", None),
        _ => ("deployment", "ReplicaSet", Some("invalid label selector")),
    }
}

/// Checks the selector and the template of a specification: the selector is not empty, and matches the labels.
pub(super) fn selected(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    let (kind, owner, unusable) = called(subject.resource);
    if selector.is_absent() && unusable.is_some() {
        causes.push_with(|| selector.required(""));
    }
    let absent = causes.len();
    label_selector(&selector, causes);
    let is_usable = causes.len() == absent;
    let is_empty = !selector.is_absent() && is_everything(&selector);
    let empty = format!("empty selector is invalid for {kind}");
    let labels = template.at("metadata.labels");
    let matches = is_empty || selects(selector.value, labels.value);
    let mismatch = (is_usable && !matches).then(|| labels.invalid(MISMATCH));
    // Of a daemon set, upstream compares the labels first.
    let empty = is_empty.then(|| selector.invalid(&empty));
    match unusable {
        Some(why) if !is_usable => {
            causes.push_with(|| selector.invalid(why));
            return;
        }
        Some(_) => causes.extend(empty.into_iter().chain(mismatch)),
        None => causes.extend(mismatch.into_iter().chain(empty)),
    }
    lasting(&template, owner, subject, causes);
}

/// Checks a template whose pods are replaced when they end.
fn lasting(template: &Field<'_>, owner: &str, subject: &Subject<'_>, causes: &mut CauseList) {
    pod::template(template, subject, causes);
    let policy = template.at("spec.restartPolicy");
    policy.one_of(&["Always"], causes);
    let deadline = template.at("spec.activeDeadlineSeconds");
    if !deadline.is_absent() {
        let why = format!("activeDeadlineSeconds in {owner} is not Supported");
        causes.push_with(|| deadline.forbidden(&why));
    }
}

/// Checks the template of a replication controller, whose selector is a map of labels.
pub(super) fn controlled(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    if template.is_absent() {
        return causes.push_with(|| template.required(""));
    }
    let labels = template.at("metadata.labels");
    let wanted = json!({ "matchLabels": selector.value });
    if !selector.is_empty() && !selects(&wanted, labels.value) {
        causes.push_with(|| labels.invalid(MISMATCH));
    }
    lasting(&template, "ReplicationController", subject, causes);
}

/// How the pods of a stateful set are replaced. Source: `ValidateStatefulSetSpec`.
pub(super) fn stateful_set(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let (management, strategy) = (
        spec.child("podManagementPolicy"),
        spec.child("updateStrategy"),
    );
    if !matches!(management.text(), "OrderedReady" | "Parallel" | "") {
        causes.push_with(|| management.invalid("must be 'OrderedReady' or 'Parallel'"));
    }
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "OnDelete" if !rolling.is_absent() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            let shown = shown::object(rolling.value, shown::STATEFUL_ROLLING);
            causes.push_with(|| rolling.invalid_as(&shown, why));
        }
        "RollingUpdate" if !rolling.is_absent() => {
            let unavailable = rolling.child("maxUnavailable");
            rolling.child("partition").at_least(0, causes);
            if !unavailable.is_absent() {
                counts(&unavailable, causes);
                if share(&unavailable) == 0 {
                    causes.push_with(|| unavailable.invalid("cannot be 0"));
                }
                not_more_than_all(&unavailable, causes);
            }
        }
        "OnDelete" | "RollingUpdate" | "" => {}
        _ => {
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            causes.push_with(|| strategy.invalid_as(&shown_strategy(&strategy), why));
        }
    }
}

/// The service of a stateful set is named as services are.
pub(super) fn service_name(name: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if !name.is_empty() && (subject.old.is_none() || subject.changes(name)) {
        name.refuse(names::label(name.text()).err(), causes);
    }
}

pub(super) fn stateful_set_update(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    let frozen = |spec: &Field<'_>| {
        let mut spec = spec.value.clone();
        if let Some(members) = spec.as_object_mut() {
            members.retain(|name, _| !STATEFUL_SET_FREE.contains(&name.as_str()));
        }
        spec
    };
    if frozen(&old.child("spec")) != frozen(spec) {
        causes.push_with(|| spec.forbidden(STATEFUL_SET_FROZEN));
    }
}

/// Source: `ValidateDeploymentStrategy`.
pub(super) fn deployment_strategy(strategy: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "Recreate" if !rolling.is_absent() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.push_with(|| rolling.forbidden(why));
        }
        "Recreate" | "" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            counts(&unavailable, causes);
            counts(&surge, causes);
            if share(&unavailable) == 0 && share(&surge) == 0 {
                causes.push_with(|| unavailable.invalid("may not be 0 when `maxSurge` is 0"));
            }
            not_more_than_all(&unavailable, causes);
        }
        _ => unknown_strategy(strategy, &["Recreate", "RollingUpdate"], causes),
    }
}

/// Upstream names the strategy, not its type, and shows its members.
fn unknown_strategy(strategy: &Field<'_>, known: &[&str], causes: &mut CauseList) {
    let shown = shown_strategy(strategy);
    causes.push_with(|| FieldCause::unsupported_as(strategy.path.as_str(), &shown, known));
}

fn shown_strategy(strategy: &Field<'_>) -> String {
    let kind = strategy.child("type").value;
    format!("{{\"Type\":{kind},\"RollingUpdate\":null}}")
}

pub(super) fn deployment_deadline(
    deadline: &Field<'_>,
    subject: &Subject<'_>,
    causes: &mut CauseList,
) {
    let ready = subject.new.at("spec.minReadySeconds").number();
    let seconds = deadline.value.as_i64();
    if seconds.is_some_and(|seconds| seconds <= ready) {
        causes.push_with(|| deadline.invalid("must be greater than minReadySeconds"));
    }
}

/// Pods of a daemon set are replaced before or after their successors are ready, not both. Source:
/// `ValidateDaemonSetUpdateStrategy`.
pub(super) fn daemon_set_strategy(strategy: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    match strategy.child("type").text() {
        "OnDelete" | "" => return,
        "RollingUpdate" => {}
        _ => return unknown_strategy(strategy, &["RollingUpdate", "OnDelete"], causes),
    }
    let rolling = strategy.child("rollingUpdate");
    if rolling.is_absent() {
        return causes.push_with(|| rolling.required(""));
    }
    let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
    for place in [&unavailable, &surge] {
        counts(place, causes);
    }
    for place in [&unavailable, &surge] {
        not_more_than_all(place, causes);
    }
    match (share(&unavailable) != 0, share(&surge) != 0) {
        (true, true) => {
            causes.push_with(|| surge.invalid("may not be set when maxUnavailable is non-zero"));
        }
        (false, false) => {
            causes.push_with(|| unavailable.required("cannot be 0 when maxSurge is 0"));
        }
        _ => {}
    }
}

/// The number of a percentage.
fn percent(place: &Field<'_>) -> Option<i64> {
    let number = place.text().strip_suffix('%')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_number)
}

/// The number of a count or a percentage; a text that is neither counts as the number that it is, or 0.
fn share(place: &Field<'_>) -> i64 {
    let count = place.value.as_i64();
    let text = || place.text().parse().ok();
    count.or_else(|| percent(place)).or_else(text).unwrap_or(0)
}

/// Refuses what is neither a count nor a percentage. Source: `ValidatePositiveIntOrPercent`.
fn counts(place: &Field<'_>, causes: &mut CauseList) {
    if place.value.is_string() && percent(place).is_none() {
        causes.push_with(|| place.invalid(PERCENT));
    }
    if place.value.as_i64().is_some_and(|count| count < 0) {
        causes.push_with(|| place.invalid(NEGATIVE));
    }
}

fn not_more_than_all(place: &Field<'_>, causes: &mut CauseList) {
    if percent(place).is_some_and(|share| share > 100) {
        causes.push_with(|| place.invalid("must not be greater than 100%"));
    }
}

/// Source: `ValidatePodDisruptionBudgetSpec`.
pub(super) fn disruption_budget(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let amounts = ["minAvailable", "maxUnavailable"].map(|member| spec.child(member));
    if amounts.iter().all(|amount| !amount.is_absent()) {
        causes.push_with(|| spec.invalid("minAvailable and maxUnavailable cannot be both set"));
    }
    for amount in &amounts {
        counts(amount, causes);
        not_more_than_all(amount, causes);
    }
    label_selector(&spec.child("selector"), causes);
    let eviction = spec.child("unhealthyPodEvictionPolicy");
    eviction.one_of(&["AlwaysAllow", "IfHealthyBudget"], causes);
}
