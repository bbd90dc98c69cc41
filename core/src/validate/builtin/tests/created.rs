//! What is wrong with new objects in ways that users meet now and then.

use super::{Create, Update, check_creates, check_updates};

/// Resource, merge patch on the valid document, causes.
const CREATES: &[Create<'static>] = &[
    (
        "deployments",
        r#"{"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "-1", "memory": "1Gi"}, "requests": {"memory": "1025Mi"}}}]}}}}"#,
        &[
            r#"spec.template.spec.containers[0].resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
            r#"spec.template.spec.containers[0].resources.requests: Invalid value: "1025Mi": must be less than or equal to memory limit of 1Gi"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": "", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"key": "k"}}}]}]}}"#,
        &[
            r#"spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty"#,
            r#"spec.containers[0].env[2].valueFrom.secretKeyRef.name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#,
            r#"spec.containers[0].env[2].valueFrom: Invalid value: "": may not have more than one field specified at a time"#,
        ],
    ),
    (
        "pods",
        r#"{"spec": {"containers": [{"name": "c", "image": "i", "livenessProbe": {"periodSeconds": 3}, "readinessProbe": {"exec": {}, "tcpSocket": {"port": 1}}, "startupProbe": {"exec": {}}, "lifecycle": {"preStop": {}}}]}}"#,
        &[
            "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type",
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
            "spec.containers[0].readinessProbe.exec.command: Required value",
            "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "spec.containers[0].startupProbe.exec.command: Required value",
        ],
    ),
    (
        "pods",
        r#"{"spec": {"initContainers": [{"name": "c", "image": "i"}], "ephemeralContainers": [{"name": "e", "image": "i"}]}}"#,
        &[
            r#"spec.initContainers[0].name: Duplicate value: "c""#,
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ],
    ),
    (
        "replicasets",
        r#"{"spec": {"template": {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}}}"#,
        &[
            "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
        ],
    ),
    (
        "resourcequotas",
        r#"{"spec": {"hard": {"pods": "-1", "cpu": "2"}}}"#,
        &[r#"spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0"#],
    ),
    (
        "services",
        r#"{"spec": {"type": "NodePort", "clusterIP": "10.0.0", "ports": [{"port": 80, "nodePort": 80}]}}"#,
        &[
            r#"spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
        ],
    ),
    (
        "services",
        r#"{"spec": {"type": "NodePort", "externalTrafficPolicy": "Some", "ports": [{"port": 80, "nodePort": 80}]}}"#,
        &[
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ],
    ),
    (
        "services",
        r#"{"spec": {"clusterIP": "fd00::1", "ports": [{"port": 80, "nodePort": 30000}]}}"#,
        &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ),
    (
        "deployments",
        r#"{"spec": {"strategy": {"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}}}}"#,
        &[
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ],
    ),
    (
        "deployments",
        r#"{"spec": {"strategy": {"rollingUpdate": {"maxSurge": "many", "maxUnavailable": "101%"}}}}"#,
        &[
            r#"spec.strategy.rollingUpdate.maxSurge: Invalid value: "many": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"#,
            r#"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%"#,
        ],
    ),
    (
        "daemonsets",
        r#"{"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}}"#,
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
        ],
    ),
    (
        "daemonsets",
        r#"{"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": -1, "maxUnavailable": 1}}}}"#,
        &[
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0",
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: -1: may not be set when maxUnavailable is non-zero",
        ],
    ),
    (
        "persistentvolumes",
        r#"{"spec": {"hostPath": null}}"#,
        &["spec: Required value: must specify a volume type"],
    ),
    (
        "persistentvolumeclaims",
        r#"{"spec": {"resources": {"requests": {"storage": "0"}}}}"#,
        &[r#"spec.resources[storage]: Invalid value: "0": must be greater than zero"#],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "a"}, "value": 1000000001}"#,
        &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "system-a"}, "value": 1}"#,
        &[
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-a is not a known system priority class",
        ],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "system-node-critical"}, "value": 2000001000}"#,
        &[],
    ),
    (
        "priorityclasses",
        r#"{"metadata": {"name": "system-node-critical"}, "value": 1}"#,
        &[
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000",
        ],
    ),
    (
        "cronjobs",
        r#"{"spec": {"timeZone": "Europe//Berlin"}}"#,
        &[r#"spec.timeZone: Invalid value: "Europe//Berlin": unknown time zone Europe//Berlin"#],
    ),
    (
        "cronjobs",
        r#"{"spec": {"timeZone": "local", "schedule": "TZ=UTC 1 * * * *"}}"#,
        &[
            r#"spec.schedule: Invalid value: "TZ=UTC 1 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead"#,
            r#"spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"#,
            r#"spec.timeZone: Invalid value: "local": unknown time zone local"#,
        ],
    ),
    ("cronjobs", r#"{"spec": {"timeZone": "Etc/GMT+1"}}"#, &[]),
];

#[test]
fn what_is_wrong_now_and_then_is_said() {
    check_creates(CREATES);
}

/// A port that a service has is its own, whatever the range is now.
const KEPT: &[Update<'static>] = &[(
    "services",
    r#"{"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}}"#,
    r#"{"spec": {"sessionAffinity": "ClientIP"}}"#,
    &[],
)];

#[test]
fn the_ports_that_a_service_has_are_not_checked_again() {
    check_updates(KEPT);
}
