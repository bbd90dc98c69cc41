//! When a job fails and when it has succeeded, by what became of its pods. Source: `validatePodFailurePolicy`
//! and `validateSuccessPolicy` of upstream's `pkg/apis/batch/validation`.

use super::Field;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::qualified_name;
use std::collections::BTreeSet;

const RULES_MAX: usize = 20;
const CODES_MAX: usize = 255;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];

/// How upstream lists the values that a required member may have.
fn choice(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|one| format!("{one:?}")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

fn one_of(place: &Field<'_>, values: &[&str], causes: &mut CauseList) {
    if place.is_empty() {
        causes.push_with(|| place.required(&choice(values)));
    }
    place.one_of(values, causes);
}

pub(super) fn failure(spec: &Field<'_>, causes: &mut CauseList) {
    let rules = spec.at("podFailurePolicy.rules");
    let count = rules.items().count();
    if count > RULES_MAX {
        causes.push_with(|| FieldCause::too_many(rules.path.as_str(), count, RULES_MAX));
    }
    let pod = spec.at("template.spec");
    let lists = ["containers[].name", "initContainers[].name"];
    let names = lists.iter().flat_map(|way| pod.select(way));
    let names: BTreeSet<&str> = names.map(|name| name.text()).collect();
    for rule in rules.items() {
        let action = rule.child("action");
        let by_index = !spec.child("backoffLimitPerIndex").is_absent();
        if action.text() == "FailIndex" && !by_index {
            causes.push_with(|| action.invalid("requires the backoffLimitPerIndex to be set"));
        } else {
            one_of(&action, &ACTIONS, causes);
        }
        let (codes, conditions) = (rule.child("onExitCodes"), rule.child("onPodConditions"));
        if !codes.is_absent() {
            exit_codes(&codes, &names, causes);
        }
        for pattern in conditions.items() {
            let kind = pattern.child("type");
            for why in qualified_name(kind.text()) {
                causes.push_with(|| kind.invalid_as(&format!("{:?}", kind.text()), &why));
            }
            one_of(&pattern.child("status"), &STATUSES, causes);
        }
        let why = match (codes.is_absent(), conditions.is_empty()) {
            (false, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (true, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        // Upstream shows no value here.
        causes.push_with(|| FieldCause::unreadable(rule.path, &format!("Invalid value: {why}")));
    }
}

fn exit_codes(codes: &Field<'_>, names: &BTreeSet<&str>, causes: &mut CauseList) {
    let operator = codes.child("operator");
    one_of(&operator, &OPERATORS, causes);
    let container = codes.child("containerName");
    if !container.is_absent() && !names.contains(container.text()) {
        let why = "must be one of the container or initContainer names in the pod template";
        causes.push_with(|| container.invalid(why));
    }
    let values = codes.child("values");
    let all: Vec<Field<'_>> = values.items().collect();
    if all.is_empty() {
        causes.push_with(|| values.invalid("at least one value is required"));
    } else if all.len() > CODES_MAX {
        causes.push_with(|| FieldCause::too_many(values.path.as_str(), all.len(), CODES_MAX));
    }
    let mut seen = BTreeSet::new();
    for value in &all {
        if operator.text() == "In" && value.number() == 0 {
            causes.push_with(|| value.invalid("must not be 0 for the In operator"));
        }
        if !seen.insert(value.number()) {
            causes.push_with(|| value.duplicate());
        }
    }
    if !all.is_sorted_by_key(Field::number) {
        causes.push_with(|| values.invalid("must be ordered"));
    }
}

pub(super) fn success(spec: &Field<'_>, causes: &mut CauseList) {
    let policy = spec.child("successPolicy");
    if policy.is_absent() {
        return;
    }
    if spec.child("completionMode").text() != "Indexed" {
        causes.push_with(|| policy.invalid("requires indexed completion mode"));
        return;
    }
    let rules = policy.child("rules");
    let count = rules.items().count();
    if count == 0 {
        let why = "at least one rules must be specified when the successPolicy is specified";
        causes.push_with(|| rules.required(why));
    }
    if count > RULES_MAX {
        causes.push_with(|| FieldCause::too_many(rules.path.as_str(), count, RULES_MAX));
    }
    let completions = spec.child("completions").number();
    for rule in rules.items() {
        let (count, indexes) = (rule.child("succeededCount"), rule.child("succeededIndexes"));
        if count.is_absent() && indexes.is_absent() {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            causes.push_with(|| rule.required(why));
        }
        count.at_least(0, causes);
        if count.number() > completions {
            let why = format!(
                "must be less than or equal to {completions} (the number of specified completions)"
            );
            causes.push_with(|| count.invalid(&why));
        }
    }
}
