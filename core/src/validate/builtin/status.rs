//! The counts that controllers report in a status, and what a claim of devices was given, in upstream's order.
//! Source: `ValidateDeploymentStatusUpdate` and its like in upstream's `pkg/apis/apps/validation`,
//! `ValidateReplicationControllerStatus`, the counts of `ValidateJobStatusUpdate`,
//! `ValidatePodDisruptionBudgetStatusUpdate`, `ValidateHorizontalPodAutoscalerStatusUpdate`,
//! `ValidateResourceQuotaStatus`, and `validateResourceClaimStatusUpdate`.

use super::rule::Rule;
use super::{Field, IMMUTABLE, Subject, table};
use crate::object::Name;
use crate::rejection::CauseList;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const ROWS: &str = "\
deployments  status.observedGeneration  atleast 0
deployments  status.replicas  atleast 0
deployments  status.updatedReplicas  atleast 0
deployments  status.readyReplicas  atleast 0
deployments  status.availableReplicas  atleast 0
deployments  status.unavailableReplicas  atleast 0
deployments  status.terminatingReplicas  atleast 0
deployments  status.collisionCount  atleast 0
deployments  status.updatedReplicas  atmost status.replicas
deployments  status.readyReplicas  atmost status.replicas
deployments  status.availableReplicas  atmost status.replicas; atmost readyReplicas
deployments  status.collisionCount  check collisions
replicasets,replicationcontrollers  status.replicas  atleast 0
replicasets,replicationcontrollers  status.fullyLabeledReplicas  atleast 0
replicasets,replicationcontrollers  status.readyReplicas  atleast 0
replicasets,replicationcontrollers  status.availableReplicas  atleast 0
replicasets,replicationcontrollers  status.observedGeneration  atleast 0
replicasets  status.terminatingReplicas  atleast 0
replicasets,replicationcontrollers  status.fullyLabeledReplicas  atmost status.replicas
replicasets,replicationcontrollers  status.readyReplicas  atmost status.replicas
replicasets,replicationcontrollers  status.availableReplicas  atmost status.replicas; atmost readyReplicas
statefulsets  status.replicas  atleast 0
statefulsets  status.readyReplicas  atleast 0
statefulsets  status.currentReplicas  atleast 0
statefulsets  status.updatedReplicas  atleast 0
statefulsets  status.availableReplicas  atleast 0
statefulsets  status.observedGeneration  atleast 0
statefulsets  status.collisionCount  atleast 0
statefulsets  status.readyReplicas  atmost status.replicas
statefulsets  status.currentReplicas  atmost status.replicas
statefulsets  status.updatedReplicas  atmost status.replicas
statefulsets  status.availableReplicas  atmost status.replicas; atmost status.readyReplicas
statefulsets  status.collisionCount  check collisions
daemonsets  status.currentNumberScheduled  atleast 0
daemonsets  status.numberMisscheduled  atleast 0
daemonsets  status.desiredNumberScheduled  atleast 0
daemonsets  status.numberReady  atleast 0
daemonsets  status.observedGeneration  atleast 0
daemonsets  status.updatedNumberScheduled  atleast 0
daemonsets  status.numberAvailable  atleast 0
daemonsets  status.numberUnavailable  atleast 0
daemonsets  status.collisionCount  atleast 0; check collisions
jobs  status.active  atleast 0
jobs  status.succeeded  atleast 0
jobs  status.failed  atleast 0
jobs  status.ready  atleast 0
jobs  status.terminating  atleast 0
jobs  status  check finished_pods
poddisruptionbudgets  status.conditions  check conditions
poddisruptionbudgets  status.disruptionsAllowed  atleast 0
poddisruptionbudgets  status.currentHealthy  atleast 0
poddisruptionbudgets  status.desiredHealthy  atleast 0
poddisruptionbudgets  status.expectedPods  atleast 0
horizontalpodautoscalers  status.currentReplicas  atleast 0
horizontalpodautoscalers  status.desiredReplicas  atleast 0
resourcequotas  status.hard  check quota_amounts
resourcequotas  status.used  check quota_amounts
resourceclaims  status.reservedFor  check reservations
resourceclaims  status.allocation  check allocation
";

