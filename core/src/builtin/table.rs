//! The table of built-in kinds. See [`super::Group`] for what the columns and flags mean.

use super::Group;

pub(super) const GROUPS: &[Group] = &[
    Group {
        group: "",
        version: "v1",
        kinds: "\
bindings               Binding               -      -   -                         R
configmaps             ConfigMap             cm     -   -                         -
endpoints              Endpoints             ep     -   -                         p
events                 Event                 ev     -   -                         pfs
limitranges            LimitRange            limits -   -                         p
namespaces             Namespace             ns     -   status,finalize           clonN
nodes                  Node                  no     -   status                    ck
persistentvolumeclaims PersistentVolumeClaim pvc    -   status                    oM
persistentvolumes      PersistentVolume      pv     -   status                    coV
pods                   Pod                   po     all status,eviction,binding   goGP spec
podtemplates           PodTemplate           -      -   -                         go  template.spec
replicationcontrollers ReplicationController rc     all status,scale              gO  spec.template.spec
resourcequotas         ResourceQuota         quota  -   status                    o
secrets                Secret                -      -   -                         -
serviceaccounts        ServiceAccount        sa     -   -                         o
services               Service               svc    all status                    oplS
",
    },
    Group {
        group: "apps",
        version: "v1",
        kinds: "\
controllerrevisions ControllerRevision -      -   -            -
daemonsets          DaemonSet          ds     all status       gT  spec.template.spec
deployments         Deployment         deploy all status,scale a   spec.template.spec
replicasets         ReplicaSet         rs     all status,scale g   spec.template.spec
statefulsets        StatefulSet        sts    all status,scale glv spec.template.spec
",
    },
    Group {
        group: "events.k8s.io",
        version: "v1",
        kinds: "events Event ev - - p\n",
    },
    Group {
        group: "authentication.k8s.io",
        version: "v1",
        kinds: "\
selfsubjectreviews SelfSubjectReview - - - cR
tokenreviews       TokenReview       - - - cR
",
    },
    Group {
        group: "authorization.k8s.io",
        version: "v1",
        kinds: "\
localsubjectaccessreviews LocalSubjectAccessReview - - - R
selfsubjectaccessreviews  SelfSubjectAccessReview  - - - cR
selfsubjectrulesreviews   SelfSubjectRulesReview   - - - cR
subjectaccessreviews      SubjectAccessReview      - - - cR
",
    },
    Group {
        group: "autoscaling",
        version: "v2",
        kinds: "horizontalpodautoscalers HorizontalPodAutoscaler hpa all status g\n",
    },
    Group {
        group: "batch",
        version: "v1",
        kinds: "\
cronjobs CronJob cj all status g   spec.jobTemplate.spec.template.spec
jobs     Job     -  all status gOJ spec.template.spec
",
    },
    Group {
        group: "certificates.k8s.io",
        version: "v1",
        kinds: "certificatesigningrequests CertificateSigningRequest csr - status,approval csC\n",
    },
    Group {
        group: "networking.k8s.io",
        version: "v1",
        kinds: "\
ingressclasses  IngressClass  -      - -      cg
ingresses       Ingress       ing    - status g
ipaddresses     IPAddress     ip     - -      ci
networkpolicies NetworkPolicy netpol - -      g
servicecidrs    ServiceCIDR   -      - status ck
",
    },
    Group {
        group: "policy",
        version: "v1",
        kinds: "poddisruptionbudgets PodDisruptionBudget pdb - status grsf\n",
    },
    Group {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kinds: "\
clusterrolebindings ClusterRoleBinding - - - cps
clusterroles        ClusterRole        - - - cps
rolebindings        RoleBinding        - - - ps
roles               Role               - - - ps
",
    },
    Group {
        group: "storage.k8s.io",
        version: "v1",
        kinds: "\
csidrivers              CSIDriver             -   - -      cgor
csinodes                CSINode               -   - -      cor
csistoragecapacities    CSIStorageCapacity    -   - -      r
storageclasses          StorageClass          sc  - -      co
volumeattachments       VolumeAttachment      -   - status cor
volumeattributesclasses VolumeAttributesClass vac - -      co
",
    },
    Group {
        group: "admissionregistration.k8s.io",
        version: "v1",
        kinds: "\
mutatingwebhookconfigurations     MutatingWebhookConfiguration     - api-extensions -      cgfr
validatingadmissionpolicies       ValidatingAdmissionPolicy        - api-extensions status cgfr
validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding - api-extensions -      cgfr
validatingwebhookconfigurations   ValidatingWebhookConfiguration   - api-extensions -      cgfr
",
    },
    Group {
        group: "apiextensions.k8s.io",
        version: "v1",
        kinds: "customresourcedefinitions CustomResourceDefinition crd,crds api-extensions status cgrfD\n",
    },
    Group {
        group: "apiregistration.k8s.io",
        version: "v1",
        kinds: "apiservices APIService - api-extensions status crfsA\n",
    },
    Group {
        group: "scheduling.k8s.io",
        version: "v1",
        kinds: "priorityclasses PriorityClass pc - - c1\n",
    },
    Group {
        group: "coordination.k8s.io",
        version: "v1",
        kinds: "leases Lease - - - prf\n",
    },
    Group {
        group: "node.k8s.io",
        version: "v1",
        kinds: "runtimeclasses RuntimeClass - - - cprf\n",
    },
    Group {
        group: "discovery.k8s.io",
        version: "v1",
        kinds: "endpointslices EndpointSlice - - - e\n",
    },
    Group {
        group: "flowcontrol.apiserver.k8s.io",
        version: "v1",
        kinds: "\
flowschemas                 FlowSchema                 - - status cg
prioritylevelconfigurations PriorityLevelConfiguration - - status cg
",
    },
    Group {
        group: "resource.k8s.io",
        version: "v1",
        kinds: "\
deviceclasses          DeviceClass           - - -      cgo
resourceclaims         ResourceClaim         - - status o
resourceclaimtemplates ResourceClaimTemplate - - -      o
resourceslices         ResourceSlice         - - -      cgo
",
    },
];
