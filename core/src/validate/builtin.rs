//! What built-in kinds ask of their objects beyond the types of fields: the part of upstream's
//! `pkg/apis/*/validation` that users meet, as a table, and functions where several fields speak
//! of each other.

mod aggregation;
mod batch;
mod config;
mod network;
mod pod;
mod rbac;
mod rule;
mod service;
mod storage;
mod table;
#[cfg(test)]
mod tests;
mod webhook;
mod workload;

use super::field::Field;
use crate::defaults;
use crate::kind::Kind;
use crate::rejection::FieldCause;
use serde_json::Value;

/// An object as it is about to be, and as it was where there was one.
pub(super) struct Subject<'a> {
    pub(super) kind: &'a Kind,
    pub(super) resource: &'a str,
    pub(super) new: Field<'a>,
    pub(super) old: Option<Field<'a>>,
}

type Check = fn(&Subject<'_>, &mut Vec<FieldCause>);

/// Resources and what is checked of them after the table.
const CHECKS: &[(&[&str], Check)] = &[
    (
        &["deployments", "replicasets", "statefulsets", "daemonsets"],
        workload::selector,
    ),
    (&["statefulsets"], workload::stateful_set_update),
    (&["deployments"], workload::deployment),
    (&["pods"], pod::update),
    (&["apiservices"], aggregation::api_service),
    (&["jobs", "cronjobs"], batch::restart_policy),
    (&["cronjobs"], batch::cron_job),
    (&["services"], service::check),
    (&["configmaps", "secrets"], config::check),
    (&["secrets"], config::secret),
    (&["roles", "clusterroles"], rbac::rules),
    (&["rolebindings", "clusterrolebindings"], rbac::subjects),
    (&["ingresses"], network::ingress),
    (&["networkpolicies"], network::policy),
    (&["persistentvolumeclaims"], storage::claim),
    (&["horizontalpodautoscalers"], workload::autoscaler),
    (&["poddisruptionbudgets"], workload::disruption_budget),
    (
        &[
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        ],
        webhook::check,
    ),
];

/// Everything that is wrong with an object of a built-in kind. An update that changes nothing but
/// metadata and status is not asked again for what was accepted once.
pub(crate) fn object(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<FieldCause> {
    let resource = &*kind.resource.resource;
    if kind.is_custom() || old.is_some_and(|old| same_content(old, new)) {
        return Vec::new();
    }
    // What was stored under older defaults does not differ for having got them late.
    let old = old.cloned().map(|mut old| {
        defaults::apply(kind, &mut old);
        old
    });
    let subject = Subject {
        kind,
        resource,
        new: Field::root(new),
        old: old.as_ref().map(Field::root),
    };
    let mut causes = Vec::new();
    for rule in table::rules(resource) {
        rule.check(&subject, &mut causes);
    }
    pod::mounts(&subject, &mut causes);
    for (resources, check) in CHECKS {
        if resources.contains(&resource) {
            check(&subject, &mut causes);
        }
    }
    causes
}

fn same_content(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    let is_content = |name: &&String| !matches!(name.as_str(), "metadata" | "status");
    let mut names = old.keys().chain(new.keys()).filter(is_content);
    names.all(|name| old.get(name) == new.get(name))
}
