//! The table of defaults. A row is `path JSON`, where the last segment is the member that gets the
//! value. After a member with `!`, an empty value or 0 counts as missing too, since upstream's
//! field cannot tell them apart.
//!
//! Source: upstream's `pkg/apis/*/v1/defaults.go`, and the fields that its types write even if they
//! are unset.

/// Paths relative to the pod spec. A row may create what a later row looks into, so the order
/// matters.
pub(super) const POD_SPEC: &str = r#"
restartPolicy! "Always"
terminationGracePeriodSeconds 30
dnsPolicy! "ClusterFirst"
schedulerName! "default-scheduler"
securityContext {}
volumes/*/configMap/defaultMode 420
volumes/*/secret/defaultMode 420
volumes/*/downwardAPI/defaultMode 420
volumes/*/downwardAPI/items/*/fieldRef/apiVersion! "v1"
volumes/*/downwardAPI/items/*/resourceFieldRef/divisor "0"
volumes/*/projected/defaultMode 420
volumes/*/projected/sources/*/serviceAccountToken/expirationSeconds 3600
volumes/*/projected/sources/*/downwardAPI/items/*/fieldRef/apiVersion! "v1"
volumes/*/projected/sources/*/downwardAPI/items/*/resourceFieldRef/divisor "0"
volumes/*/hostPath/type ""
volumes/*/iscsi/iscsiInterface! "default"
volumes/*/rbd/pool! "rbd"
volumes/*/rbd/user! "admin"
volumes/*/rbd/keyring! "/etc/ceph/keyring"
volumes/*/azureDisk/cachingMode "ReadWrite"
volumes/*/azureDisk/kind "Shared"
volumes/*/azureDisk/fsType "ext4"
volumes/*/azureDisk/readOnly false
volumes/*/scaleIO/storageMode! "ThinProvisioned"
volumes/*/scaleIO/fsType! "xfs"
volumes/*/ephemeral/volumeClaimTemplate/spec/volumeMode "Filesystem"
"#;

/// The same, relative to each container.
pub(super) const CONTAINER: &str = r#"
terminationMessagePath! "/dev/termination-log"
terminationMessagePolicy! "File"
resources {}
ports/*/protocol! "TCP"
env/*/valueFrom/fieldRef/apiVersion! "v1"
env/*/valueFrom/resourceFieldRef/divisor "0"
env/*/valueFrom/fileKeyRef/optional false
lifecycle/postStart/httpGet/path! "/"
lifecycle/postStart/httpGet/scheme! "HTTP"
lifecycle/preStop/httpGet/path! "/"
lifecycle/preStop/httpGet/scheme! "HTTP"
"#;

/// The same, relative to each probe.
pub(super) const PROBE: &str = r#"
timeoutSeconds! 1
periodSeconds! 10
successThreshold! 1
failureThreshold! 3
httpGet/path! "/"
httpGet/scheme! "HTTP"
grpc/service ""
"#;

