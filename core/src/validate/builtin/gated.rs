//! Pods with scheduling gates: gates can only be removed, and the constraints on where the pod may
//! run can only be narrowed. Source: `validateOnlyDeletedSchedulingGates`,
//! `validateNodeSelectorMutation` and `validateNodeAffinityMutation` of upstream's
//! `pkg/apis/core/validation`.

use super::{Field, shown};
use crate::rejection::CauseList;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
const REQUIREMENTS: [&str; 2] = ["matchExpressions", "matchFields"];

/// Refuses gates that the pod did not have before.
pub(super) fn gates(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) {
    let before = old.child("schedulingGates").items();
    let known: BTreeSet<&str> = before.map(|gate| gate.child("name").text()).collect();
    for gate in new.child("schedulingGates").items() {
        let name = gate.child("name");
        if !known.contains(name.text()) {
            let gate = name.text();
            let why = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            causes.push_with(|| name.forbidden(&why));
        }
    }
}

/// Checks the changes to node selector and node affinity of a pod with gates. Returns the new spec
/// with the old values of these two, so that they are not compared again; `None` if the pod has no
/// gates.
pub(super) fn narrowed(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) -> Option<Value> {
    if old.child("schedulingGates").is_empty() {
        return None;
    }
    let selector = new.child("nodeSelector");
    let is_kept = |(key, value): (&str, Field<'_>)| selector.value.get(key) == Some(value.value);
    if !old.child("nodeSelector").entries().all(is_kept) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        causes.push_with(|| selector.invalid(why));
    }
    affinity(
        &old.at("affinity.nodeAffinity"),
        &new.at("affinity.nodeAffinity"),
        causes,
    );
    let mut as_before = new.value.clone();
    put(
        &mut as_before,
        "nodeSelector",
        old.child("nodeSelector").value,
    );
    let mut place = new.child("affinity").value.clone();
    put(
        &mut place,
        "nodeAffinity",
        old.at("affinity.nodeAffinity").value,
    );
    if place == json!({}) && old.child("affinity").value.is_null() {
        place = Value::Null;
    }
    put(&mut as_before, "affinity", &place);
    Some(as_before)
}

/// Existing terms may only be narrowed; if there are any, none may be added or removed.
fn affinity(old: &Field<'_>, new: &Field<'_>, causes: &mut CauseList) {
    let (old, new) = (old.at(TERMS), new.at(TERMS));
    let (before, after) = (list(old.value), list(new.value));
    if before.is_empty() {
        return;
    }
    if before.len() != after.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        causes.push_with(|| new.invalid_as(&shown::terms(&new), why));
        return;
    }
    for (before, after) in before.iter().zip(new.items()) {
        if !only_adds(before, after.value) {
            let why = "only additions are allowed (no mutations or deletions)";
            causes.push_with(|| after.invalid_as(&shown::term(after.value), why));
        }
    }
}

/// An empty term matches nothing, so adding a requirement to it would widen it.
fn only_adds(before: &Value, after: &Value) -> bool {
    let requirements = |term: &Value| {
        REQUIREMENTS.map(|name| {
            term.get(name)
                .map_or_else(Vec::new, |all| list(all).to_vec())
        })
    };
    let (before, after) = (requirements(before), requirements(after));
    if before.iter().all(Vec::is_empty) {
        return after.iter().all(Vec::is_empty);
    }
    let pairs = before.iter().zip(&after);
    pairs
        .into_iter()
        .all(|(before, after)| after.starts_with(before))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Sets a member, or removes it if the value is null.
fn put(value: &mut Value, name: &str, member: &Value) {
    match value.as_object_mut() {
        Some(members) if member.is_null() => drop(members.remove(name)),
        Some(members) => drop(members.insert(name.into(), member.clone())),
        None if !member.is_null() => *value = json!({ name: member }),
        None => {}
    }
}
