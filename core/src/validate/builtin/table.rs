//! The table of rules. A row is `resources path tests`; rows are in the order in which upstream
//! reports errors.

use super::rule::Rule;
use crate::builtin;
use crate::object::Name;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const ROWS: &str = "\
deployments,replicasets,statefulsets,daemonsets  spec.minReadySeconds  atleast 0
deployments,replicasets,statefulsets,replicationcontrollers  spec.replicas  atleast 0
deployments,replicasets,statefulsets  spec.selector  present
deployments,replicasets,daemonsets  spec.selector  immutable
deployments,statefulsets,daemonsets  spec.revisionHistoryLimit  atleast 0
deployments  spec.strategy.type  oneof Recreate RollingUpdate
deployments  spec.progressDeadlineSeconds  atleast 0
daemonsets  spec.updateStrategy.type  oneof RollingUpdate OnDelete
replicationcontrollers  spec.template  present
replicationcontrollers  spec.selector  required
controllerrevisions  data  immutable
jobs  spec.parallelism  atleast 0
jobs  spec.completions  atleast 0
jobs  spec.activeDeadlineSeconds  atleast 0
jobs  spec.backoffLimit  atleast 0
jobs  spec.ttlSecondsAfterFinished  atleast 0
jobs  spec.completionMode  oneof NonIndexed Indexed
cronjobs  spec.schedule  required
cronjobs  spec.startingDeadlineSeconds  atleast 0
cronjobs  spec.concurrencyPolicy  oneof Allow Forbid Replace
cronjobs  spec.successfulJobsHistoryLimit  atleast 0
cronjobs  spec.failedJobsHistoryLimit  atleast 0
services  spec.type  oneof ClusterIP ExternalName LoadBalancer NodePort
services  spec.sessionAffinity  oneof ClientIP None
services  spec.ports  unique name
secrets  type  immutable
rolebindings,clusterrolebindings  roleRef.name  required
rolebindings,clusterrolebindings  subjects[].name  required
rolebindings,clusterrolebindings  roleRef  immutable cannot change roleRef
persistentvolumes  spec.accessModes  required
persistentvolumes  spec.capacity  required
persistentvolumes  spec.persistentVolumeReclaimPolicy  oneof Delete Recycle Retain
storageclasses  provisioner  required; frozen updates to provisioner are forbidden.
storageclasses  parameters  frozen updates to parameters are forbidden.
storageclasses  reclaimPolicy  oneof Delete Retain; immutable
storageclasses  volumeBindingMode  oneof Immediate WaitForFirstConsumer; immutable
horizontalpodautoscalers  spec.scaleTargetRef.kind  required
horizontalpodautoscalers  spec.scaleTargetRef.name  required
horizontalpodautoscalers  spec.minReplicas  atleast 1
priorityclasses  value  frozen may not be changed in an update.
priorityclasses  preemptionPolicy  oneof Never PreemptLowerPriority; immutable
leases  spec.leaseTransitions  atleast 0
ingressclasses  spec.controller  required; immutable
runtimeclasses  handler  required; immutable
endpointslices  addressType  required; immutable
certificatesigningrequests  spec.request  required
certificatesigningrequests  spec.signerName  required
certificatesigningrequests  spec.usages  required
volumeattachments  spec.attacher  required
volumeattachments  spec.nodeName  required
volumeattachments  spec  immutable
csidrivers  spec.attachRequired  immutable
csidrivers  spec.volumeLifecycleModes  immutable
csistoragecapacities  nodeTopology  immutable
csistoragecapacities  storageClassName  immutable
volumeattributesclasses  driverName  frozen updates to driverName are forbidden.; required
volumeattributesclasses  parameters  frozen updates to parameters are forbidden.; required must contain at least one key/value pair
resourceclaims,resourceclaimtemplates  spec  immutable
resourceslices  spec.pool.name  immutable
resourceslices  spec.driver  immutable
resourceslices  spec.nodeName  immutable
ipaddresses  spec.parentRef  immutable
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].name  required
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].admissionReviewVersions  required must specify one of v1, v1beta1
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks[].sideEffects  required must specify one of None, NoneOnDryRun
mutatingwebhookconfigurations,validatingwebhookconfigurations  webhooks  unique name
";

