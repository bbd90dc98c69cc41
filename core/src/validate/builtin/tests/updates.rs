//! What the kinds that users meet most often refuse to change.

use super::{Update, check_updates};

const UPDATES: &[Update<'static>] = &[
    (
        "deployments",
        "{}",
        r#"{"spec": {"selector": {"matchLabels": {"c": "d"}}, "template": {"metadata": {"labels": {"c": "d"}}}}}"#,
        &[r#"spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable"#],
    ),
    ("deployments", "{}", r#"{"spec": {"replicas": 7}}"#, &[]),
    (
        "statefulsets",
        "{}",
        r#"{"spec": {"serviceName": "x"}}"#,
        &[
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ],
    ),
    (
        "statefulsets",
        "{}",
        r#"{"spec": {"minReadySeconds": 3}}"#,
        &[],
    ),
    (
        "services",
        r#"{"spec": {"clusterIP": "10.0.0.1"}}"#,
        r#"{"spec": {"clusterIP": "10.0.0.2"}}"#,
        &[r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#],
    ),
    (
        "configmaps",
        r#"{"data": {"a": "b"}, "immutable": true}"#,
        r#"{"data": {"a": "c"}, "immutable": false}"#,
        &[
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ],
    ),
    (
        "configmaps",
        r#"{"data": {"a": "b"}, "immutable": true}"#,
        r#"{"metadata": {"labels": {"a": "c"}}}"#,
        &[],
    ),
    (
        "secrets",
        "{}",
        r#"{"type": "x/y"}"#,
        &[r#"type: Invalid value: "x/y": field is immutable"#],
    ),
    (
        "rolebindings",
        "{}",
        r#"{"roleRef": {"name": "other"}}"#,
        &[
            r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"other"}: cannot change roleRef"#,
        ],
    ),
    (
        "storageclasses",
        "{}",
        r#"{"provisioner": "other"}"#,
        &["provisioner: Forbidden: updates to provisioner are forbidden."],
    ),
    (
        "persistentvolumeclaims",
        "{}",
        r#"{"spec": {"accessModes": ["ReadOnlyMany"]}}"#,
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"status": {"phase": "Bound"}}"#,
        r#"{"spec": {"resources": {"requests": {"storage": "2Gi"}}, "volumeName": "v"}}"#,
        &[],
    ),
    (
        "pods",
        "{}",
        r#"{"spec": {"containers": [{"name": "c", "image": "newer"}], "tolerations": [{"key": "x"}], "activeDeadlineSeconds": 5}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"tolerations": [{"key": "x", "effect": "NoExecute", "tolerationSeconds": 5}]}}"#,
        r#"{"spec": {"tolerations": [{"key": "x", "effect": "NoExecute", "tolerationSeconds": 9}]}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}]}}"#,
        r#"{"spec": {"schedulingGates": [{"name": "g"}, {"name": "h"}]}}"#,
        &[
            "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}}}"#,
        r#"{"spec": {"schedulingGates": null, "nodeSelector": {"c": "d"}, "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}}}"#,
        r#"{"spec": {"nodeSelector": {"a": "c"}}}"#,
        &[
            r#"spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}"#,
        r#"{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Exists"}]}]}}}}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}"#,
        r#"{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "l", "operator": "Exists"}]}]}}}}}"#,
        &[
            r#"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"MatchExpressions":[{"Key":"l","Operator":"Exists","Values":null}],"MatchFields":null}: only additions are allowed (no mutations or deletions)"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"schedulingGates": [{"name": "g"}], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}}}"#,
        r#"{"spec": {"affinity": null}}"#,
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        ],
    ),
    (
        "pods",
        "{}",
        r#"{"spec": {"hostNetwork": true}}"#,
        &[
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ],
    ),
    (
        "pods",
        "{}",
        r#"{"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}}"#,
        &["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ),
];

#[test]
fn what_may_not_change_does_not() {
    check_updates(UPDATES);
}
