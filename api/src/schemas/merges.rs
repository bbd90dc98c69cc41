//! How lists and maps of built-in kinds merge, which their generated schemas do not say. Clients that merge on
//! their own are told, too. Source: the `+listType`, `+listMapKey`, `+patchStrategy` and `+structType` marks of
//! the API types.

use serde_json::{Map, Value, json};

/// `definition field list-type keys patch-strategy`, `-` for none. A list that is not here is
/// replaced as a whole.
const ROWS: &str = "\
api.admissionregistration.v1.MutatingWebhook matchConditions map name merge
api.admissionregistration.v1.MutatingWebhookConfiguration webhooks map name merge
api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec validationActions set - -
api.admissionregistration.v1.ValidatingAdmissionPolicySpec matchConditions map name merge
api.admissionregistration.v1.ValidatingAdmissionPolicySpec variables map name merge
api.admissionregistration.v1.ValidatingAdmissionPolicyStatus conditions map type -
api.admissionregistration.v1.ValidatingWebhook matchConditions map name merge
api.admissionregistration.v1.ValidatingWebhookConfiguration webhooks map name merge
api.apps.v1.DaemonSetStatus conditions map type merge
api.apps.v1.DeploymentStatus conditions map type merge
api.apps.v1.ReplicaSetStatus conditions map type merge
api.apps.v1.StatefulSetStatus conditions map type merge
api.autoscaling.v2.HorizontalPodAutoscalerStatus conditions map type merge
api.batch.v1.JobStatus conditions atomic type merge
api.batch.v1.PodFailurePolicyOnExitCodesRequirement values set - -
api.batch.v1.UncountedTerminatedPods failed set - -
api.batch.v1.UncountedTerminatedPods succeeded set - -
api.certificates.v1.CertificateSigningRequestStatus conditions map type -
api.core.v1.Container env map name merge
api.core.v1.Container ports map containerPort,protocol merge
api.core.v1.Container volumeDevices map devicePath merge
api.core.v1.Container volumeMounts map mountPath merge
api.core.v1.ContainerRestartRuleOnExitCodes values set - -
api.core.v1.ContainerStatus allocatedResourcesStatus map name -
api.core.v1.ContainerStatus volumeMounts map mountPath merge
api.core.v1.EphemeralContainer env map name merge
api.core.v1.EphemeralContainer ports map containerPort,protocol merge
api.core.v1.EphemeralContainer volumeDevices map devicePath merge
api.core.v1.EphemeralContainer volumeMounts map mountPath merge
api.core.v1.NamespaceStatus conditions map type merge
api.core.v1.NodeAllocatableResourceClaimStatus containers set - -
api.core.v1.NodeSpec podCIDRs set - merge
api.core.v1.NodeStatus addresses map type merge
api.core.v1.NodeStatus conditions map type merge
api.core.v1.PersistentVolumeClaimStatus conditions map type merge
api.core.v1.PersistentVolumeSpec claimRef granular-map - -
api.core.v1.PodSpec containers map name merge
api.core.v1.PodSpec ephemeralContainers map name merge
api.core.v1.PodSpec hostAliases map ip merge
api.core.v1.PodSpec imagePullSecrets map name merge
api.core.v1.PodSpec initContainers map name merge
api.core.v1.PodSpec nodeSelector atomic-map - -
api.core.v1.PodSpec resourceClaims map name merge,retainKeys
api.core.v1.PodSpec schedulingGates map name merge
api.core.v1.PodSpec topologySpreadConstraints map topologyKey,whenUnsatisfiable merge
api.core.v1.PodSpec volumes map name merge,retainKeys
api.core.v1.PodStatus conditions map type merge
api.core.v1.PodStatus hostIPs atomic ip merge
api.core.v1.PodStatus podIPs map ip merge
api.core.v1.PodStatus resourceClaimStatuses map name merge,retainKeys
api.core.v1.ReplicationControllerSpec selector atomic-map - -
api.core.v1.ReplicationControllerStatus conditions map type merge
api.core.v1.ResourceRequirements claims map name -
api.core.v1.ResourceStatus resources map resourceID -
api.core.v1.ServiceAccount secrets map name merge
api.core.v1.ServiceSpec ports map port,protocol merge
api.core.v1.ServiceSpec selector atomic-map - -
api.core.v1.ServiceStatus conditions map type merge
api.discovery.v1.Endpoint addresses set - -
api.flowcontrol.v1.FlowSchemaStatus conditions map type merge
api.flowcontrol.v1.NonResourcePolicyRule nonResourceURLs set - -
api.flowcontrol.v1.NonResourcePolicyRule verbs set - -
api.flowcontrol.v1.PriorityLevelConfigurationStatus conditions map type merge
api.flowcontrol.v1.ResourcePolicyRule apiGroups set - -
api.flowcontrol.v1.ResourcePolicyRule namespaces set - -
api.flowcontrol.v1.ResourcePolicyRule resources set - -
api.flowcontrol.v1.ResourcePolicyRule verbs set - -
api.networking.v1.ServiceCIDRStatus conditions map type merge
api.node.v1.Scheduling nodeSelector atomic-map - -
api.policy.v1.PodDisruptionBudgetSpec selector - - replace
api.policy.v1.PodDisruptionBudgetStatus conditions map type merge
api.resource.v1.AllocatedDeviceStatus conditions map type -
api.resource.v1.ResourceClaimStatus devices map driver,device,pool,shareID -
api.resource.v1.ResourceClaimStatus reservedFor map uid merge
api.storage.v1.CSIDriverSpec volumeLifecycleModes set - -
api.storage.v1.CSINodeSpec drivers map name merge
apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus conditions map type -
apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps x-kubernetes-validations map rule -
apimachinery.pkg.apis.meta.v1.ObjectMeta finalizers set - merge
apimachinery.pkg.apis.meta.v1.ObjectMeta ownerReferences map uid merge
kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus conditions map type merge
api.apps.v1.DeploymentSpec strategy - - retainKeys
";

