//! The compression dictionary: what most records have in common. A record compressed by itself contains
//! little else to refer back to.
//!
//! Stored records cannot be read without it: [`first`] is never edited. A second one may be added beside
//! it, with a frame format of its own.

use std::sync::LazyLock;

/// Texts in the order in which they occur in encoded commits, where each is preceded by its length.
const TEXTS: [&str; 38] = [
    "system:serviceaccounts",
    "system:serviceaccount:kube-system:namespace-controller",
    "system:kube-controller-manager",
    "system:nodes",
    "admin",
    "system:masters",
    "system:authenticated",
    "create",
    "update",
    "patch",
    "delete",
    "https://127.0.0.1:6443/apis/apps/v1/namespaces/kube-system/replicasets/",
    "https://localhost:6443/apis/apps/v1/namespaces/default/deployments?fieldManager=kubectl-create&fieldValidation=Strict",
    "/status",
    "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/",
    "kubectl/v1.36.0 (linux/amd64) kubernetes/",
    "rbac.authorization.k8s.io",
    "rolebindings",
    "coordination.k8s.io",
    "leases",
    "default",
    "batch",
    "apps",
    "deployments",
    "replicasets",
    "",
    "namespaces",
    "",
    "",
    "secrets",
    "default",
    "",
    "services",
    "",
    "events",
    "",
    "",
    "default",
];

/// Parts of object bodies.
const BODIES: [&str; 8] = [
    r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"kubernetes.io/metadata.name":"default"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"Terminating"}}"#,
    r#"{"apiVersion":"v1","count":1,"eventTime":null,"firstTimestamp":"2026-01-01T00:00:00Z","involvedObject":{"apiVersion":"v1","fieldPath":"spec.containers{","kind":"Pod","lastTimestamp":"2026-01-01T00:00:00Z","message":"Started container","kind":"Event","reason":"SuccessfulCreate","reportingComponent":"kubelet","reportingInstance":"","source":{"component":"","host":""},"type":"Normal"}"Warning"}"#,
    r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"leaseDurationSeconds":40,"renewTime":"2026-01-01T00:00:00.000000Z"}}"#,
    r#"{"apiVersion":"batch/v1","kind":"Job","spec":{"backoffLimit":6,"completions":1,"parallelism":1,"selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":""},"batch.kubernetes.io/job-name":"","suspend":false,"template":{"metadata":{"labels":{"ttlSecondsAfterFinished":"status":{"completionTime":"startTime":"succeeded":1,"type":"Complete","uncountedTerminatedPods":{}}}"#,
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"},"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{"app.kubernetes.io/name":"","app":"managedFields":[{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"\"}":{}}},"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},"f:revisionHistoryLimit":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"#,
    r#""f:spec":{"f:containers":{"k:{\"name\":\"\"}":{".":{},"f:env":{"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}},"manager":"kube-controller-manager","operation":"Update","time":"2026-01-01T00:00:00Z"}],"#,
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"labels\":{},\"name\":\"\",\"namespace\":\"default\"},\"spec\":{\"containers\":[{\"image\":\"\",\"name\":\"\"}]}}\n"},"deletionGracePeriodSeconds":30,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["foregroundDeletion"],"orphan"],"generateName":"","ownerReferences":[{"apiVersion":"apps/v1","blockOwnerDeletion":true,"controller":true,"kind":"ReplicaSet","name":"","uid":""}],"spec":{"containers":[{"args":["command":["env":[{"name":"","value":"image":"","imagePullPolicy":"IfNotPresent","name":"","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"limits":{"cpu":"100m","memory":"128Mi"},"requests":{"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-","readOnly":true}]}],"dnsPolicy":"ClusterFirst","enableServiceLinks":true,"nodeName":"","preemptionPolicy":"PreemptLowerPriority","priority":0,"restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"serviceAccount":"default","serviceAccountName":"default","terminationGracePeriodSeconds":30,"tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300}]},"status":{"containerStatuses":[{"containerID":"containerd://","started":true,"state":{"running":{"startedAt":"hostIP":"phase":"Running","podIP":"qosClass":"BestEffort"}}"#,
    r#"{"apiVersion":"v1","data":{"kind":"Secret","type":"Opaque"}{"apiVersion":"v1","data":{"value":""},"kind":"ConfigMap","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":""},"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:value":{}}},"manager":"kubectl-client-side-apply","operation":"Apply","manager":"kubectl-create","operation":"Update","time":"2026-01-01T00:00:00Z"}],"name":"","namespace":"default","resourceVersion":"1","uid":""}}"#,
];

/// The dictionary of frames of format 4.
pub(super) fn first() -> &'static [u8] {
    static FIRST: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let texts = TEXTS.iter().flat_map(|text| {
            let length = u64::try_from(text.len()).unwrap_or_default().to_le_bytes();
            length.into_iter().chain(text.bytes())
        });
        texts
            .chain(BODIES.iter().flat_map(|body| body.bytes()))
            .collect()
    });
    &FIRST
}

#[cfg(test)]
mod tests {
    use super::*;

    const PINNED: &str = "45d6dd4c6c303f385ea0ecae3526cdc5db55b90303733216c138b29c8d8a89b9";

    #[test]
    fn it_is_what_stored_records_were_compressed_with() {
        let hash = blake3::hash(first()).to_hex();
        assert_eq!(hash.as_str(), PINNED, "{} bytes", first().len());
    }
}
