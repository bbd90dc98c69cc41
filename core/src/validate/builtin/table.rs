//! The table of rules. A row is `resources path tests`; rows are in the order in which upstream
//! reports errors.

use super::rule::Rule;
use crate::object::Name;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const ROWS: &str = "\
deployments  spec.replicas  atleast 0
deployments  spec  check selected
deployments  spec.strategy  check deployment_strategy
deployments  spec.minReadySeconds  atleast 0
deployments  spec.revisionHistoryLimit  atleast 0
deployments  spec.progressDeadlineSeconds  atleast 0; check deployment_deadline
deployments  spec.selector  immutable
replicasets  spec.replicas  atleast 0
replicasets  spec.minReadySeconds  atleast 0
replicasets  spec  check selected
replicasets  spec.selector  immutable
statefulsets  spec  check stateful_set
statefulsets  spec.persistentVolumeClaimRetentionPolicy?.whenDeleted  oneof Retain Delete
statefulsets  spec.persistentVolumeClaimRetentionPolicy?.whenScaled  oneof Retain Delete
statefulsets  spec.volumeClaimTemplates[].spec  check claim_template
statefulsets  spec.replicas  atleast 0
statefulsets  spec.minReadySeconds  atleast 0
statefulsets  spec.ordinals?.start  atleast 0
statefulsets  spec.serviceName  check service_name
statefulsets  spec  check selected
statefulsets  spec  check stateful_set_update
daemonsets  spec  check selected
daemonsets  spec.minReadySeconds  atleast 0
daemonsets  spec.updateStrategy  check daemon_set_strategy
daemonsets  spec.revisionHistoryLimit  atleast 0
daemonsets  spec.selector  immutable
replicationcontrollers  spec.minReadySeconds  atleast 0
replicationcontrollers  spec.selector  required
replicationcontrollers  spec.replicas  atleast 0
replicationcontrollers  spec  check controlled
controllerrevisions  data  present data is mandatory
controllerrevisions  revision  atleast 0
controllerrevisions  data  immutable
pods  spec  check pod
pods  spec  check pod_update
podtemplates  template  check template
jobs  .  check job_generated
jobs  spec  check job_spec
jobs  .  check job_selected
jobs  .  check host_names
jobs  spec  check job_update
cronjobs  spec.schedule  required; check schedule
cronjobs  spec.startingDeadlineSeconds  atleast 0
cronjobs  spec.timeZone  check time_zone
cronjobs  spec.concurrencyPolicy  oneof Allow Forbid Replace
cronjobs  spec.jobTemplate.spec  check job_spec; check unselected
cronjobs  spec.successfulJobsHistoryLimit  atleast 0
cronjobs  spec.failedJobsHistoryLimit  atleast 0
cronjobs  metadata.name  check short_name
services  spec  check service
services  spec.clusterIPs[]  check address
services  spec.externalIPs[]  check address
services  spec.loadBalancerSourceRanges[]  check range
secrets  type  immutable
configmaps,secrets  .  check config
secrets  .  check secret
roles,clusterroles  rules  check role
clusterroles  aggregationRule?  check role_aggregation
rolebindings,clusterrolebindings  .  check binding
ingresses  spec  check ingress
networkpolicies  spec  check network_policy
networkpolicies  spec.ingress[].from[].ipBlock.cidr  check range
networkpolicies  spec.ingress[].from[].ipBlock.except[]  check range
networkpolicies  spec.egress[].to[].ipBlock.cidr  check range
networkpolicies  spec.egress[].to[].ipBlock.except[]  check range
persistentvolumeclaims  spec  check claim
persistentvolumes  spec  check volume
csinodes  spec  check csi_node
nodes  .  check node
nodes  spec.podCIDRs[]  check range
resourcequotas  spec  check quota
servicecidrs  spec  check service_range
apiservices  .  check api_service
events  .  check event
poddisruptionbudgets  spec  check disruption_budget
storageclasses  provisioner  required; check provisioner
storageclasses  reclaimPolicy  oneof Delete Retain
storageclasses  volumeBindingMode  oneof Immediate WaitForFirstConsumer
storageclasses  parameters  frozen updates to parameters are forbidden.
storageclasses  provisioner  frozen updates to provisioner are forbidden.
storageclasses  reclaimPolicy  frozen updates to reclaimPolicy are forbidden.
storageclasses  volumeBindingMode  immutable
horizontalpodautoscalers  spec.minReplicas  atleast 1
horizontalpodautoscalers  spec.maxReplicas  check autoscaler
horizontalpodautoscalers  spec.scaleTargetRef  check scaled
horizontalpodautoscalers  spec.metrics  check metrics
horizontalpodautoscalers  spec.behavior?.scaleUp?  check scaling
horizontalpodautoscalers  spec.behavior?.scaleDown?  check scaling
priorityclasses  .  check priority_class
priorityclasses  value  frozen may not be changed in an update.
priorityclasses  preemptionPolicy  immutable
leases  spec  check lease
ingressclasses  spec.controller  immutable
ingressclasses  spec  check ingress_class
runtimeclasses  handler  required; label; immutable
limitranges  spec.limits  check limits
endpoints  subsets  check endpoint_subsets
endpoints  subsets[].addresses[].ip  check address
endpoints  subsets[].notReadyAddresses[].ip  check address
endpointslices  .  check endpoint_slice
endpointslices  addressType  immutable
certificatesigningrequests  spec.request  required
certificatesigningrequests  spec.signerName  required
certificatesigningrequests  spec.usages  required
volumeattachments  spec  check attachment
csidrivers  spec  check driver
csistoragecapacities  nodeTopology  immutable
csistoragecapacities  storageClassName  immutable
volumeattributesclasses  driverName  frozen updates to driverName are forbidden.
volumeattributesclasses  parameters  frozen updates to parameters are forbidden.
volumeattributesclasses  driverName  required; check provisioner
volumeattributesclasses  parameters  required must contain at least one key/value pair
resourceclaims,resourceclaimtemplates  spec  immutable
resourceslices  spec.pool.name  immutable
resourceslices  spec.driver  immutable
resourceslices  spec.nodeName  immutable
ipaddresses  spec.parentRef  check parent
flowschemas  spec.priorityLevelConfiguration.name  required must reference a priority level; check subdomain
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].name  required
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].admissionReviewVersions  required must specify one of v1, v1beta1
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].sideEffects  required must specify one of None, NoneOnDryRun
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks  unique name
mutatingwebhookconfigurations,validatingwebhookconfigurations  .  check webhooks
";