/// Definitions that are replaced as a whole.
const ATOMIC: &[&str] = &[
    "api.admissionregistration.v1.MatchResources",
    "api.admissionregistration.v1.NamedRuleWithOperations",
    "api.admissionregistration.v1.ParamKind",
    "api.admissionregistration.v1.ParamRef",
    "api.admissionregistration.v1.Variable",
    "api.autoscaling.v1.CrossVersionObjectReference",
    "api.core.v1.ConfigMapKeySelector",
    "api.core.v1.EndpointAddress",
    "api.core.v1.EndpointPort",
    "api.core.v1.FileKeySelector",
    "api.core.v1.LocalObjectReference",
    "api.core.v1.NodeSelector",
    "api.core.v1.NodeSelectorTerm",
    "api.core.v1.ObjectFieldSelector",
    "api.core.v1.ObjectReference",
    "api.core.v1.ResourceFieldSelector",
    "api.core.v1.ScopeSelector",
    "api.core.v1.SecretKeySelector",
    "api.core.v1.SecretReference",
    "api.core.v1.TopologySelectorTerm",
    "api.core.v1.TypedLocalObjectReference",
    "api.discovery.v1.EndpointPort",
    "api.networking.v1.ServiceBackendPort",
    "api.rbac.v1.RoleRef",
    "api.rbac.v1.Subject",
    "apimachinery.pkg.apis.meta.v1.LabelSelector",
    "apimachinery.pkg.apis.meta.v1.OwnerReference",
];

/// Annotates a definition with how each of its lists and maps merges.
pub(super) fn annotate(name: &str, definition: &mut Value) {
    let Some(name) = name.strip_prefix("io.k8s.") else {
        return;
    };
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    if ATOMIC.contains(&name) {
        members.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (field, schema) in properties {
        let Some(schema) = schema.as_object_mut() else {
            continue;
        };
        match row(name, field) {
            Some(row) => annotate_field(&row, schema),
            None if schema.get("type") == Some(&json!("array")) => {
                schema.insert("x-kubernetes-list-type".into(), "atomic".into());
            }
            None => {}
        }
    }
}

/// List type, keys, patch strategy.
type Row<'a> = (&'a str, &'a str, &'a str);

fn row(name: &str, field: &str) -> Option<Row<'static>> {
    ROWS.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(' ')?;
        let mut words = rest.strip_prefix(field)?.strip_prefix(' ')?.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    })
}

fn annotate_field(row: &Row<'_>, schema: &mut Map<String, Value>) {
    let (kind, keys, strategy) = *row;
    let keys: Vec<&str> = keys.split(',').filter(|key| *key != "-").collect();
    match kind {
        "-" => {}
        "atomic-map" => drop(schema.insert("x-kubernetes-map-type".into(), "atomic".into())),
        "granular-map" => drop(schema.insert("x-kubernetes-map-type".into(), "granular".into())),
        kind => drop(schema.insert("x-kubernetes-list-type".into(), kind.into())),
    }
    if kind == "map" {
        schema.insert("x-kubernetes-list-map-keys".into(), json!(keys));
    }
    if strategy != "-" {
        schema.insert("x-kubernetes-patch-strategy".into(), strategy.into());
        if let Some(key) = keys.first() {
            schema.insert("x-kubernetes-patch-merge-key".into(), (*key).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    #[test]
    fn every_row_names_a_field() {
        let mut left: Vec<&str> = ROWS.lines().collect();
        for kind in hindsight_core::builtin::kinds() {
            let version = &kind.versions[0].name;
            let made = document(&kind.resource.group, version, &kind.kind);
            let (name, mut root) = made.expect("a schema");
            let definitions = root["definitions"].take();
            let mut all = definitions.as_object().cloned().unwrap_or_default();
            all.insert(name, root);
            left.retain(|line| {
                let mut words = line.split(' ');
                let name = format!("io.k8s.{}", words.next().expect("a definition"));
                let field = words.next().expect("a field");
                assert_eq!(words.count(), 3, "{line}");
                all.get(&name)
                    .is_none_or(|one| one["properties"][field].is_null())
            });
        }
        assert_eq!(left, [""; 0]);
    }

    #[test]
    fn lists_say_how_they_merge() {
        let mut container = json!({"properties": {"ports": {"type": "array"},
            "args": {"type": "array"}, "image": {"type": "string"}}});
        annotate("io.k8s.api.core.v1.Container", &mut container);
        let expected = json!({"properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "containerPort"},
            "args": {"type": "array", "x-kubernetes-list-type": "atomic"},
            "image": {"type": "string"}}});
        assert_eq!(container, expected);
    }
}