static RULES: LazyLock<BTreeMap<Name, Vec<Rule>>> = LazyLock::new(|| table::read(ROWS));

/// Checks the counts of a status. What is wrong with the one that is stored may stay as it is.
pub(super) fn check(subject: &Subject<'_>, causes: &mut CauseList) {
    let mut found = CauseList::default();
    apply(subject, &mut found);
    if !found.is_empty()
        && let Some(old) = &subject.old
    {
        let stored = Subject {
            new: old.clone(),
            old: None,
            ..*subject
        };
        let mut known = CauseList::default();
        apply(&stored, &mut known);
        found.drop_known(&known);
    }
    causes.extend(found.into_causes());
}

fn apply(subject: &Subject<'_>, causes: &mut CauseList) {
    for rule in RULES.get(subject.resource).into_iter().flatten() {
        rule.check(subject, causes);
    }
}

/// The count of collisions is part of the names of new objects, so it never goes back. Source: `IsDecremented`.
pub(super) fn collisions(count: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    let (before, after) = (old.at(&count.path), count.number());
    if !before.is_absent() && (count.is_absent() || after < before.number()) {
        causes.push_with(|| count.invalid_as(&after.to_string(), "cannot be decremented"));
    }
}

/// Pods of a job that finished stay counted. Source: `getStatusValidationOptions` of upstream's
/// `registry/batch/job`.
pub(super) fn finished_pods(status: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    let spec = subject.new.child("spec");
    let is_indexed = spec.child("completionMode").text() == "Indexed";
    // Such a job can be made smaller, and then has fewer pods that succeeded.
    let shrinks = is_indexed && spec.child("completions").value == spec.child("parallelism").value;
    for counter in ["failed", "succeeded"] {
        let (count, may_fall) = (status.child(counter), counter == "succeeded" && shrinks);
        let after = count.number();
        if !may_fall && after < old.at(&count.path).number() {
            let why = format!("cannot decrease the {counter} counter");
            causes.push_with(|| count.invalid_as(&after.to_string(), &why));
        }
    }
}

/// Who uses the devices of a claim. There are none to use before they are allocated, and nobody new may
/// use them once the claim is being deleted.
pub(super) fn reservations(list: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if list.is_empty() {
        return;
    }
    if subject.new.at("status.allocation").is_absent() {
        let why = "may not be specified when `allocated` is not set";
        causes.push_with(|| list.forbidden(why));
        return;
    }
    let Some(old) = &subject.old else {
        return;
    };
    let before = old.at(&list.path).items();
    let before: BTreeSet<String> = before.map(|one| one.value.to_string()).collect();
    let is_new = |one: Field<'_>| !before.contains(&one.value.to_string());
    let is_deleting = !subject.new.at("metadata.deletionTimestamp").is_absent();
    if is_deleting && list.items().any(is_new) {
        let why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        causes.push_with(|| list.forbidden(why));
    }
}

/// What a claim was given can be taken back, but not exchanged.
pub(super) fn allocation(given: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let Some(old) = &subject.old else {
        return;
    };
    let before = old.at(&given.path);
    let both = !before.is_absent() && !given.is_absent();
    if both && before.value != given.value {
        causes.push_with(|| given.invalid(IMMUTABLE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn every_row_is_a_rule_of_a_kind_that_has_a_status() {
        let rows = ROWS.lines().map(|line| {
            let (resources, _) = line.split_once("  ").expect("two columns");
            resources.split(',').count()
        });
        let expected: usize = rows.sum();
        assert_eq!(RULES.values().map(Vec::len).sum::<usize>(), expected);
        let kinds = builtin::kinds();
        for resource in RULES.keys() {
            let mut found = kinds
                .iter()
                .filter(|kind| kind.resource.resource == *resource);
            assert!(found.next().is_some(), "{resource}");
        }
    }
}
