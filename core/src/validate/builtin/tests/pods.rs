//! What is wrong with pods, and in which order it is said.

use super::{Create, Update, check_creates, check_updates};

const CREATES: &[Create<'static>] = &[
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"name": "Web", "containerPort": 80}, {"name": "a", "containerPort": 1, "hostPort": 2}, {"name": "a", "containerPort": 3, "hostPort": 2, "protocol": "X"}]}]}}"#,
        &[
            r#"spec.containers[0].ports[0].name: Invalid value: "Web": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
            r#"spec.containers[0].ports[2].name: Duplicate value: "a""#,
            r#"spec.containers[0].ports[2].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP""#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 3, "hostPort": 2}]}]}}"#,
        &[r#"spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//2""#],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpus": "1"}, "requests": {"cpu": "2", "example.com/gpu": "1"}}}]}}"#,
        &[
            r#"spec.containers[0].resources.limits[cpus]: Invalid value: "cpus": must be a standard resource type or fully qualified"#,
            r#"spec.containers[0].resources.limits[cpus]: Invalid value: "cpus": must be a standard resource for containers"#,
            r#"spec.containers[0].resources.requests[cpus]: Invalid value: "cpus": must be a standard resource type or fully qualified"#,
            r#"spec.containers[0].resources.requests[cpus]: Invalid value: "cpus": must be a standard resource for containers"#,
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A=B"}, {"value": "x"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.volumes"}}}]}]}}"#,
        &[
            r#"spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='"#,
            "spec.containers[0].env[1].name: Required value",
            r#"spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: "spec.volumes": error converting fieldPath: field label not supported: spec.volumes"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "livenessProbe": {"httpGet": {"port": 0, "scheme": "FTP", "path": "/"}, "successThreshold": 2, "periodSeconds": -1}, "readinessProbe": {"tcpSocket": {"port": "no-letter-but-long"}, "terminationGracePeriodSeconds": 1}}]}}"#,
        &[
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
            r#"spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS""#,
            "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
            r#"spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: "no-letter-but-long": must be no more than 15 bytes"#,
            "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"initContainers": [{"name": "a", "image": "i", "readinessProbe": {"exec": {"command": ["x"]}}}, {"name": "b", "image": "i", "restartPolicy": "Always", "readinessProbe": {"exec": {"command": ["x"]}}}]}}"#,
        &[
            "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": " i"}], "tolerations": [{"operator": "Equal"}, {"key": "k", "operator": "Exists", "value": "v"}, {"key": "k", "operator": "Is", "effect": "Never"}]}}"#,
        &[
            r#"spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys""#,
            r#"spec.tolerations[1].operator: Invalid value: "v": value must be empty when `operator` is 'Exists'"#,
            r#"spec.tolerations[2].operator: Unsupported value: "Is": supported values: "Equal", "Exists""#,
            r#"spec.tolerations[2].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            r#"spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Gt", "values": ["1", "2"]}]}]}, "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]}, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}}}}"#,
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
            r#"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty"#,
            r#"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "k", "whenUnsatisfiable": "Never"}, {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1}]}}"#,
        &[
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            r#"spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway""#,
            "spec.topologySpreadConstraints[1].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"dnsPolicy": "None", "hostname": "a.b", "activeDeadlineSeconds": 0, "preemptionPolicy": "Maybe", "os": {"name": "plan9"}, "securityContext": {"runAsUser": -1, "fsGroupChangePolicy": "Never"}}}"#,
        &[
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            r#"spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch""#,
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            r#"spec.hostname: Invalid value: "a.b": must not contain dots"#,
            r#"spec.preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never""#,
            r#"spec.os: Unsupported value: "plan9": supported values: "linux", "windows""#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/../x"}}, {"name": "a", "secret": {"secretName": "s", "defaultMode": 512, "items": [{"path": "/x"}]}}, {"emptyDir": {}}], "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "b", "mountPath": ""}]}]}}"#,
        &[
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
            "spec.volumes[1].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[1].secret.items[0].key: Required value",
            r#"spec.volumes[1].secret.items[0].path: Invalid value: "/x": must be a relative path"#,
            "spec.volumes[2].name: Required value",
            r#"spec.containers[0].volumeMounts[0].name: Not found: "b""#,
            "spec.containers[0].volumeMounts[0].mountPath: Required value",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"nodeName": "n", "schedulingGates": [{"name": "a/b/c"}, {"name": "g"}, {"name": "g"}], "hostAliases": [{"ip": "x"}]}}"#,
        &[
            r#"spec.schedulingGates[0]: Invalid value: "a/b/c": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#,
            r#"spec.schedulingGates[2]: Duplicate value: "g""#,
            r#"spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    ),
    (
        "deployments",
        r#"{"spec": {"template": {"metadata": {"labels": {"c": "-"}}, "spec": {"activeDeadlineSeconds": 3, "hostNetwork": true, "hostUsers": false}}}}"#,
        &[
            r#"spec.template.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
            "spec.template.spec.hostNetwork: Forbidden: when `hostUsers` is false",
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
        ],
    ),
];

#[test]
fn what_is_wrong_with_pods_is_said() {
    check_creates(CREATES);
}

const UPDATES: &[Update<'static>] = &[
    (
        "pods",
        r#"{"spec": {"terminationGracePeriodSeconds": -1}}"#,
        r#"{"spec": {"terminationGracePeriodSeconds": 1}}"#,
        &[],
    ),
    (
        "pods",
        r#"{"spec": {"terminationGracePeriodSeconds": -1}}"#,
        r#"{"spec": {"terminationGracePeriodSeconds": -2}}"#,
        &[
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"tolerations": [{"key": "x", "operator": "Exists"}], "schedulingGates": [{"name": "g"}]}}"#,
        r#"{"spec": {"tolerations": [{"key": "y", "operator": "Exists"}], "schedulingGates": [{"name": "h"}]}}"#,
        &[
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
        ],
    ),
    (
        "pods",
        "{}",
        r#"{"spec": {"activeDeadlineSeconds": -1, "hostNetwork": true}}"#,
        &[
            "spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive",
            "spec.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ],
    ),
];

#[test]
fn what_of_a_pod_may_change_has_limits() {
    check_updates(UPDATES);
}
