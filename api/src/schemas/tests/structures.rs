//! Every structure of a built-in kind that is reached only through structures which are always present is
//! itself listed as always present, or is known to be a pointer in upstream's types.

use crate::schemas::Schemas;
use hindsight_core::builtin;
use hindsight_core::kind::{BuiltinSchemas, GroupVersionKind};
use hindsight_core::managed::always_there;
use hindsight_core::schema::Schema;
use std::collections::BTreeSet;
use std::sync::Arc;

/// `Kind path ...` of structures that may be absent, checked one by one: upstream's OpenAPI document gives them
/// no default.
const POINTERS: &str = "\
APIService /spec/service
CSIStorageCapacity /nodeTopology
ClusterRole /aggregationRule
CustomResourceDefinition /spec/conversion
DaemonSet /spec/selector /spec/updateStrategy/rollingUpdate
Deployment /spec/selector /spec/strategy/rollingUpdate
Event /related /series
FlowSchema /spec/distinguisherMethod
HorizontalPodAutoscaler /spec/behavior
IPAddress /spec/parentRef
Ingress /spec/defaultBackend
IngressClass /spec/parameters
Job /spec/podFailurePolicy /spec/selector /spec/successPolicy /status/uncountedTerminatedPods
Node /spec/configSource /status/config /status/features /status/nodeInfo/swap
PersistentVolume /spec/awsElasticBlockStore /spec/azureDisk /spec/azureFile /spec/cephfs /spec/cinder
PersistentVolume /spec/claimRef /spec/csi /spec/fc /spec/flexVolume /spec/flocker
PersistentVolume /spec/gcePersistentDisk /spec/glusterfs /spec/hostPath /spec/iscsi /spec/local
PersistentVolume /spec/nfs /spec/nodeAffinity /spec/photonPersistentDisk /spec/portworxVolume
PersistentVolume /spec/quobyte /spec/rbd /spec/scaleIO /spec/storageos /spec/vsphereVolume
PersistentVolumeClaim /spec/dataSource /spec/dataSourceRef /spec/selector /status/modifyVolumeStatus
Pod /spec/affinity /spec/dnsConfig /spec/os /spec/resources /spec/schedulingGroup
Pod /spec/securityContext /status/extendedResourceClaimStatus /status/resources
PodDisruptionBudget /spec/selector
PriorityLevelConfiguration /spec/exempt /spec/limited
ReplicaSet /spec/selector
ReplicationController /spec/template
ResourceClaim /status/allocation
ResourceQuota /spec/scopeSelector
ResourceSlice /spec/nodeSelector
RuntimeClass /overhead /scheduling
Service /spec/sessionAffinityConfig
StatefulSet /spec/ordinals /spec/persistentVolumeClaimRetentionPolicy /spec/selector
StatefulSet /spec/updateStrategy/rollingUpdate
ValidatingAdmissionPolicy /spec/matchConstraints /spec/paramKind /status/typeChecking
ValidatingAdmissionPolicyBinding /spec/matchResources /spec/paramRef
VolumeAttachment /spec/source/inlineVolumeSpec /status/attachError /status/detachError
";

/// A path within a template belongs to the kind that the template makes.
fn home(kind: &str, path: &str) -> (String, String) {
    for (template, made) in [("/template", "Pod"), ("/jobTemplate", "Job")] {
        if let Some((_, rest)) = path
            .split_once(template)
            .filter(|(_, rest)| !rest.is_empty())
        {
            return (made.into(), rest.into());
        }
    }
    (kind.into(), path.into())
}

/// The members of a structure that are structures themselves, without the object's metadata.
fn structures<'a>(schema: &'a Schema, path: &str) -> Vec<(String, &'a Schema)> {
    let members = schema.properties.iter();
    let members = members.filter(|(name, member)| {
        let is_metadata = path.is_empty() && &***name == "metadata";
        !member.properties.is_empty() && !is_metadata
    });
    members
        .map(|(name, member)| (format!("{path}/{name}"), &**member))
        .collect()
}

#[test]
fn every_structure_that_is_always_there_is_known_and_no_other() {
    let schemas = Schemas::default();
    let mut pointers = BTreeSet::new();
    for kind in builtin::kinds().iter().filter(|kind| !kind.strategy.review) {
        for version in &kind.versions {
            let named = GroupVersionKind {
                group: Arc::clone(&kind.resource.group),
                version: Arc::clone(&version.name),
                kind: Arc::clone(&kind.kind),
            };
            let schema = schemas.schema(&named).expect("a schema");
            let mut left: BTreeSet<&str> = always_there(&named.group, &named.kind)
                .iter()
                .copied()
                .collect();
            let always = left.clone();
            let mut reached = vec![(String::new(), &*schema)];
            while let Some((path, structure)) = reached.pop() {
                left.remove(&*path);
                for (path, below) in structures(structure, &path) {
                    if always.contains(&*path) {
                        reached.push((path, below));
                    } else {
                        pointers.insert(home(&kind.kind, &path));
                    }
                }
            }
            assert!(left.is_empty(), "{} has no {left:?}", kind.kind);
        }
    }
    let row = |line: &'static str| {
        let mut words = line.split(' ').map(str::to_owned);
        let kind = words.next().expect("a kind");
        words.map(move |path| (kind.clone(), path))
    };
    let known: BTreeSet<(String, String)> = POINTERS.lines().flat_map(row).collect();
    let unknown: Vec<_> = pointers.symmetric_difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}