/// `resource path JSON`.
pub(super) const ROWS: &str = r#"
pods spec/enableServiceLinks true
deployments spec/replicas 1
deployments spec/revisionHistoryLimit 10
deployments spec/progressDeadlineSeconds 600
deployments spec/strategy {}
deployments spec/strategy/type! "RollingUpdate"
replicasets spec/replicas 1
statefulsets spec/replicas 1
statefulsets spec/revisionHistoryLimit 10
statefulsets spec/podManagementPolicy! "OrderedReady"
statefulsets spec/updateStrategy {}
statefulsets spec/updateStrategy/type! "RollingUpdate"
statefulsets spec/persistentVolumeClaimRetentionPolicy {}
statefulsets spec/persistentVolumeClaimRetentionPolicy/whenDeleted! "Retain"
statefulsets spec/persistentVolumeClaimRetentionPolicy/whenScaled! "Retain"
statefulsets spec/volumeClaimTemplates/*/apiVersion! "v1"
statefulsets spec/volumeClaimTemplates/*/kind! "PersistentVolumeClaim"
statefulsets spec/volumeClaimTemplates/*/spec/volumeMode "Filesystem"
statefulsets spec/volumeClaimTemplates/*/status {}
statefulsets spec/volumeClaimTemplates/*/status/phase! "Pending"
daemonsets spec/revisionHistoryLimit 10
daemonsets spec/updateStrategy {}
daemonsets spec/updateStrategy/type! "RollingUpdate"
replicationcontrollers spec/replicas 1
jobs spec/parallelism 1
jobs spec/backoffLimit 6
jobs spec/completionMode "NonIndexed"
jobs spec/suspend false
jobs spec/manualSelector false
jobs spec/podFailurePolicy/rules/*/onPodConditions/*/status! "True"
cronjobs spec/concurrencyPolicy! "Allow"
cronjobs spec/suspend false
cronjobs spec/successfulJobsHistoryLimit 3
cronjobs spec/failedJobsHistoryLimit 1
cronjobs spec/jobTemplate/spec/podFailurePolicy/rules/*/onPodConditions/*/status! "True"
services spec/type! "ClusterIP"
services spec/sessionAffinity! "None"
services spec/ports/*/protocol! "TCP"
endpoints subsets/*/ports/*/protocol! "TCP"
endpointslices ports/*/name ""
endpointslices ports/*/protocol "TCP"
secrets type! "Opaque"
persistentvolumeclaims spec/volumeMode "Filesystem"
persistentvolumeclaims status {}
persistentvolumeclaims status/phase! "Pending"
persistentvolumes spec/volumeMode "Filesystem"
persistentvolumes spec/persistentVolumeReclaimPolicy! "Retain"
persistentvolumes spec/iscsi/iscsiInterface! "default"
persistentvolumes spec/rbd/pool! "rbd"
persistentvolumes spec/rbd/user! "admin"
persistentvolumes spec/rbd/keyring! "/etc/ceph/keyring"
persistentvolumes spec/azureDisk/cachingMode "ReadWrite"
persistentvolumes spec/azureDisk/kind "Shared"
persistentvolumes spec/azureDisk/fsType "ext4"
persistentvolumes spec/azureDisk/readOnly false
persistentvolumes spec/scaleIO/storageMode! "ThinProvisioned"
persistentvolumes spec/scaleIO/fsType! "xfs"
persistentvolumes spec/hostPath/type ""
persistentvolumes status {}
persistentvolumes status/phase! "Pending"
storageclasses reclaimPolicy "Delete"
storageclasses volumeBindingMode "Immediate"
csidrivers spec/attachRequired true
csidrivers spec/podInfoOnMount false
csidrivers spec/storageCapacity false
csidrivers spec/fsGroupPolicy "ReadWriteOnceWithFSType"
csidrivers spec/volumeLifecycleModes! ["Persistent"]
csidrivers spec/requiresRepublish false
csidrivers spec/seLinuxMount false
horizontalpodautoscalers spec/minReplicas 1
horizontalpodautoscalers spec/metrics! [{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]
horizontalpodautoscalers spec/behavior/scaleUp {}
horizontalpodautoscalers spec/behavior/scaleUp/stabilizationWindowSeconds 0
horizontalpodautoscalers spec/behavior/scaleUp/selectPolicy "Max"
horizontalpodautoscalers spec/behavior/scaleUp/policies [{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]
horizontalpodautoscalers spec/behavior/scaleDown {}
horizontalpodautoscalers spec/behavior/scaleDown/selectPolicy "Max"
horizontalpodautoscalers spec/behavior/scaleDown/policies [{"type":"Percent","value":100,"periodSeconds":15}]
priorityclasses preemptionPolicy "PreemptLowerPriority"
rolebindings roleRef/apiGroup! "rbac.authorization.k8s.io"
clusterrolebindings roleRef/apiGroup! "rbac.authorization.k8s.io"
networkpolicies spec/ingress/*/ports/*/protocol "TCP"
networkpolicies spec/egress/*/ports/*/protocol "TCP"
ingressclasses spec/parameters/scope "Cluster"
mutatingwebhookconfigurations webhooks/*/failurePolicy "Fail"
mutatingwebhookconfigurations webhooks/*/matchPolicy "Equivalent"
mutatingwebhookconfigurations webhooks/*/timeoutSeconds 10
mutatingwebhookconfigurations webhooks/*/namespaceSelector {}
mutatingwebhookconfigurations webhooks/*/objectSelector {}
mutatingwebhookconfigurations webhooks/*/reinvocationPolicy "Never"
mutatingwebhookconfigurations webhooks/*/rules/*/scope "*"
mutatingwebhookconfigurations webhooks/*/clientConfig/service/port 443
validatingwebhookconfigurations webhooks/*/failurePolicy "Fail"
validatingwebhookconfigurations webhooks/*/matchPolicy "Equivalent"
validatingwebhookconfigurations webhooks/*/timeoutSeconds 10
validatingwebhookconfigurations webhooks/*/namespaceSelector {}
validatingwebhookconfigurations webhooks/*/objectSelector {}
validatingwebhookconfigurations webhooks/*/rules/*/scope "*"
validatingwebhookconfigurations webhooks/*/clientConfig/service/port 443
validatingadmissionpolicies spec/failurePolicy "Fail"
validatingadmissionpolicies spec/matchConstraints/matchPolicy "Equivalent"
validatingadmissionpolicies spec/matchConstraints/namespaceSelector {}
validatingadmissionpolicies spec/matchConstraints/objectSelector {}
validatingadmissionpolicies spec/matchConstraints/resourceRules/*/scope "*"
validatingadmissionpolicies spec/matchConstraints/excludeResourceRules/*/scope "*"
validatingadmissionpolicybindings spec/matchResources/matchPolicy "Equivalent"
validatingadmissionpolicybindings spec/matchResources/namespaceSelector {}
validatingadmissionpolicybindings spec/matchResources/objectSelector {}
validatingadmissionpolicybindings spec/matchResources/resourceRules/*/scope "*"
validatingadmissionpolicybindings spec/matchResources/excludeResourceRules/*/scope "*"
apiservices spec/service/port 443
resourceclaims spec/devices/requests/*/exactly/allocationMode! "ExactCount"
resourceclaims spec/devices/requests/*/firstAvailable/*/allocationMode! "ExactCount"
resourceclaimtemplates spec/spec/devices/requests/*/exactly/allocationMode! "ExactCount"
resourceclaimtemplates spec/spec/devices/requests/*/firstAvailable/*/allocationMode! "ExactCount"
flowschemas spec/matchingPrecedence! 1000
prioritylevelconfigurations spec/exempt/nominalConcurrencyShares 0
prioritylevelconfigurations spec/exempt/lendablePercent 0
prioritylevelconfigurations spec/limited/nominalConcurrencyShares 30
prioritylevelconfigurations spec/limited/lendablePercent 0
prioritylevelconfigurations spec/limited/limitResponse/queuing/handSize! 8
prioritylevelconfigurations spec/limited/limitResponse/queuing/queues! 64
prioritylevelconfigurations spec/limited/limitResponse/queuing/queueLengthLimit! 50
replicationcontrollers status/replicas 0
replicasets status/replicas 0
statefulsets status/replicas 0
statefulsets status/availableReplicas 0
daemonsets status/currentNumberScheduled 0
daemonsets status/desiredNumberScheduled 0
daemonsets status/numberMisscheduled 0
daemonsets status/numberReady 0
poddisruptionbudgets status/disruptionsAllowed 0
poddisruptionbudgets status/currentHealthy 0
poddisruptionbudgets status/desiredHealthy 0
poddisruptionbudgets status/expectedPods 0
horizontalpodautoscalers status/desiredReplicas 0
volumeattachments status/attached false
nodes status/daemonEndpoints/kubeletEndpoint/Port 0
nodes status/nodeInfo/machineID ""
nodes status/nodeInfo/systemUUID ""
nodes status/nodeInfo/bootID ""
nodes status/nodeInfo/kernelVersion ""
nodes status/nodeInfo/osImage ""
nodes status/nodeInfo/containerRuntimeVersion ""
nodes status/nodeInfo/kubeletVersion ""
nodes status/nodeInfo/kubeProxyVersion ""
nodes status/nodeInfo/operatingSystem ""
nodes status/nodeInfo/architecture ""
"#;
