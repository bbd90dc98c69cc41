//! The ownership of lists, maps and structures in built-in kinds, checked against upstream's OpenAPI document
//! (the `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` of 1.36, and the defaults of keys).

use crate::schemas::Schemas;
use hindsight_core::kind::{BuiltinSchemas, GroupVersionKind};
use hindsight_core::schema::{ItemIdentity, Schema};

/// A line `apiVersion Kind`, followed by paths and how each value is owned: as a whole (`atomic`), member by
/// member (`members`), or item by item (`set`, or `map` with the keys, and the default of each that has one).
const OWNED: &str = r#"
v1 Pod
metadata members
metadata.labels members
metadata.finalizers set
metadata.ownerReferences map uid=""
metadata.ownerReferences[] atomic
spec members
spec.affinity members
spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution atomic
spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution atomic
spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution atomic
spec.containers map name=""
spec.containers[] members
spec.containers[].args atomic
spec.containers[].command atomic
spec.containers[].env map name=""
spec.containers[].env[].valueFrom members
spec.containers[].env[].valueFrom.configMapKeyRef atomic
spec.containers[].env[].valueFrom.fieldRef atomic
spec.containers[].env[].valueFrom.fileKeyRef atomic
spec.containers[].env[].valueFrom.resourceFieldRef atomic
spec.containers[].env[].valueFrom.secretKeyRef atomic
spec.containers[].envFrom atomic
spec.containers[].ports map containerPort=0 protocol="TCP"
spec.containers[].resizePolicy atomic
spec.containers[].resources members
spec.containers[].resources.claims map name=""
spec.containers[].resources.limits members
spec.containers[].securityContext.capabilities.add atomic
spec.containers[].volumeDevices map devicePath=""
spec.containers[].volumeMounts map mountPath=""
spec.dnsConfig.options atomic
spec.ephemeralContainers map name=""
spec.ephemeralContainers[].ports map containerPort=0 protocol="TCP"
spec.hostAliases map ip=""
spec.hostAliases[].hostnames atomic
spec.imagePullSecrets map name=""
spec.imagePullSecrets[] atomic
spec.initContainers map name=""
spec.nodeSelector atomic
spec.overhead members
spec.readinessGates atomic
spec.resourceClaims map name=""
spec.schedulingGates map name=""
spec.securityContext members
spec.securityContext.sysctls atomic
spec.tolerations atomic
spec.topologySpreadConstraints map topologyKey="" whenUnsatisfiable=""
spec.topologySpreadConstraints[].labelSelector atomic
spec.volumes map name=""
spec.volumes[].configMap.items atomic
spec.volumes[].csi.nodePublishSecretRef atomic
spec.volumes[].ephemeral.volumeClaimTemplate.spec.dataSource atomic
spec.volumes[].ephemeral.volumeClaimTemplate.spec.dataSourceRef members
spec.volumes[].projected.sources atomic
status.conditions map type=""
status.containerStatuses atomic
status.hostIPs atomic
status.podIPs map ip=""
status.resourceClaimStatuses map name=""
v1 Endpoints
subsets atomic
v1 Event
involvedObject atomic
source members
v1 Namespace
spec.finalizers atomic
status.conditions map type=""
v1 Node
spec.podCIDRs set
spec.taints atomic
status.addresses map type=""
status.conditions map type=""
status.images atomic
status.volumesAttached atomic
v1 PersistentVolume
spec.accessModes atomic
spec.claimRef members
spec.csi.controllerPublishSecretRef atomic
spec.nodeAffinity.required atomic
v1 PersistentVolumeClaim
spec.resources.requests members
spec.selector atomic
status.allocatedResourceStatuses members
v1 ReplicationController
spec.selector atomic
status.conditions map type=""
v1 ResourceQuota
spec.hard members
spec.scopeSelector atomic
spec.scopes atomic
v1 Secret
data members
v1 Service
spec.clusterIPs atomic
spec.ports map port=0 protocol="TCP"
spec.selector atomic
spec.sessionAffinityConfig.clientIP members
status.conditions map type=""
status.loadBalancer.ingress atomic
v1 ServiceAccount
imagePullSecrets atomic
secrets map name
secrets[] atomic
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration
webhooks map name=""
webhooks[].clientConfig members
webhooks[].matchConditions map name=""
webhooks[].namespaceSelector atomic
webhooks[].rules atomic
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy
spec.matchConditions map name=""
spec.matchConstraints atomic
spec.paramKind atomic
spec.validations atomic
spec.variables map name=""
spec.variables[] atomic
status.conditions map type=""
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding
spec.matchResources atomic
spec.paramRef atomic
spec.validationActions set
apiextensions.k8s.io/v1 CustomResourceDefinition
spec.names.shortNames atomic
spec.versions atomic
status.conditions map type=""
status.storedVersions atomic
apiregistration.k8s.io/v1 APIService
status.conditions map type=""
apps/v1 DaemonSet
status.conditions map type=""
apps/v1 Deployment
spec.selector atomic
spec.strategy members
spec.template.metadata.labels members
spec.template.spec.containers map name=""
status.conditions map type=""
apps/v1 ReplicaSet
status.conditions map type=""
apps/v1 StatefulSet
spec.volumeClaimTemplates atomic
status.conditions map type=""
autoscaling/v1 HorizontalPodAutoscaler
spec.scaleTargetRef atomic
autoscaling/v2 HorizontalPodAutoscaler
spec.metrics atomic
spec.scaleTargetRef members
status.conditions map type=""
status.currentMetrics atomic
batch/v1 CronJob
status.active atomic
batch/v1 Job
spec.podFailurePolicy.rules atomic
spec.podFailurePolicy.rules[].onExitCodes.values set
status.conditions atomic
status.uncountedTerminatedPods.failed set
certificates.k8s.io/v1 CertificateSigningRequest
spec.extra members
spec.usages atomic
status.conditions map type=""
discovery.k8s.io/v1 EndpointSlice
endpoints atomic
endpoints[].addresses set
ports atomic
ports[] atomic
flowcontrol.apiserver.k8s.io/v1 FlowSchema
spec.priorityLevelConfiguration members
spec.rules atomic
spec.rules[].resourceRules[].verbs set
status.conditions map type
networking.k8s.io/v1 Ingress
spec.defaultBackend.resource atomic
spec.defaultBackend.service members
spec.defaultBackend.service.port atomic
spec.rules atomic
spec.tls atomic
networking.k8s.io/v1 NetworkPolicy
spec.egress atomic
spec.podSelector atomic
spec.policyTypes atomic
networking.k8s.io/v1 ServiceCIDR
spec.cidrs atomic
status.conditions map type=""
node.k8s.io/v1 RuntimeClass
scheduling.nodeSelector atomic
scheduling.tolerations atomic
policy/v1 PodDisruptionBudget
spec.selector atomic
status.conditions map type=""
status.disruptedPods members
rbac.authorization.k8s.io/v1 ClusterRole
aggregationRule members
rules atomic
rbac.authorization.k8s.io/v1 RoleBinding
roleRef atomic
subjects atomic
subjects[] atomic
resource.k8s.io/v1 ResourceClaim
spec.devices members
spec.devices.requests atomic
status.allocation.nodeSelector atomic
status.devices map driver="" device="" pool="" shareID
status.devices[].conditions map type=""
status.reservedFor map uid=""
resource.k8s.io/v1 ResourceSlice
spec.devices atomic
spec.pool members
storage.k8s.io/v1 CSIDriver
spec.tokenRequests atomic
spec.volumeLifecycleModes set
storage.k8s.io/v1 CSINode
spec.drivers map name=""
spec.drivers[].topologyKeys atomic
storage.k8s.io/v1 CSIStorageCapacity
nodeTopology atomic
storage.k8s.io/v1 StorageClass
allowedTopologies atomic
allowedTopologies[] atomic
parameters members
storage.k8s.io/v1 VolumeAttachment
spec.source members
spec.source.inlineVolumeSpec.claimRef members
"#;

