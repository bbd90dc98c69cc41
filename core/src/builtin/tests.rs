//! Compares the table with upstream, kind by kind.

use super::*;
use crate::kind::NameRule;
use crate::managed;
use std::collections::BTreeSet;

#[test]
fn every_line_of_the_table_is_a_kind() {
    let lines: usize = GROUPS
        .iter()
        .map(|group| group.kinds.trim().lines().count())
        .sum();
    assert_eq!(kinds().len(), lines);
    assert!(lines > 60);
}

/// A flag that is not parsed would have no effect, and neither would a superfluous column.
#[test]
fn every_flag_of_the_table_says_something() {
    let nobody = Group {
        group: "example.com",
        version: "v1",
        kinds: "",
    };
    let plain = kind(&nobody, "as A - - - -").expect("a kind");
    for row in GROUPS.iter().flat_map(|group| group.kinds.lines()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        assert!(matches!(words.len(), 6 | 7), "{row}");
        for flag in words[5].chars().filter(|flag| *flag != '-') {
            let flagged = kind(&nobody, &format!("as A - - - {flag}"));
            assert_ne!(flagged.expect("a kind"), plain, "{flag} of {row}");
        }
    }
}

#[test]
fn kinds_and_resources_are_unique_and_stored_in_one_version() {
    let kinds = kinds();
    let resources: BTreeSet<_> = kinds.iter().map(|kind| kind.resource.clone()).collect();
    let names: BTreeSet<_> = kinds
        .iter()
        .map(|kind| (kind.resource.group.clone(), kind.kind.clone()))
        .collect();
    assert_eq!((resources.len(), names.len()), (kinds.len(), kinds.len()));
    for kind in &kinds {
        let stored = kind
            .versions
            .iter()
            .filter(|version| version.storage)
            .count();
        assert_eq!(stored, 1, "{}", kind.resource);
    }
}

#[test]
fn the_flags_that_matter_to_deletion_are_where_upstream_has_them() {
    let kinds = kinds();
    let find = |resource: &str| {
        let found = kinds
            .iter()
            .find(|kind| &*kind.resource.resource == resource);
        found.map(|kind| kind.strategy).expect("a kind")
    };
    assert!(find("pods").graceful && find("pods").returns_object);
    assert!(!find("configmaps").graceful && !find("configmaps").returns_object);
    assert_eq!(find("jobs").default_propagation, Propagation::Orphan);
    assert!(find("jobs").collected && !find("events").collected);
    let answers = kinds.iter().filter(|kind| kind.strategy.returns_object);
    let mut answers: Vec<&str> = answers.map(|kind| &*kind.kind).collect();
    answers.sort_unstable();
    let upstream = "CSIDriver CSINode DeviceClass Namespace PersistentVolume \
        PersistentVolumeClaim Pod PodTemplate ResourceClaim ResourceClaimTemplate \
        ResourceQuota ResourceSlice Service ServiceAccount StorageClass VolumeAttachment \
        VolumeAttributesClass";
    assert_eq!(answers.join(" "), upstream);
}

