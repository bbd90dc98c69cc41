//! The `pods/eviction` subresource: a deletion that a disruption budget may refuse. Source: upstream's
//! `pkg/registry/core/pod/storage/eviction.go`.

#[cfg(test)]
mod tests;

use super::conditions::{self, Condition};
use super::delete::{delete, precondition};
use super::sequence::Sequence;
use super::{Context, Envelope, managed_fields, namespace_of_new};
use crate::command::Delete;
use crate::document::{object_or_insert, text, text_at};
use crate::kind::Subresource;
use crate::object::{Object, ObjectKey};
use crate::selector::LabelSelector;
use crate::{Commit, Decision, GroupResource, Rejection};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Field manager of the write to the budget, as in upstream.
const MANAGER: &str = "kube-apiserver";
/// Maximum number of evictions that the controller of a budget may not have observed yet.
const DISRUPTED_PODS_MAX: usize = 2000;
/// The condition of a budget that says whether a disruption is allowed.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

/// The part of a budget that says which pods it covers. The rest, which may list many evicted pods, is skipped.
#[derive(Deserialize)]
struct Selecting {
    spec: SelectingSpec,
}

#[derive(Deserialize)]
struct SelectingSpec {
    selector: Option<Value>,
}

/// Spends the budget, sets the pod's condition and deletes it; all of it or nothing.
pub(crate) fn evict(context: Context<'_>, intent: &Delete) -> Result<Decision, Rejection> {
    let key = &intent.target.key;
    namespace_of_new(context.state, key, &key.name)?;
    let kind = context.state.kinds.by_resource(&key.resource);
    let Some((pod, kind)) = context.state.get(key).zip(kind) else {
        return delete(context, intent);
    };
    let spent = spend_budget(context, pod)?;
    precondition::check(intent, pod, kind)?;
    let mut sequence = Sequence::on(context.state);
    sequence.add(spent);
    let marked = mark_disruption_target(sequence.context(context), pod)?;
    sequence.add(marked);
    let mut decision = delete(sequence.context(context), &without_revision(intent))?;
    sequence.add(decision.commits);
    decision.commits = sequence.into_commits();
    Ok(decision)
}

/// Drops the preconditions on the version: they were compared already, and setting the condition has
/// changed it.
fn without_revision(intent: &Delete) -> Delete {
    let mut intent = intent.clone();
    intent.preconditions.resource_version = None;
    intent.target.revision = None;
    intent
}

/// Sets the condition on the pod, if it does not have it yet. It has no owner in `managedFields`, as
/// upstream, whose write bypasses field management.
fn mark_disruption_target(
    context: Context<'_>,
    pod: &Arc<Object>,
) -> Result<Option<Arc<Commit>>, Rejection> {
    let before = pod.document();
    let mut document = before.clone();
    let now = context.envelope.time.to_rfc3339();
    conditions::set_evicted(&mut document, pod.meta.generation, &now);
    if document == before {
        return Ok(None);
    }
    let (_, commit) = context.updated(pod, document, Vec::new())?;
    Ok(Some(commit))
}

/// The commit that spends the budget; `None` if no budget covers the pod.
fn spend_budget(context: Context<'_>, pod: &Object) -> Result<Option<Arc<Commit>>, Rejection> {
    let document = pod.document();
    let is_unstarted_or_over = matches!(
        text_at(&document, "/status/phase"),
        "Pending" | "Succeeded" | "Failed"
    );
    if is_unstarted_or_over || pod.is_deleting() {
        return Ok(None);
    }
    let budget = match budgets(context, pod).as_slice() {
        [] => return Ok(None),
        [budget] => Arc::clone(budget),
        _ => {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction \
                       subresource does not support.";
            return Err(Rejection::Internal(why.into()));
        }
    };
    let mut next = budget.document();
    // No controller maintains this budget, so it would refuse for ever.
    let Some(observed) = next.pointer("/status/observedGeneration") else {
        return Ok(None);
    };
    let is_current = observed.as_i64().unwrap_or(0) >= budget.meta.generation;
    let is_ready = conditions::is_true(&document, "Ready");
    if !is_ready && allows_unhealthy_eviction(&next) {
        return Ok(None);
    }
    check_budget(&budget.key, &next, is_current)?;
    record_disruption(&mut next, pod, &context.envelope.time.to_rfc3339());
    let envelope = &Envelope {
        manager: Some(MANAGER.into()),
        ..context.envelope.clone()
    };
    let context = Context {
        envelope,
        ..context
    };
    let to = Some(Subresource::Status);
    let document = managed_fields::with_managed_fields(context, &budget, next, to);
    let (_, commit) = context.updated(&budget, document, Vec::new())?;
    Ok(Some(commit))
}

