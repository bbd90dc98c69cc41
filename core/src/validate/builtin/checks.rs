//! The functions that rows of the table name.

use super::rule::Check;
use super::{
    IMMUTABLE, aggregation, batch, cluster, config, endpoints, event, limits, network, pod,
    pod_update, quota, rbac, service, shown, storage, volume, webhook, workload,
};

const CHECKS: &[(&str, Check)] = &[
    ("api_service", |_, subject, causes| {
        aggregation::api_service(subject, causes);
    }),
    ("autoscaler", workload::autoscaler),
    ("binding", rbac::binding),
    ("claim", storage::claim),
    ("config", config::check),
    ("controlled", workload::controlled),
    ("csi_node", storage::csi_node),
    ("daemon_set_strategy", workload::daemon_set_strategy),
    ("deployment_deadline", workload::deployment_deadline),
    ("deployment_strategy", workload::deployment_strategy),
    ("disruption_budget", workload::disruption_budget),
    ("endpoint_slice", endpoints::slice),
    ("endpoint_subsets", endpoints::subsets),
    ("event", |_, subject, causes| {
        event::check(subject, causes);
    }),
    ("host_names", batch::host_names),
    ("ingress", network::ingress),
    ("limits", limits::limits),
    ("job_spec", batch::job_spec),
    ("job_update", batch::job_update),
    ("network_policy", network::policy),
    ("node", cluster::node),
    ("parent", |place, subject, causes| {
        if subject.changes(place) {
            let shown = shown::object(place.value, shown::PARENT_REF);
            causes.push(place.invalid_as(&shown, IMMUTABLE));
        }
    }),
    ("pod", pod::pod),
    ("pod_update", |_, subject, causes| {
        pod_update::update(subject, causes);
    }),
    ("priority_class", cluster::priority_class),
    ("quota", quota::quota),
    ("role", rbac::rules),
    ("schedule", batch::schedule),
    ("secret", config::secret),
    ("selected", workload::selected),
    ("service", service::check),
    ("service_name", workload::service_name),
    ("service_range", cluster::service_range),
    ("short_name", batch::short_name),
    ("stateful_set", workload::stateful_set),
    ("stateful_set_update", workload::stateful_set_update),
    ("template", pod::template),
    ("time_zone", batch::time_zone),
    ("unselected", batch::unselected),
    ("volume", volume::volume),
    ("webhooks", |_, subject, causes| {
        webhook::check(subject, causes);
    }),
];

/// Returns the function of this name.
pub(super) fn named(name: &str) -> Option<Check> {
    let row = CHECKS.iter().find(|row| row.0 == name);
    row.map(|row| row.1)
}