/// The columns: each kind that is stored; the place of its strategy (below `pkg/registry`, or the
/// server that owns it); the names it accepts; whether a finalizer without `/` must be a standard
/// one; whether an update needs a resourceVersion (`AllowUnconditionalUpdate`); whether a `PUT` may
/// create (`AllowCreateOnUpdate`); whether it counts generations (`PrepareForCreate`), including
/// changes of labels or just once; which members of `metadata` its status endpoint protects, `-` if
/// there is no such endpoint. Names and finalizers are those of `ValidateObjectMeta` in the kind's
/// validation: that of apimachinery requires no standard finalizer, that of `pkg/apis/core` does;
/// without either, any path segment is a valid name.
const UPSTREAM: &str = "\
configmaps                                                     core/configmap                                         subdomain standard free  -    -      -
endpoints                                                      core/endpoint                                          subdomain standard free  puts -      -
events                                                         core/event                                             segment   any      free  puts -      -
limitranges                                                    core/limitrange                                        subdomain standard free  puts -      -
namespaces                                                     core/namespace                                         label     standard free  -    -      nothing
nodes                                                          core/node                                              subdomain standard free  -    -      nothing
persistentvolumeclaims                                         core/persistentvolumeclaim                             subdomain standard free  -    -      nothing
persistentvolumes                                              core/persistentvolume                                  subdomain standard free  -    -      nothing
pods                                                           core/pod                                               subdomain standard free  -    counts ownerReferences
podtemplates                                                   core/podtemplate                                       subdomain standard free  -    counts -
replicationcontrollers                                         core/replicationcontroller                             subdomain standard free  -    counts nothing
resourcequotas                                                 core/resourcequota                                     subdomain standard free  -    -      nothing
secrets                                                        core/secret                                            subdomain standard free  -    -      -
serviceaccounts                                                core/serviceaccount                                    subdomain standard free  -    -      -
services                                                       core/service                                           label     standard free  puts -      nothing
controllerrevisions.apps                                       apps/controllerrevision                                subdomain standard free  -    -      -
daemonsets.apps                                                apps/daemonset                                         subdomain standard free  -    counts nothing
deployments.apps                                               apps/deployment                                        subdomain standard free  -    noted  labels
replicasets.apps                                               apps/replicaset                                        subdomain standard free  -    counts nothing
statefulsets.apps                                              apps/statefulset                                       label     standard free  -    counts nothing
events.events.k8s.io                                           core/event                                             subdomain standard free  puts -      -
horizontalpodautoscalers.autoscaling                           autoscaling/horizontalpodautoscaler                    subdomain standard free  -    counts nothing
cronjobs.batch                                                 batch/cronjob                                          subdomain standard free  -    counts nothing
jobs.batch                                                     batch/job                                              subdomain standard free  -    counts nothing
certificatesigningrequests.certificates.k8s.io                 certificates/certificates                              segment   standard free  -    -      nothing
ingressclasses.networking.k8s.io                               networking/ingressclass                                subdomain standard free  -    counts -
ingresses.networking.k8s.io                                    networking/ingress                                     subdomain standard free  -    counts nothing
ipaddresses.networking.k8s.io                                  networking/ipaddress                                   address   standard free  -    -      -
networkpolicies.networking.k8s.io                              networking/networkpolicy                               subdomain standard free  -    counts -
servicecidrs.networking.k8s.io                                 networking/servicecidr                                 subdomain standard free  -    -      labels,annotations,finalizers,ownerReferences
poddisruptionbudgets.policy                                    policy/poddisruptionbudget                             segment   any      needs -    counts nothing
clusterrolebindings.rbac.authorization.k8s.io                  rbac/clusterrolebinding                                segment   standard free  puts -      -
clusterroles.rbac.authorization.k8s.io                         rbac/clusterrole                                       segment   standard free  puts -      -
rolebindings.rbac.authorization.k8s.io                         rbac/rolebinding                                       segment   standard free  puts -      -
roles.rbac.authorization.k8s.io                                rbac/role                                              segment   standard free  puts -      -
csidrivers.storage.k8s.io                                      storage/csidriver                                      subdomain standard needs -    counts -
csinodes.storage.k8s.io                                        storage/csinode                                        subdomain standard needs -    -      -
csistoragecapacities.storage.k8s.io                            storage/csistoragecapacity                             subdomain standard needs -    -      -
storageclasses.storage.k8s.io                                  storage/storageclass                                   subdomain standard free  -    -      -
volumeattachments.storage.k8s.io                               storage/volumeattachment                               subdomain standard needs -    -      labels,annotations,finalizers,ownerReferences
volumeattributesclasses.storage.k8s.io                         storage/volumeattributesclass                          subdomain standard free  -    -      -
mutatingwebhookconfigurations.admissionregistration.k8s.io     admissionregistration/mutatingwebhookconfiguration     subdomain any      needs -    counts -
validatingadmissionpolicies.admissionregistration.k8s.io       admissionregistration/validatingadmissionpolicy        subdomain any      needs -    counts labels,annotations,finalizers,ownerReferences
validatingadmissionpolicybindings.admissionregistration.k8s.io admissionregistration/validatingadmissionpolicybinding subdomain any      needs -    counts -
validatingwebhookconfigurations.admissionregistration.k8s.io   admissionregistration/validatingwebhookconfiguration   subdomain any      needs -    counts -
customresourcedefinitions.apiextensions.k8s.io                 apiextensions-apiserver                                subdomain any      needs -    counts nothing
apiservices.apiregistration.k8s.io                             kube-aggregator                                        segment   any      needs -    -      labels,annotations,finalizers,ownerReferences
priorityclasses.scheduling.k8s.io                              scheduling/priorityclass                               subdomain standard free  -    stays  -
leases.coordination.k8s.io                                     coordination/lease                                     subdomain any      needs puts -      -
runtimeclasses.node.k8s.io                                     node/runtimeclass                                      subdomain any      needs puts -      -
endpointslices.discovery.k8s.io                                discovery/endpointslice                                subdomain standard free  -    labels -
flowschemas.flowcontrol.apiserver.k8s.io                       flowcontrol/flowschema                                 subdomain standard free  -    counts labels,annotations,finalizers,ownerReferences
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io       flowcontrol/prioritylevelconfiguration                 subdomain standard free  -    counts labels,annotations,finalizers,ownerReferences
deviceclasses.resource.k8s.io                                  resource/deviceclass                                   subdomain standard free  -    counts -
resourceclaims.resource.k8s.io                                 resource/resourceclaim                                 subdomain standard free  -    -      labels,annotations,finalizers,ownerReferences
resourceclaimtemplates.resource.k8s.io                         resource/resourceclaimtemplate                         subdomain standard free  -    -      -
resourceslices.resource.k8s.io                                 resource/resourceslice                                 subdomain standard free  -    counts -
";

