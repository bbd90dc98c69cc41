//! What is wrong with objects that have no pods, and in which order it is said.

use super::{Create, Update, check_creates, check_updates};

const CREATES: &[Create<'static>] = &[
    (
        "nodes",
        r#"{"spec": {"taints": [{"key": "a", "effect": "Never"}, {"key": "a", "value": "b", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}, {"key": "b"}], "podCIDRs": ["10.0.0.0/8", "11.0.0.0/8"]}, "status": {"capacity": {"pods": "1.5", "cpu": "-1"}}}"#,
        &[
            r#"metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            r#"metadata.taints[2]: Duplicate value: {"Key":"a","Value":"","Effect":"NoExecute","TimeAdded":null}: taints must be unique by key and effect pair"#,
            "metadata.taints[3].effect: Required value",
            r#"status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
            r#"status.capacity.pods: Invalid value: "1.5": must be an integer"#,
            r#"status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0"#,
            r#"status.allocatable.pods: Invalid value: "1.5": must be an integer"#,
            r#"spec.podCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one CIDR for each IP family"#,
        ],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"cpus": "1"}, "scopes": ["BestEffort", "NotBestEffort", "Some"]}}"#,
        &[
            r#"spec.hard[cpus]: Invalid value: "cpus": must be a standard resource type or fully qualified"#,
            r#"spec.hard[cpus]: Invalid value: "cpus": must be a standard resource for quota"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Some"]: unsupported scope"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Some"]: conflicting scopes"#,
        ],
    ),
    (
        "servicecidrs",
        "{}",
        &["spec.cidrs: Required value: at least one CIDR required"],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.0/8", "a", "b"]}}"#,
        &[
            r#"spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/8","a","b"]}: may only hold up to 2 values"#,
        ],
    ),
    (
        "servicecidrs",
        r#"{"spec": {"cidrs": ["10.0.0.1/8", "fd00::/64"]}}"#,
        &[
            r#"spec.cidrs[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length"#,
        ],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "a"}, "value": 1, "preemptionPolicy": "Maybe"}"#,
        &[
            r#"preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never""#,
        ],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}}"#,
        &["data[ssh-privatekey]: Required value"],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/basic-auth", "data": {"a b": ""}}"#,
        &[
            r#"data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"#,
            "data[username]: Required value",
            "data[password]: Required value",
        ],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "ZXlKaGRYUm9jeUk2ZTMxOQ=="}}"#,
        &[
            r#"data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": is no well-formed JSON"#,
        ],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": ""}}"#,
        &[
            r#"data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input"#,
        ],
    ),
    (
        "secrets",
        r#"{"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "IFtdCg=="}}"#,
        &[
            r#"data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}"#,
        ],
    ),
    (
        "clusterroles",
        r#"{"aggregationRule": {"clusterRoleSelectors": []}}"#,
        &[
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
        ],
    ),
    (
        "clusterroles",
        r#"{"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "a", "operator": "Bad"}]}]}}"#,
        &[
            r#"aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator: Invalid value: "Bad": not a valid selector operator"#,
            "aggregationRule.clusterRoleSelectors[1]: Invalid value: null: invalid label selector.",
        ],
    ),
    (
        "rolebindings",
        r#"{"roleRef": {"kind": "Other", "name": "a/b"}, "subjects": [{"kind": "User", "apiGroup": "x"}, {"kind": "ServiceAccount", "name": "A"}]}"#,
        &[
            r#"roleRef.kind: Unsupported value: "Other": supported values: "Role", "ClusterRole""#,
            r#"roleRef.name: Invalid value: "a/b": may not contain '/'"#,
            "subjects[0].name: Required value",
            r#"subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io""#,
            r#"subjects[1].name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
    (
        "ingresses",
        r#"{"metadata": {"annotations": {"kubernetes.io/ingress.class": "b"}}, "spec": {"ingressClassName": "a", "rules": [{"host": "10.0.0.1"}, {"host": "a.*"}], "tls": [{"hosts": ["*.a"], "secretName": "s"}]}}"#,
        &[
            r#"spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address"#,
            r#"spec.rules[1].host: Invalid value: "a.*": a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are specified"#,
        ],
    ),
    (
        "ingresses",
        r#"{"spec": {"rules": [{"http": {"paths": [{"path": "/a//b/.", "pathType": "Exact", "backend": {"service": {"name": "s.t", "port": {"name": "a", "number": 1}}}}, {"backend": {}}, {"pathType": "Regex", "backend": {"resource": {"kind": "k"}}}]}}]}}"#,
        &[
            r#"spec.rules[0].http.paths[0].path: Invalid value: "/a//b/.": must not contain '//'"#,
            r#"spec.rules[0].http.paths[0].path: Invalid value: "/a//b/.": cannot end with '/.'"#,
            r#"spec.rules[0].http.paths[0].backend.service.name: Invalid value: "s.t": must not contain dots"#,
            r#"spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number"#,
            "spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
            r#"spec.rules[0].http.paths[2].pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix""#,
            "spec.rules[0].http.paths[2].backend.resource.name: Required value",
        ],
    ),
    (
        "networkpolicies",
        r#"{"spec": {"ingress": [{"ports": [{"protocol": "ICMP", "port": 80, "endPort": 70}, {"port": "http", "endPort": 1}, {"endPort": 1}], "from": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16", "10.0.0.0/8", "10.1.0.0/16", "x"]}}]}], "policyTypes": ["Ingress", "Both"]}}"#,
        &[
            r#"spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP""#,
            "spec.ingress[0].ports[0].endPort: Invalid value: 70: must be greater than or equal to `port`",
            "spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is non-numeric",
            "spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified",
            "spec.ingress[0].from[0]: Required value: must specify a peer",
            r#"spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`"#,
            r#"spec.ingress[0].from[1].ipBlock.except[1]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`"#,
            r#"spec.ingress[0].from[1].ipBlock.except[3]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"#,
            r#"spec.policyTypes[1]: Unsupported value: "Both": supported values: "Ingress", "Egress""#,
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"], "storageClassName": "A", "volumeMode": "Raw", "dataSource": {"kind": "x", "name": ""}}}"#,
        &[
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
            r#"spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"spec.volumeMode: Unsupported value: "Raw": supported values: "Block", "Filesystem""#,
            "spec.dataSource.name: Required value",
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"accessModes": null, "capacity": null, "persistentVolumeReclaimPolicy": "Keep", "nodeAffinity": {}}}"#,
        &[
            "spec.accessModes: Required value",
            "spec.capacity: Required value",
            r#"spec.capacity: Unsupported value: null: supported values: "storage""#,
            r#"spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain""#,
            "spec.nodeAffinity.required: Required value: must specify required node constraints",
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"capacity": {"storage": "0"}, "hostPath": {"path": "/../a", "type": "Any"}}}"#,
        &[
            r#"spec.capacity[storage]: Invalid value: "0": must be greater than zero"#,
            r#"spec.hostPath.path: Invalid value: "/../a": must not contain '..'"#,
            r#"spec.hostPath.type: Unsupported value: "Any": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket""#,
        ],
    ),
    (
        "ingressclasses",
        r#"{"spec": {"controller": "nginx", "parameters": {"kind": "a/b", "scope": "Namespace"}}}"#,
        &[
            r#"spec.controller: Invalid value: "nginx": must be a domain-prefixed path (such as "acme.io/foo")"#,
            r#"spec.parameters.kind: Invalid value: "a/b": may not contain '/'"#,
            "spec.parameters.name: Required value",
            "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
        ],
    ),
    (
        "ingressclasses",
        r#"{"spec": {"parameters": {"kind": "a", "name": "b", "namespace": "c", "scope": "Cluster"}}}"#,
        &[
            "spec.controller: Required value",
            "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
        ],
    ),
    ("ipaddresses", "{}", &["spec.parentRef: Required value"]),
    (
        "controllerrevisions",
        r#"{"revision": -1}"#,
        &[
            "data: Required value: data is mandatory",
            "revision: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
    ("controllerrevisions", r#"{"data": {}}"#, &[]),
    (
        "flowschemas",
        "{}",
        &["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
    ),
    (
        "flowschemas",
        r#"{"spec": {"priorityLevelConfiguration": {"name": "A"}}}"#,
        &[
            r#"spec.priorityLevelConfiguration.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
    (
        "flowschemas",
        r#"{"spec": {"priorityLevelConfiguration": {"name": "workload-low"}}}"#,
        &[],
    ),
    (
        "ipaddresses",
        r#"{"spec": {"parentRef": {"group": "A", "name": ".."}}}"#,
        &[
            r#"spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            "spec.parentRef.resource: Required value",
            r#"spec.parentRef.name: Invalid value: "..": may not be '..'"#,
        ],
    ),
    (
        "runtimeclasses",
        r#"{"handler": "a.b"}"#,
        &[r#"handler: Invalid value: "a.b": must not contain dots"#],
    ),
    (
        "leases",
        r#"{"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1, "preferredHolder": "a"}}"#,
        &[
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
        ],
    ),
    (
        "volumeattachments",
        r#"{"spec": {"nodeName": "N", "source": {"persistentVolumeName": ""}}}"#,
        &[
            "spec.attacher: Required value",
            "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
            r#"spec.nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
        ],
    ),
    (
        "csidrivers",
        r#"{"spec": {"fsGroupPolicy": "Some", "volumeLifecycleModes": ["Long"]}}"#,
        &[
            r#"spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType""#,
            r#"spec.volumeLifecycleModes: Unsupported value: "Long": supported values: "Persistent", "Ephemeral""#,
        ],
    ),
    (
        "csinodes",
        r#"{"spec": {"drivers": [{"name": "a", "nodeID": "n"}, {"name": "a"}]}}"#,
        &[
            "spec.drivers[1].nodeID: Required value",
            r#"spec.drivers[1].name: Duplicate value: "a""#,
        ],
    ),
    (
        "csinodes",
        r#"{"spec": {"drivers": [{"nodeID": "n"}, {"name": "a/b", "nodeID": "n", "allocatable": {"count": -1}, "topologyKeys": ["x", "x", "a b"]}, {"name": "A.b", "nodeID": "n", "topologyKeys": ["a/b"]}]}}"#,
        &[
            "spec.drivers[0].name: Required value",
            r#"spec.drivers[0].name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"spec.drivers[1].name: Invalid value: "a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
            r#"spec.drivers[1]: Duplicate value: "x""#,
            r#"spec.drivers[1]: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
        ],
    ),
];

#[test]
fn what_is_wrong_with_other_kinds_is_said() {
    check_creates(CREATES);
}

const UPDATES: &[Update<'static>] = &[
    (
        "nodes",
        r#"{"spec": {"podCIDRs": ["10.0.0.0/8"]}, "status": {"addresses": [{"type": "Hostname", "address": "a"}, {"type": "Hostname", "address": "a"}]}}"#,
        r#"{"spec": {"podCIDR": null, "podCIDRs": null, "externalID": "e"}}"#,
        &[
            r#"status.addresses[1]: Duplicate value: {"Type":"Hostname","Address":"a"}"#,
            r#"spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid"#,
            "spec.externalID: Forbidden: may not be updated",
        ],
    ),
    (
        "secrets",
        r#"{"data": {"a": "Yg=="}, "immutable": true}"#,
        r#"{"data": {"a b": "Yg=="}}"#,
        &[
            "data: Forbidden: field is immutable when `immutable` is set",
            r#"data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"#,
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"volumeAttributesClassName": "a"}, "status": {"phase": "Bound", "currentVolumeAttributesClassName": "a"}}"#,
        r#"{"spec": {"volumeAttributesClassName": null}}"#,
        &[
            "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil",
        ],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"volumeAttributesClassName": "a"}, "status": {"phase": "Bound", "currentVolumeAttributesClassName": "a"}}"#,
        r#"{"spec": {"volumeAttributesClassName": "", "volumeMode": "Block"}}"#,
        &[
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
            r#"volumeMode: Invalid value: "Block": field is immutable"#,
            "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil",
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"volumeAttributesClassName": "a"}}"#,
        r#"{"spec": {"volumeAttributesClassName": null}}"#,
        &[
            "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
        ],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "system-a"}, "value": 1}"#,
        r#"{"value": 2, "preemptionPolicy": "Never"}"#,
        &[
            "value: Forbidden: may not be changed in an update.",
            r#"preemptionPolicy: Invalid value: "Never": field is immutable"#,
        ],
    ),
    (
        "storageclasses",
        "{}",
        r#"{"provisioner": "other", "parameters": {"a": "b"}, "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"}"#,
        &[
            "parameters: Forbidden: updates to parameters are forbidden.",
            "provisioner: Forbidden: updates to provisioner are forbidden.",
            "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
            r#"volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable"#,
        ],
    ),
    (
        "csidrivers",
        r#"{"spec": {"podInfoOnMount": true}}"#,
        r#"{"spec": {"attachRequired": false}}"#,
        &["spec.attachedRequired: Invalid value: false: field is immutable"],
    ),
];

#[test]
fn what_other_kinds_refuse_to_change_is_said() {
    check_updates(UPDATES);
}
