//! Quotas of namespaces. Source: `ValidateResourceQuotaSpec` and `ValidateResourceQuotaUpdate` of upstream's
//! `pkg/apis/core/validation`, and `pkg/apis/core/helper`.

use super::{Field, IMMUTABLE, Subject, amounts, shown};
use crate::rejection::CauseList;
use std::collections::{BTreeMap, BTreeSet};

/// Scopes that exclude each other.
const CONFLICTS: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];
/// Scopes that a pod is in or not; a selector does not compare them with values.
const OF_PODS: [&str; 5] = [
    "BestEffort",
    "NotBestEffort",
    "Terminating",
    "NotTerminating",
    "CrossNamespacePodAffinity",
];
const OTHERS: [&str; 2] = ["PriorityClass", "VolumeAttributesClass"];
const COMPUTED: [&str; 6] = [
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "requests.cpu",
    "requests.memory",
];
const ONLY_EXISTS: &str = "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, \
     ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
     ResourceQuotaScopeCrossNamespacePodAffinity";

fn is_scope(name: &str) -> bool {
    OF_PODS.contains(&name) || OTHERS.contains(&name)
}

/// Whether a quota with this scope can limit a resource. Source: `IsResourceQuotaScopeValidForResource`.
fn can_limit(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "PriorityClass" => resource == "pods" || COMPUTED.contains(&resource),
        scope if OF_PODS.contains(&scope) => resource == "pods" || COMPUTED.contains(&resource),
        _ => true,
    }
}

pub(super) fn quota(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let hard = spec.child("hard");
    amounts::of_quota(&hard, causes);
    let scopes = spec.child("scopes");
    let names = |spec: &Field<'_>| -> BTreeSet<String> {
        let list = spec.child("scopes");
        list.items().map(|scope| scope.text().to_owned()).collect()
    };
    let beyond = beyond(&hard);
    for scope in scopes.items() {
        if causes.is_full() {
            return;
        }
        if !is_scope(scope.text()) {
            causes.push_with(|| scopes.invalid("unsupported scope"));
        }
        for _ in 0..beyond(scope.text()) {
            causes.push_with(|| scopes.invalid("unsupported scope applied to resource"));
        }
    }
    let all = names(spec);
    if conflict(|scope| all.contains(scope)) {
        causes.push_with(|| scopes.invalid("conflicting scopes"));
    }
    selected(
        &spec.at("scopeSelector.matchExpressions"),
        &scopes,
        &beyond,
        causes,
    );
    let differs = |old: &Field<'_>| names(&old.child("spec")) != all;
    if subject.old.as_ref().is_some_and(differs) {
        causes.push_with(|| scopes.invalid(IMMUTABLE));
    }
}

/// For each scope, how many resources of the quota it cannot limit. Counted once: a document may name a scope very
/// often.
fn beyond(hard: &Field<'_>) -> impl Fn(&str) -> usize {
    let names = hard.entries().map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| amounts::is_of_quotas(name)).collect();
    let count = |scope| names.iter().filter(|name| !can_limit(scope, name)).count();
    let scopes = OF_PODS.into_iter().chain(OTHERS);
    let counts: BTreeMap<&str, usize> = scopes.map(|scope| (scope, count(scope))).collect();
    move |scope| counts.get(scope).copied().unwrap_or_default()
}

fn conflict(has: impl Fn(&str) -> bool) -> bool {
    CONFLICTS
        .iter()
        .any(|pair| pair.iter().all(|scope| has(scope)))
}

/// Upstream's reports do not say which expression is wrong.
fn selected(
    list: &Field<'_>,
    scopes: &Field<'_>,
    beyond: &impl Fn(&str) -> usize,
    causes: &mut CauseList,
) {
    let mut names = BTreeSet::new();
    for expression in list.items() {
        if causes.is_full() {
            return;
        }
        let part = |name: &str| Field {
            path: format!("{}.{name}", list.path),
            ..expression.child(name)
        };
        let (scope, operator, values) = (part("scopeName"), part("operator"), part("values"));
        let quoted = |place: &Field<'_>| format!("{:?}", place.text());
        if !is_scope(scope.text()) {
            causes.push_with(|| scope.invalid_as(&quoted(&scope), "unsupported scope"));
        }
        for _ in 0..beyond(scope.text()) {
            let why = "unsupported scope applied to resource";
            causes.push_with(|| list.invalid_as(&shown::scopes(list), why));
        }
        if OF_PODS.contains(&scope.text()) && operator.text() != "Exists" {
            causes.push_with(|| operator.invalid_as(&quoted(&operator), ONLY_EXISTS));
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                causes.push_with(|| values.required(why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                causes.push_with(|| values.invalid(why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                causes.push_with(|| operator.invalid_as(&quoted(&operator), why));
            }
        }
        names.insert(scope.text());
    }
    if conflict(|scope| names.contains(scope)) {
        causes.push_with(|| list.invalid_as(&shown::list_of(scopes), "conflicting scopes"));
    }
}
