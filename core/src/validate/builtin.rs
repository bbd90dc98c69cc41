//! Validation of built-in kinds beyond the types of their fields: the part of upstream's
//! `pkg/apis/*/validation` that users meet. Most rules are rows of a table; rules about how several
//! fields relate are functions.

mod aggregation;
mod batch;
mod cluster;
mod config;
mod container;
mod event;
mod gated;
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

pub(crate) use workload::{MISMATCH, selects};

use super::field::Field;
use crate::document::equal_except;
use crate::kind::Kind;
use crate::rejection::FieldCause;
use serde_json::Value;

/// An object as it is about to be stored, and its old version if there is one.
pub(super) struct Subject<'a> {
    pub(super) kind: &'a Kind,
    pub(super) resource: &'a str,
    pub(super) new: Field<'a>,
    /// The old version, decoded and defaulted like the new one.
    pub(super) old: Option<Field<'a>>,
}

impl<'a> Subject<'a> {
    fn new(kind: &'a Kind, new: &'a Value, old: Option<&'a Value>) -> Self {
        Self {
            kind,
            resource: &kind.resource.resource,
            new: Field::root(new),
            old: old.map(Field::root),
        }
    }

    /// Whether an update changes the value at this place, which no list leads to.
    fn changes(&self, place: &Field<'_>) -> bool {
        let differs = |old: &Field<'_>| {
            let before = old.at(&place.path);
            before.value != place.value && !(before.is_empty() && place.is_empty())
        };
        self.old.as_ref().is_some_and(differs)
    }
}

/// What is said of a field that an update may not change.
const IMMUTABLE: &str = "field is immutable";

type Check = fn(&Subject<'_>, &mut Vec<FieldCause>);

/// Functions that check a resource after the rows of the table.
const CHECKS: &[(&[&str], Check)] = &[
    (
        &["deployments", "replicasets", "statefulsets", "daemonsets"],
        workload::selector,
    ),
    (&["statefulsets"], workload::stateful_set_update),
    (&["deployments"], workload::deployment),
    (&["daemonsets"], workload::daemon_set),
    (&["pods"], pod::update),
    (&["apiservices"], aggregation::api_service),
    (&["jobs", "cronjobs"], batch::restart_policy),
    (&["cronjobs"], batch::cron_job),
    (&["jobs"], batch::job),
    (&["services"], service::check),
    (&["configmaps", "secrets"], config::check),
    (&["secrets"], config::secret),
    (&["roles", "clusterroles"], rbac::rules),
    (&["rolebindings", "clusterrolebindings"], rbac::subjects),
    (&["ingresses"], network::ingress),
    (&["networkpolicies"], network::policy),
    (&["persistentvolumeclaims"], storage::claim),
    (&["persistentvolumes"], storage::volume),
    (&["csinodes"], storage::csi_node),
    (&["nodes"], cluster::node),
    (&["resourcequotas"], cluster::quota),
    (&["servicecidrs"], cluster::service_range),
    (&["priorityclasses"], cluster::priority_class),
    (&["events"], event::check),
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

/// Returns everything that is wrong with an object of a built-in kind. An update that changes only
/// metadata and status is not checked: the rest was accepted before.
pub(crate) fn object(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<FieldCause> {
    let is_same = |old: &Value| equal_except(&["metadata", "status"], old, new);
    if kind.is_custom() || old.is_some_and(is_same) {
        return Vec::new();
    }
    causes_of(&Subject::new(kind, new, old))
}

fn causes_of(subject: &Subject<'_>) -> Vec<FieldCause> {
    let mut causes = Vec::new();
    for rule in table::rules(subject.resource) {
        rule.check(subject, &mut causes);
    }
    pod::mounts(subject, &mut causes);
    container::all(subject, &mut causes);
    for (resources, check) in CHECKS {
        if resources.contains(&subject.resource) {
            check(subject, &mut causes);
        }
    }
    causes
}
