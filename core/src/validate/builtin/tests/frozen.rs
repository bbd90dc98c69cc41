//! What the kinds of storage, nodes, networks and devices refuse to change, and the exceptions.

use super::{Update, check_updates};

const UPDATES: &[Update<'static>] = &[
    (
        "persistentvolumes",
        "{}",
        r#"{"spec": {"hostPath": {"path": "/b"}}}"#,
        &[
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
        ],
    ),
    (
        "persistentvolumes",
        "{}",
        r#"{"spec": {"hostPath": null, "nfs": {"server": "s", "path": "/"}}}"#,
        &[
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
        ],
    ),
    (
        "persistentvolumes",
        "{}",
        r#"{"spec": {"nfs": {"server": "s", "path": "/"}}}"#,
        &[
            "spec.nfs: Forbidden: may not specify more than 1 volume type",
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"hostPath": null, "csi": {"driver": "d", "volumeHandle": "h"}}}"#,
        r#"{"spec": {"csi": {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}}"#,
        &[],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"hostPath": null, "csi": {"driver": "d", "volumeHandle": "h", "controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}}"#,
        r#"{"spec": {"csi": {"controllerExpandSecretRef": {"name": "t"}}}}"#,
        &[
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
        ],
    ),
    (
        "persistentvolumes",
        "{}",
        r#"{"spec": {"volumeMode": "Block", "capacity": {"storage": "2Gi"}, "storageClassName": "x", "claimRef": {"name": "c"}}}"#,
        &[r#"volumeMode: Invalid value: "Block": field is immutable"#],
    ),
    (
        "persistentvolumes",
        "{}",
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}}"#,
        &[],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "Exists"}]}]}}}}"#,
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}]}}}}"#,
        &[],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}]}}}}"#,
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "Exists"}]}]}}}}"#,
        &[
            r#"nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"failure-domain.beta.kubernetes.io/zone","Operator":"Exists","Values":null}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA"#,
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}}"#,
        r#"{"spec": {"nodeAffinity": null}}"#,
        &[
            "nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}, "spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#,
        r#"{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}"#,
        &[],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}, "spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#,
        r#"{"spec": {"resources": {"requests": {"storage": "4Gi"}}}}"#,
        &[],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}, "spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#,
        r#"{"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}"#,
        &["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ),
    (
        "persistentvolumeclaims",
        "{}",
        r#"{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}"#,
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}, "spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#,
        r#"{"spec": {"resources": {"limits": {"storage": "9Gi"}}}}"#,
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"storageClassName": ""}}"#,
        r#"{"spec": {"storageClassName": "x"}}"#,
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound"}}"#,
        r#"{"spec": {"storageClassName": "x", "volumeAttributesClassName": "y"}}"#,
        &[],
    ),
    (
        "nodes",
        "{}",
        r#"{"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "p"}}"#,
        &[],
    ),
    (
        "nodes",
        r#"{"spec": {"podCIDR": "10.0.0.0/24", "providerID": "p"}}"#,
        r#"{"spec": {"podCIDRs": ["10.0.0.0/24"], "unschedulable": true}}"#,
        &[],
    ),
    (
        "nodes",
        r#"{"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "p"}}"#,
        r#"{"spec": {"podCIDR": "10.0.1.0/24", "providerID": "q"}}"#,
        &[
            r#"spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid"#,
            r#"spec.providerID: Forbidden: node updates may not change providerID except from "" to valid"#,
        ],
    ),
    (
        "pods",
        "{}",
        r#"{"spec": {"activeDeadlineSeconds": 5}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"activeDeadlineSeconds": 5}}"#,
        r#"{"spec": {"activeDeadlineSeconds": 4}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"activeDeadlineSeconds": 5}}"#,
        r#"{"spec": {"activeDeadlineSeconds": 6}}"#,
        &[
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"activeDeadlineSeconds": 5}}"#,
        r#"{"spec": {"activeDeadlineSeconds": null}}"#,
        &[
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
        ],
    ),
    (
        "services",
        "{}",
        r#"{"spec": {"type": "LoadBalancer", "loadBalancerClass": "a/b"}}"#,
        &[],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer", "loadBalancerClass": "a/b"}}"#,
        r#"{"spec": {"type": "LoadBalancer", "loadBalancerClass": "a/c"}}"#,
        &[r#"spec.loadBalancerClass: Invalid value: "a/c": may not change once set"#],
    ),
    (
        "services",
        r#"{"spec": {"type": "LoadBalancer"}}"#,
        r#"{"spec": {"type": "LoadBalancer", "loadBalancerClass": "a/c"}}"#,
        &[r#"spec.loadBalancerClass: Invalid value: "a/c": may not change once set"#],
    ),
    (
        "services",
        "{}",
        r#"{"spec": {"loadBalancerClass": "a/c"}}"#,
        &["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
    ),
    (
        "volumeattachments",
        r#"{"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}"#,
        r#"{"spec": {"nodeName": "m"}}"#,
        &[
            r#"spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable"#,
        ],
    ),
    (
        "csinodes",
        r#"{"spec": {"drivers": [{"name": "a", "nodeID": "n"}]}}"#,
        r#"{"spec": {"drivers": [{"name": "b", "nodeID": "n"}, {"name": "a", "nodeID": "n", "allocatable": {"count": 2}}]}}"#,
        &[],
    ),
    (
        "csinodes",
        r#"{"spec": {"drivers": [{"name": "a", "nodeID": "n"}]}}"#,
        r#"{"spec": {"drivers": [{"name": "a", "nodeID": "m"}]}}"#,
        &[
            r#"spec.drivers: Invalid value: {"Name":"a","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable"#,
        ],
    ),
    (
        "csidrivers",
        r#"{"spec": {"volumeLifecycleModes": ["Persistent"]}}"#,
        r#"{"spec": {"volumeLifecycleModes": ["Ephemeral"], "podInfoOnMount": true}}"#,
        &[r#"spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable"#],
    ),
    (
        "csistoragecapacities",
        r#"{"storageClassName": "a"}"#,
        r#"{"storageClassName": "b", "nodeTopology": {"matchLabels": {"a": "b"}}, "capacity": "1Gi"}"#,
        &[
            r#"nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable"#,
            r#"storageClassName: Invalid value: "b": field is immutable"#,
        ],
    ),
    (
        "csistoragecapacities",
        r#"{"storageClassName": "a"}"#,
        r#"{"nodeTopology": {}}"#,
        &["nodeTopology: Invalid value: {}: field is immutable"],
    ),
    (
        "csidrivers",
        r#"{"spec": {"volumeLifecycleModes": ["Persistent"]}}"#,
        r#"{"spec": {"volumeLifecycleModes": []}}"#,
        &[],
    ),
    (
        "volumeattributesclasses",
        r#"{"driverName": "a", "parameters": {"a": "b"}}"#,
        r#"{"driverName": "b", "parameters": {"a": "c"}}"#,
        &[
            "driverName: Forbidden: updates to driverName are forbidden.",
            "parameters: Forbidden: updates to parameters are forbidden.",
        ],
    ),
    (
        "resourceclaims",
        r#"{"spec": {"x": 1}}"#,
        r#"{"spec": {"x": 2}}"#,
        &[r#"spec: Invalid value: {"x":2}: field is immutable"#],
    ),
    (
        "resourceclaimtemplates",
        r#"{"spec": {"x": 1}}"#,
        r#"{"spec": {"x": 2}}"#,
        &[r#"spec: Invalid value: {"x":2}: field is immutable"#],
    ),
    (
        "resourceslices",
        r#"{"spec": {"driver": "a", "nodeName": "n", "pool": {"name": "p", "generation": 1}}}"#,
        r#"{"spec": {"driver": "b", "nodeName": "m", "pool": {"name": "q", "generation": 2}}}"#,
        &[
            r#"spec.pool.name: Invalid value: "q": field is immutable"#,
            r#"spec.driver: Invalid value: "b": field is immutable"#,
            r#"spec.nodeName: Invalid value: "m": field is immutable"#,
        ],
    ),
    (
        "ipaddresses",
        r#"{"spec": {"parentRef": {"resource": "r", "name": "a"}}}"#,
        r#"{"spec": {"parentRef": {"name": "b"}}}"#,
        &[
            r#"spec.parentRef: Invalid value: {"Group":"","Resource":"r","Namespace":"","Name":"b"}: field is immutable"#,
        ],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/16"]}}"#,
        r#"{"spec": {"cidrs": ["10.0.0.0/16", "fd00::/64"]}}"#,
        &[],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/16"]}}"#,
        r#"{"spec": {"cidrs": ["10.1.0.0/16"]}}"#,
        &[r#"spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable"#],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/16"]}}"#,
        r#"{"spec": {"cidrs": ["fd00::/64", "10.0.0.0/16"]}}"#,
        &[r#"spec.cidrs[0]: Invalid value: "fd00::/64": field is immutable"#],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/16", "fd00::/64"]}}"#,
        r#"{"spec": {"cidrs": ["10.0.0.0/16"]}}"#,
        &[r#"spec.cidrs: Invalid value: ["10.0.0.0/16"]: field is immutable"#],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/16"]}}"#,
        r#"{"spec": {"cidrs": ["10.0.0.0/16", "10.1.0.0/16"]}}"#,
        &[
            r#"spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"#,
        ],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]}}"#,
        r#"{"spec": {"hard": {"pods": "2"}, "scopes": ["Terminating", "BestEffort"]}}"#,
        &[],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}}"#,
        r#"{"spec": {"hard": {"pods": "1"}, "scopes": ["NotBestEffort"]}}"#,
        &[r#"spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable"#],
    ),
    (
        "apiservices",
        r#"{"metadata": {"name": "v1.a.b"}, "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1}}"#,
        r#"{"spec": {"groupPriorityMinimum": 2}}"#,
        &[],
    ),
    (
        "apiservices",
        r#"{"metadata": {"name": "v1.a.b"}, "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1}}"#,
        r#"{"spec": {"group": "c.d"}}"#,
        &[
            r#"metadata.name: Invalid value: "v1.a.b": must be `spec.version+"."+spec.group`: "v1.c.d""#,
        ],
    ),
];

#[test]
fn what_is_set_once_stays() {
    check_updates(UPDATES);
}