fn below<'a>(schema: &'a Schema, path: &str) -> Option<&'a Schema> {
    path.split('.').try_fold(schema, |schema, name| {
        let member = schema.properties.get(name.trim_end_matches("[]"))?;
        if name.ends_with("[]") {
            member.items.as_deref()
        } else {
            Some(&**member)
        }
    })
}

fn owned(schema: &Schema) -> String {
    let key = |key: &str| {
        let items = schema.items.as_ref().expect("items");
        let default = items.properties[key].default.as_ref();
        default.map_or_else(|| key.to_owned(), |default| format!("{key}={default}"))
    };
    match (&*schema.type_name, &schema.identity) {
        ("array", ItemIdentity::Atomic) => "atomic".into(),
        ("array", ItemIdentity::Set) => "set".into(),
        ("array", ItemIdentity::Map(keys)) => {
            let keys: Vec<String> = keys.iter().map(|one| key(one)).collect();
            format!("map {}", keys.join(" "))
        }
        ("object", _) if schema.atomic => "atomic".into(),
        ("object", _) => "members".into(),
        (other, _) => other.to_owned(),
    }
}

#[test]
fn lists_maps_and_structures_of_built_in_kinds_are_owned_as_upstream_has_them() {
    let schemas = Schemas::default();
    let (mut name, mut kind) = ("", None);
    let mut other = Vec::new();
    for line in OWNED.lines().filter(|line| !line.is_empty()) {
        let (path, expected) = line.split_once(' ').expect("two words");
        if expected.starts_with(|one: char| one.is_uppercase()) {
            let named = GroupVersionKind::parse(path, expected).expect("a kind");
            kind = schemas.schema(&named);
            name = expected;
            assert!(kind.is_some(), "{line}");
            continue;
        }
        let schema = kind.as_ref().expect("a kind before its paths");
        let found = below(schema, path).map(owned);
        if found.as_deref() != Some(expected) {
            other.push(format!("{name} {line}: {found:?}"));
        }
    }
    assert!(other.is_empty(), "{other:#?}");
}
