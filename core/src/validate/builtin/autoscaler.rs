//! Autoscalers: what they scale, between which counts, and how fast. Source: upstream's
//! `pkg/apis/autoscaling/validation`.

use super::{Field, Subject, amounts};
use crate::rejection::CauseList;

const WINDOW_MAX: i64 = 3_600;
const PERIOD_MAX: i64 = 1_800;
const SELECTIONS: [&str; 3] = ["Disabled", "Max", "Min"];
const POLICIES: [&str; 2] = ["Percent", "Pods"];

pub(super) fn max_replicas(place: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let max = place.number();
    let min = subject.new.at("spec.minReplicas").value.as_i64();
    if max < 1 {
        causes.push_with(|| place.invalid_as(&max.to_string(), "must be greater than 0"));
    }
    if min.is_some_and(|min| max < min) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push_with(|| place.invalid_as(&max.to_string(), why));
    }
}

/// Source: `ValidateCrossVersionObjectReference`.
pub(super) fn reference(place: &Field<'_>, causes: &mut CauseList) {
    place.child("kind").check_segment("", causes);
    place.child("name").check_segment("", causes);
}

/// How fast to scale in one direction. Source: `validateScalingRules`.
pub(super) fn scaling_rules(rules: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let (window, selection) = (
        rules.child("stabilizationWindowSeconds"),
        rules.child("selectPolicy"),
    );
    if window.number() < 0 {
        causes.push_with(|| window.invalid("must be greater than or equal to zero"));
    }
    at_most(&window, WINDOW_MAX, causes);
    if !selection.is_absent() && !SELECTIONS.contains(&selection.text()) {
        causes.push_with(|| selection.not_supported(&SELECTIONS));
    }
    let policies = rules.child("policies");
    if policies.is_empty() {
        causes.push_with(|| policies.required("must specify at least one Policy"));
    }
    for policy in policies.items() {
        check_policy(&policy, causes);
    }
    amounts::not_negative(&rules.child("tolerance"), causes);
}

/// Source: `validateScalingPolicy`.
fn check_policy(policy: &Field<'_>, causes: &mut CauseList) {
    let (kind, period) = (policy.child("type"), policy.child("periodSeconds"));
    if !POLICIES.contains(&kind.text()) {
        causes.push_with(|| kind.not_supported(&POLICIES));
    }
    for count in [&policy.child("value"), &period] {
        let number = count.number();
        if number <= 0 {
            let why = "must be greater than zero";
            causes.push_with(|| count.invalid_as(&number.to_string(), why));
        }
    }
    at_most(&period, PERIOD_MAX, causes);
}

fn at_most(seconds: &Field<'_>, most: i64, causes: &mut CauseList) {
    if seconds.number() > most {
        let why = format!("must be less than or equal to {most}");
        causes.push_with(|| seconds.invalid(&why));
    }
}