const POD_ROWS: &str = "\
volumes[].name  required; label
volumes  unique name
containers  required
@containers
@initContainers
restartPolicy  oneof Always OnFailure Never
dnsPolicy  oneof ClusterFirstWithHostNet ClusterFirst Default None
activeDeadlineSeconds  between 1 2147483647
volumes[].configMap?.name  required
volumes[].secret?.secretName  required
volumes[].hostPath?.path  required
volumes[].persistentVolumeClaim?.claimName  required
";

/// Rows for containers; the paths start at a container.
const CONTAINER_ROWS: &str = "\
name  required; label
image  required
imagePullPolicy  oneof Always IfNotPresent Never
terminationMessagePolicy  oneof File FallbackToLogsOnError
ports[].containerPort  required; between 1 65535
ports[].hostPort  between 1 65535
ports[].protocol  oneof SCTP TCP UDP
ports  unique name
env[].name  required
volumeMounts[].name  required
volumeMounts[].mountPath  required
";

/// Kinds whose pods must restart always; the row for this comes after those of the pod.
const KEEP_RUNNING: [&str; 5] = [
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "replicationcontrollers",
];
const ALWAYS: &str = "oneof Always";

static RULES: LazyLock<BTreeMap<Name, Vec<Rule>>> = LazyLock::new(read);

/// Returns the rules of a resource, in order.
pub(super) fn rules(resource: &str) -> &'static [Rule] {
    RULES.get(resource).map_or(&[], Vec::as_slice)
}

fn read() -> BTreeMap<Name, Vec<Rule>> {
    let mut rules: BTreeMap<Name, Vec<Rule>> = BTreeMap::new();
    for (resources, rest) in ROWS.lines().filter_map(|line| line.split_once("  ")) {
        for resource in resources.split(',') {
            rules
                .entry(resource.into())
                .or_default()
                .extend(row("", rest));
        }
    }
    for kind in builtin::kinds() {
        let Some(pod) = &kind.pod else {
            continue;
        };
        let runs_on = KEEP_RUNNING.contains(&&*kind.resource.resource);
        let own = rules.entry(kind.resource.resource).or_default();
        own.extend(pod_rules(pod));
        if runs_on {
            own.extend(Rule::parse(format!("{pod}.restartPolicy"), ALWAYS));
        }
    }
    rules
}

fn pod_rules(pod: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    for line in POD_ROWS.lines() {
        let Some(list) = line.strip_prefix('@') else {
            rules.extend(row(&format!("{pod}."), line));
            continue;
        };
        let base = format!("{pod}.{list}[].");
        rules.extend(CONTAINER_ROWS.lines().filter_map(|line| row(&base, line)));
        rules.extend(Rule::parse(format!("{pod}.{list}"), "unique name"));
    }
    rules
}

fn row(base: &str, line: &'static str) -> Option<Rule> {
    let (way, tests) = line.split_once("  ")?;
    Rule::parse(format!("{base}{}", way.trim()), tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_rule() {
        let rows = ROWS.lines().map(|line| {
            let (resources, _) = line.split_once("  ").expect("two columns");
            resources.split(',').count()
        });
        let container = CONTAINER_ROWS.lines().count() + 1;
        let pod = POD_ROWS.lines().count() - 2 + 2 * container;
        let kinds = builtin::kinds();
        let pods = kinds.iter().filter(|kind| kind.pod.is_some()).count();
        let expected = rows.sum::<usize>() + pods * pod + KEEP_RUNNING.len();
        assert_eq!(read().values().map(Vec::len).sum::<usize>(), expected);
    }

    #[test]
    fn every_resource_of_the_table_exists() {
        let kinds = builtin::kinds();
        let read = read();
        let rows = read.keys().map(|resource| &**resource);
        let checks = super::super::CHECKS.iter().flat_map(|row| row.0);
        for resource in rows.chain(checks.chain(&KEEP_RUNNING).copied()) {
            let mut names = kinds.iter().map(|kind| &*kind.resource.resource);
            assert!(names.any(|name| name == resource), "{resource}");
        }
    }
}
