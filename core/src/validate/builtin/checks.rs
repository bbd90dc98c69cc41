//! The functions that rows of the table name.

use super::rule::Check;
use super::{
    aggregation, ambiguous, amounts, autoscaler, batch, classes, cluster, conditions, config,
    endpoints, event, job_pods, limits, metric, network, pod, pod_update, quota, rbac, service,
    slices, status, storage, volume, webhook, workload,
};

const CHECKS: &[(&str, Check)] = &[
    ("address", ambiguous::address),
    ("api_service", |_, subject, causes| {
        aggregation::api_service(subject, causes);
    }),
    ("allocation", status::allocation),
    ("attachment", classes::attachment),
    ("autoscaler", autoscaler::max_replicas),
    ("binding", rbac::binding),
    ("claim", storage::claim),
    ("claim_template", storage::claim_template),
    ("collisions", status::collisions),
    ("conditions", |list, _, causes| {
        conditions::all(list, causes);
    }),
    ("config", config::check),
    ("controlled", workload::controlled),
    ("csi_node", storage::csi_node),
    ("daemon_set_strategy", workload::daemon_set_strategy),
    ("deployment_deadline", workload::deployment_deadline),
    ("deployment_strategy", workload::deployment_strategy),
    ("disruption_budget", workload::disruption_budget),
    ("driver", classes::driver),
    ("endpoint_slice", slices::slice),
    ("endpoint_subsets", endpoints::subsets),
    ("event", |_, subject, causes| {
        event::check(subject, causes);
    }),
    ("finished_pods", status::finished_pods),
    ("host_names", batch::host_names),
    ("ingress", network::ingress),
    ("ingress_class", classes::ingress_class),
    ("job_generated", job_pods::generated_update),
    ("job_selected", job_pods::selected_update),
    ("job_spec", batch::job_spec),
    ("job_update", batch::job_update),
    ("lease", classes::lease),
    ("limits", limits::limits),
    ("metrics", metric::metrics),
    ("network_policy", network::policy),
    ("node", cluster::node),
    ("parent", classes::parent),
    ("pod", pod::pod),
    ("pod_update", |_, subject, causes| {
        pod_update::update(subject, causes);
    }),
    ("priority_class", cluster::priority_class),
    ("provisioner", classes::provisioner),
    ("quota", quota::quota),
    ("quota_amounts", |map, _, causes| {
        amounts::of_quota(map, causes);
    }),
    ("range", ambiguous::range),
    ("reservations", status::reservations),
    ("role", rbac::rules),
    ("role_aggregation", rbac::aggregation),
    ("scaled", |target, _, causes| {
        autoscaler::reference(target, causes);
    }),
    ("scaling", autoscaler::scaling_rules),
    ("schedule", batch::schedule),
    ("secret", config::secret),
    ("selected", workload::selected),
    ("service", service::check),
    ("service_name", workload::service_name),
    ("service_range", cluster::service_range),
    ("short_name", batch::short_name),
    ("stateful_set", workload::stateful_set),
    ("stateful_set_update", workload::stateful_set_update),
    ("subdomain", |name, _, causes| name.check_subdomain(causes)),
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
