//! Where pods may run: tolerations, taints, affinities, and how pods are spread. Source: `ValidateTolerations`,
//! `validateNodeTaints`, `validateAffinity` and `validateTopologySpreadConstraints` of upstream's
//! `pkg/apis/core/validation`.

use super::selector::{is_of_sets, label_selector};
use super::{Field, shown};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{label_value, names, qualified_name};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT: &str = "must be in the range 1-100";

pub(super) fn tolerations(list: &Field<'_>, causes: &mut CauseList) {
    for toleration in list.items() {
        let (key, value) = (toleration.child("key"), toleration.child("value"));
        let (operator, effect) = (toleration.child("operator"), toleration.child("effect"));
        if !key.is_empty() {
            key.refuse(qualified_name(key.text()), causes);
        }
        let shown = |place: &Field<'_>| format!("{:?}", place.text());
        if key.is_empty() && operator.text() != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all \
                 keys\"";
            causes.push_with(|| operator.invalid_as(&shown(&operator), why));
        }
        if !toleration.child("tolerationSeconds").is_absent() && effect.text() != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.push_with(|| effect.invalid_as(&shown(&effect), why));
        }
        match operator.text() {
            "Equal" | "" => {
                let problems = label_value(value.text());
                if !problems.is_empty() {
                    causes.push_with(|| operator.invalid_as(&shown(&value), &problems.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push_with(|| operator.invalid_as(&shown(&value), why));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                causes.push_with(|| operator.not_supported(&["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => causes.push_with(|| operator.not_supported(&["Equal", "Exists"])),
        }
        effect.one_of(&EFFECTS, causes);
    }
}

/// Checks the taints of a node, which upstream reports as if they were metadata.
pub(super) fn taints(list: &Field<'_>, causes: &mut CauseList) {
    let list = Field {
        path: "metadata.taints".into(),
        value: list.value,
    };
    let mut seen = BTreeSet::new();
    for taint in list.items() {
        let (key, value) = (taint.child("key"), taint.child("value"));
        let effect = taint.child("effect");
        for why in qualified_name(key.text()) {
            causes.push_with(|| key.invalid_as(&format!("{:?}", key.text()), &why));
        }
        let problems = label_value(value.text());
        if !problems.is_empty() {
            causes.push_with(|| value.invalid(&problems.join(";")));
        }
        if effect.is_empty() {
            causes.push_with(|| effect.required(""));
        }
        effect.one_of(&EFFECTS, causes);
        if !seen.insert((key.text(), effect.text())) {
            let why = "taints must be unique by key and effect pair";
            let shown = shown::object(taint.value, shown::TAINT);
            causes.push_with(|| FieldCause::duplicate_as(taint.path, &shown, why));
        }
    }
}

pub(super) fn affinity(affinity: &Field<'_>, causes: &mut CauseList) {
    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child(REQUIRED);
    if !required.is_absent() {
        node_selector(&required, causes);
    }
    for term in nodes.child(PREFERRED).items() {
        weight(&term, causes);
        node_term(&term.child("preference"), false, causes);
    }
    for pods in ["podAffinity", "podAntiAffinity"].map(|name| affinity.child(name)) {
        for term in pods.child(REQUIRED).items() {
            pod_term(&term, causes);
        }
        for term in pods.child(PREFERRED).items() {
            weight(&term, causes);
            pod_term(&term.child("podAffinityTerm"), causes);
        }
    }
}

fn weight(term: &Field<'_>, causes: &mut CauseList) {
    let weight = term.child("weight");
    if !(1..=100).contains(&weight.number()) {
        causes.push_with(|| weight.invalid_as(&weight.number().to_string(), WEIGHT));
    }
}

/// Source: `ValidateNodeSelector`.
pub(super) fn node_selector(selector: &Field<'_>, causes: &mut CauseList) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        causes.push_with(|| terms.required("must have at least one node selector term"));
    }
    for term in terms.items() {
        node_term(&term, true, causes);
    }
}

fn node_term(term: &Field<'_>, checks_values: bool, causes: &mut CauseList) {
    for requirement in term.child("matchExpressions").items() {
        let (key, operator) = (requirement.child("key"), requirement.child("operator"));
        let values = requirement.child("values");
        match operator.text() {
            "Gt" | "Lt" if values.items().count() == 1 => {}
            "Gt" | "Lt" => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                causes.push_with(|| values.required(why));
            }
            other => {
                if !is_of_sets(&operator, &values, causes) {
                    let why = "not a valid selector operator";
                    causes.push_with(|| operator.invalid_as(&format!("{other:?}"), why));
                }
            }
        }
        for why in qualified_name(key.text()) {
            causes.push_with(|| key.invalid_as(&format!("{:?}", key.text()), &why));
        }
        for value in values.items().filter(|_| checks_values) {
            value.refuse(label_value(value.text()), causes);
        }
    }
    for field in term.child("matchFields").items() {
        let (key, operator) = (field.child("key"), field.child("operator"));
        let values = field.child("values");
        match operator.text() {
            "In" | "NotIn" if values.items().count() == 1 => {}
            "In" | "NotIn" => {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                causes.push_with(|| values.required(why));
            }
            other => {
                let why = "not a valid selector operator";
                causes.push_with(|| operator.invalid_as(&format!("{other:?}"), why));
            }
        }
        if key.text() == "metadata.name" {
            for name in values.items() {
                name.refuse(names::subdomain(name.text()).err(), causes);
            }
        } else {
            let why = "not a valid field selector key";
            causes.push_with(|| key.invalid_as(&format!("{:?}", key.text()), why));
        }
    }
}

/// Source: `validatePodAffinityTerm`.
fn pod_term(term: &Field<'_>, causes: &mut CauseList) {
    label_selector(&term.child("labelSelector"), causes);
    label_selector(&term.child("namespaceSelector"), causes);
    for name in term.child("namespaces").items() {
        if let Err(why) = names::label(name.text()) {
            let field = format!("{}.namespace", term.path);
            causes.push_with(|| FieldCause::invalid(field, name.value, &why));
        }
    }
    let key = term.child("topologyKey");
    if key.is_empty() {
        causes.push_with(|| key.required("can not be empty"));
    }
    for why in qualified_name(key.text()) {
        causes.push_with(|| key.invalid_as(&format!("{:?}", key.text()), &why));
    }
}

/// Two constraints of a pod differ in this.
fn what_is_spread<'a>(constraint: &Field<'a>) -> (&'a str, &'a str) {
    let text = |name: &str| constraint.child(name).text();
    (text("topologyKey"), text("whenUnsatisfiable"))
}

pub(super) fn spread(list: &Field<'_>, causes: &mut CauseList) {
    let last = list.items().enumerate();
    let last = last.map(|(index, one)| (what_is_spread(&one), index));
    let last: BTreeMap<(&str, &str), usize> = last.collect();
    for (index, one) in list.items().enumerate() {
        if causes.is_full() {
            return;
        }
        let (skew, key) = (one.child("maxSkew"), one.child("topologyKey"));
        let (action, domains) = (one.child("whenUnsatisfiable"), one.child("minDomains"));
        if skew.number() <= 0 {
            causes.push_with(|| {
                skew.invalid_as(&skew.number().to_string(), "must be greater than zero")
            });
        }
        if key.is_empty() {
            causes.push_with(|| key.required("can not be empty"));
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action.text()) {
            causes.push_with(|| action.not_supported(&actions));
        }
        if last.get(&what_is_spread(&one)) != Some(&index) {
            let field = format!("{}.{{topologyKey, whenUnsatisfiable}}", one.path);
            let what = format!("{{{}, {}}}", key.text(), action.text());
            causes.push_with(|| FieldCause::duplicate(field, &json!(what)));
        }
        if domains.value.as_i64().is_some_and(|least| least <= 0) {
            causes.push_with(|| domains.invalid("must be greater than zero"));
        }
        if !domains.is_absent() && action.text() != "DoNotSchedule" {
            let why = format!(
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}",
                action.text()
            );
            causes.push_with(|| domains.invalid(&why));
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            one.child(policy).one_of(&["Honor", "Ignore"], causes);
        }
        label_selector(&one.child("labelSelector"), causes);
    }
}