#[test]
fn every_kind_that_is_stored_behaves_as_upstreams() {
    let names = |rule| match rule {
        NameRule::Subdomain => "subdomain",
        NameRule::Label => "label",
        NameRule::PathSegment => "segment",
        NameRule::Address => "address",
    };
    let generation = |moved_by| match moved_by {
        Generation::Uncounted => "-",
        Generation::Spec => "counts",
        Generation::SpecAndLabels => "labels",
        Generation::SpecAndAnnotations => "noted",
        Generation::Still => "stays",
    };
    let word = |flag: bool, one: &'static str, other: &'static str| if flag { one } else { other };
    let mut upstream = UPSTREAM.lines();
    for kind in kinds().iter().filter(|kind| !kind.strategy.review) {
        let flags = kind.strategy;
        let status = match (kind.versions[0].has_status(), managed::kept(kind)) {
            (false, _) => "-".to_owned(),
            (true, []) => "nothing".to_owned(),
            (true, kept) => kept.join(","),
        };
        let row = upstream.next().expect("a row for every kind");
        let words: Vec<&str> = row.split_whitespace().collect();
        let ours = [
            &*kind.resource.to_string(),
            words[1],
            names(flags.names),
            word(flags.strict_finalizers, "standard", "any"),
            word(flags.unconditional_update, "free", "needs"),
            word(flags.create_on_update, "puts", "-"),
            generation(flags.generation),
            &*status,
        ];
        assert_eq!(ours, words[..]);
    }
    assert_eq!(upstream.next(), None);
}

#[test]
fn every_row_of_what_is_deprecated_is_a_version_that_is_served() {
    let kinds = kinds();
    let versions = kinds.iter().flat_map(|kind| &kind.versions);
    let told = versions.filter_map(|version| version.deprecation_warning.as_deref());
    let rows = DEPRECATED.iter().map(|row| row.3);
    assert_eq!(told.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}