static RULES: LazyLock<BTreeMap<Name, Vec<Rule>>> = LazyLock::new(|| read(ROWS));

/// Returns the rules of a resource, in order.
pub(super) fn rules(resource: &str) -> &'static [Rule] {
    RULES.get(resource).map_or(&[], Vec::as_slice)
}

/// Reads rows, which become the rules of each resource that they name.
pub(super) fn read(rows: &'static str) -> BTreeMap<Name, Vec<Rule>> {
    let mut rules: BTreeMap<Name, Vec<Rule>> = BTreeMap::new();
    for (resources, rest) in rows.lines().filter_map(|line| line.split_once("  ")) {
        for resource in resources.split(',') {
            rules.entry(resource.into()).or_default().extend(row(rest));
        }
    }
    rules
}

fn row(line: &'static str) -> Option<Rule> {
    let (way, tests) = line.split_once("  ")?;
    Rule::parse(way.trim().into(), tests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn every_row_is_a_rule() {
        let rows = ROWS.lines().map(|line| {
            let (resources, _) = line.split_once("  ").expect("two columns");
            resources.split(',').count()
        });
        let expected: usize = rows.sum();
        assert_eq!(read(ROWS).values().map(Vec::len).sum::<usize>(), expected);
    }

    #[test]
    fn every_resource_of_the_table_exists() {
        let kinds = builtin::kinds();
        let read = read(ROWS);
        for resource in read.keys() {
            let mut names = kinds.iter().map(|kind| &*kind.resource.resource);
            assert!(names.any(|name| name == &**resource), "{resource}");
        }
    }
}
