//! What is wrong with the kinds that have pods, and in which order it is said.

use super::{Create, check_creates};

const CREATES: &[Create<'static>] = &[
    (
        "deployments",
        r#"{"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}, "minReadySeconds": 600}}"#,
        &[
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
        ],
    ),
    (
        "deployments",
        r#"{"spec": {"strategy": {"type": "Blue", "rollingUpdate": null}}}"#,
        &[
            r#"spec.strategy: Unsupported value: {"Type":"Blue","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate""#,
        ],
    ),
    (
        "daemonsets",
        r#"{"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": "1%", "maxUnavailable": "200%"}}}}"#,
        &[
            r#"spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "200%": must not be greater than 100%"#,
            r#"spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "1%": may not be set when maxUnavailable is non-zero"#,
        ],
    ),
    (
        "statefulsets",
        r#"{"spec": {"podManagementPolicy": "Any", "updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}, "serviceName": "a.b", "ordinals": {"start": -1}}}"#,
        &[
            r#"spec.podManagementPolicy: Invalid value: "Any": must be 'OrderedReady' or 'Parallel'"#,
            r#"spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy 'RollingUpdate'"#,
            "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
            r#"spec.serviceName: Invalid value: "a.b": must not contain dots"#,
        ],
    ),
    (
        "statefulsets",
        r#"{"spec": {"updateStrategy": {"rollingUpdate": {"partition": -1, "maxUnavailable": 0}}}}"#,
        &[
            "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
        ],
    ),
    (
        "replicationcontrollers",
        r#"{"spec": {"selector": {"a": "b"}, "replicas": -1}}"#,
        &[
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.template: Required value",
        ],
    ),
    (
        "jobs",
        r#"{"spec": {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 3, "podReplacementPolicy": "Now", "template": {"spec": {"restartPolicy": "Always"}}}}"#,
        &[
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions",
            r#"spec.podReplacementPolicy: Unsupported value: "Now": supported values: "Failed", "TerminatingOrFailed""#,
            r#"spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#,
        ],
    ),
    (
        "jobs",
        r#"{"spec": {"backoffLimitPerIndex": 1, "managedBy": "me", "podReplacementPolicy": null, "podFailurePolicy": {"rules": [{"action": "Stop"}]}, "template": {"spec": {"restartPolicy": "OnFailure"}}}}"#,
        &[
            r#"spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")"#,
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
            r#"spec.podFailurePolicy.rules[0].action: Unsupported value: "Stop": supported values: "Count", "FailIndex", "FailJob", "Ignore""#,
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            r#"spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified"#,
        ],
    ),
    (
        "jobs",
        r#"{"metadata": {"name": "a.b"}, "spec": {"completionMode": "Indexed", "completions": 2}}"#,
        &[
            r#"metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-1"#,
        ],
    ),
    (
        "cronjobs",
        r#"{"metadata": {"name": "fifty-three-characters-are-too-many-for-the-jobs-names"}, "spec": {"jobTemplate": {"spec": {"selector": {}, "manualSelector": true}}}}"#,
        &[
            "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
            r#"spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false""#,
            r#"metadata.name: Invalid value: "fifty-three-characters-are-too-many-for-the-jobs-names": must be no more than 52 characters"#,
        ],
    ),
    (
        "poddisruptionbudgets",
        r#"{"spec": {"minAvailable": "a", "maxUnavailable": -1, "unhealthyPodEvictionPolicy": "Never"}}"#,
        &[
            r#"spec: Invalid value: {"maxUnavailable":-1,"minAvailable":"a","unhealthyPodEvictionPolicy":"Never"}: minAvailable and maxUnavailable cannot be both set"#,
            r#"spec.minAvailable: Invalid value: "a": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"#,
            "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
            r#"spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget""#,
        ],
    ),
];

#[test]
fn what_is_wrong_with_workloads_is_said() {
    check_creates(CREATES);
}