fn budgets(context: Context<'_>, pod: &Object) -> Vec<Arc<Object>> {
    let resource = GroupResource::new("policy", "poddisruptionbudgets");
    let all = context.state.list(&resource, Some(&pod.key.namespace));
    let counts = |budget: &&Arc<Object>| {
        let selector = budget.read().and_then(|read: Selecting| read.spec.selector);
        let selector = selector.as_ref().map(LabelSelector::from_document);
        selector.is_some_and(|read| read.is_ok_and(|one| one.matches(&pod.meta.labels)))
    };
    all.filter(counts).cloned().collect()
}

/// Whether a pod that is not ready may be evicted without spending the budget.
fn allows_unhealthy_eviction(budget: &Value) -> bool {
    let (healthy, desired) = (
        number(budget, "/status/currentHealthy"),
        number(budget, "/status/desiredHealthy"),
    );
    text_at(budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow"
        || (healthy >= desired && desired > 0)
}

fn check_budget(key: &ObjectKey, budget: &Value, is_current: bool) -> Result<(), Rejection> {
    let name = &key.name;
    let refuse = |message: String, retry_after_seconds| {
        Err(Rejection::Disruption {
            message,
            retry_after_seconds,
        })
    };
    if !is_current {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return refuse(why, 10);
    }
    let forbid = |reason: &str| {
        Err(Rejection::Forbidden {
            resource: GroupResource::new("policy", "poddisruptionbudget"),
            name: Arc::clone(name),
            reason: reason.into(),
            causes: Vec::new(),
        })
    };
    let allowed = number(budget, "/status/disruptionsAllowed");
    let disrupted = budget.pointer("/status/disruptedPods");
    let disrupted = disrupted.and_then(Value::as_object).map_or(0, Map::len);
    if allowed < 0 {
        return forbid("pdb disruptions allowed is negative");
    }
    if disrupted > DISRUPTED_PODS_MAX {
        return forbid(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        );
    }
    if allowed == 0 {
        return refuse(
            format!("The disruption budget {name} {}", refusal_reason(budget)),
            0,
        );
    }
    Ok(())
}

/// Why no disruption is allowed. If the controller reports a failed sync, the numbers are not to be
/// trusted.
fn refusal_reason(budget: &Value) -> String {
    let (desired, healthy) = (
        number(budget, "/status/desiredHealthy"),
        number(budget, "/status/currentHealthy"),
    );
    let refusing =
        conditions::find(budget, DISRUPTION_ALLOWED).filter(|one| text(one, "status") == "False");
    let refusing = refusing.map(|one| (text(one, "reason"), text(one, "message")));
    match refusing.filter(|(_, message)| !message.is_empty()) {
        Some(("SyncFailed", message)) => {
            format!("does not allow evicting pods currently because it failed sync: {message}")
        }
        _ if healthy <= desired => {
            format!("needs {desired} healthy pods and has {healthy} currently")
        }
        Some((reason, message)) => {
            format!("does not allow evicting pods currently ({reason}): {message}")
        }
        None => "does not allow evicting pods currently".into(),
    }
}

/// Subtracts one disruption, and records the pod so that the controller does not count it any more.
fn record_disruption(budget: &mut Value, pod: &Object, now: &str) {
    let left = number(budget, "/status/disruptionsAllowed") - 1;
    let observed = number(budget, "/status/observedGeneration");
    let Some(status) = budget.get_mut("status").and_then(Value::as_object_mut) else {
        return;
    };
    status.insert("disruptionsAllowed".into(), json!(left));
    if let Some(pods) = object_or_insert(status, "disruptedPods") {
        pods.insert(pod.key.name.to_string(), json!(now));
    }
    if left == 0 {
        let none = Condition::new_false(DISRUPTION_ALLOWED, "InsufficientPods", "");
        conditions::set(budget, &none.with_observed_generation(observed), now);
    }
}

fn number(document: &Value, pointer: &str) -> i64 {
    let found = document.pointer(pointer).and_then(Value::as_i64);
    found.unwrap_or(0)
}
