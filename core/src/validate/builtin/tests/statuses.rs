//! What a status cannot say.

use super::{Update, check_updates};

const UPDATES: &[Update<'static>] = &[
    (
        "deployments",
        "{}",
        r#"{"status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 2, "unavailableReplicas": 1, "terminatingReplicas": 4, "collisionCount": 1}}"#,
        &[],
    ),
    (
        "deployments",
        "{}",
        r#"{"status": {"observedGeneration": -1, "unavailableReplicas": -2, "terminatingReplicas": -3, "collisionCount": -4}}"#,
        &[
            "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
            "status.unavailableReplicas: Invalid value: -2: must be greater than or equal to 0",
            "status.terminatingReplicas: Invalid value: -3: must be greater than or equal to 0",
            "status.collisionCount: Invalid value: -4: must be greater than or equal to 0",
        ],
    ),
    // What is absent is 0, as in Go.
    (
        "deployments",
        "{}",
        r#"{"status": {"replicas": -1}}"#,
        &[
            "status.replicas: Invalid value: -1: must be greater than or equal to 0",
            "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas",
            "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
        ],
    ),
    (
        "deployments",
        "{}",
        r#"{"status": {"replicas": 1, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 2}}"#,
        &[
            "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ],
    ),
    (
        "deployments",
        r#"{"status": {"collisionCount": 3}}"#,
        r#"{"status": {"collisionCount": 2}}"#,
        &["status.collisionCount: Invalid value: 2: cannot be decremented"],
    ),
    (
        "statefulsets",
        r#"{"status": {"collisionCount": 0}}"#,
        r#"{"status": {"collisionCount": null}}"#,
        &["status.collisionCount: Invalid value: 0: cannot be decremented"],
    ),
    (
        "daemonsets",
        r#"{"status": {"collisionCount": 3}}"#,
        r#"{"status": {"collisionCount": 4}}"#,
        &[],
    ),
    (
        "replicasets",
        "{}",
        r#"{"status": {"replicas": 2, "fullyLabeledReplicas": 3, "readyReplicas": 1, "availableReplicas": 2, "terminatingReplicas": -1}}"#,
        &[
            "status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.fullyLabeledReplicas: Invalid value: 3: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
        ],
    ),
    (
        "replicationcontrollers",
        "{}",
        r#"{"status": {"replicas": 1, "fullyLabeledReplicas": -1, "readyReplicas": 2}}"#,
        &[
            "status.fullyLabeledReplicas: Invalid value: -1: must be greater than or equal to 0",
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ],
    ),
    (
        "statefulsets",
        "{}",
        r#"{"status": {"replicas": 1, "currentReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}}"#,
        &[
            "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.updatedReplicas: Invalid value: 3: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
        ],
    ),
    // More may be ready than are scheduled: nothing compares them.
    (
        "daemonsets",
        "{}",
        r#"{"status": {"currentNumberScheduled": -1, "numberReady": 2, "numberMisscheduled": -3}}"#,
        &[
            "status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to 0",
            "status.numberMisscheduled: Invalid value: -3: must be greater than or equal to 0",
        ],
    ),
    (
        "jobs",
        "{}",
        r#"{"status": {"active": -1, "ready": -2, "terminating": -3}}"#,
        &[
            "status.active: Invalid value: -1: must be greater than or equal to 0",
            "status.ready: Invalid value: -2: must be greater than or equal to 0",
            "status.terminating: Invalid value: -3: must be greater than or equal to 0",
        ],
    ),
    (
        "jobs",
        r#"{"status": {"succeeded": 2, "failed": 2}}"#,
        r#"{"status": {"succeeded": null, "failed": 1}}"#,
        &[
            "status.failed: Invalid value: 1: cannot decrease the failed counter",
            "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        ],
    ),
    (
        "jobs",
        r#"{"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}, "status": {"succeeded": 2}}"#,
        r#"{"status": {"succeeded": 1}}"#,
        &[],
    ),
    (
        "horizontalpodautoscalers",
        "{}",
        r#"{"status": {"currentReplicas": -4, "desiredReplicas": -5}}"#,
        &[
            "status.currentReplicas: Invalid value: -4: must be greater than or equal to 0",
            "status.desiredReplicas: Invalid value: -5: must be greater than or equal to 0",
        ],
    ),
    (
        "poddisruptionbudgets",
        "{}",
        r#"{"status": {"disruptionsAllowed": -1, "currentHealthy": -2, "desiredHealthy": -3, "expectedPods": -4}}"#,
        &[
            "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
            "status.currentHealthy: Invalid value: -2: must be greater than or equal to 0",
            "status.desiredHealthy: Invalid value: -3: must be greater than or equal to 0",
            "status.expectedPods: Invalid value: -4: must be greater than or equal to 0",
        ],
    ),
    (
        "poddisruptionbudgets",
        "{}",
        r#"{"status": {"conditions": [{"type": "a", "status": "True", "reason": "a:B_", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}}"#,
        &[],
    ),
    (
        "poddisruptionbudgets",
        "{}",
        r#"{"status": {"conditions": [
            {"type": "a/", "status": "x", "reason": "B:", "observedGeneration": -1, "lastTransitionTime": "2024-01-01T00:00:00Z"},
            {"type": "a/", "status": "False"}]}}"#,
        &[
            r#"status.conditions[0].type: Invalid value: "a/": name part must be non-empty"#,
            r#"status.conditions[0].type: Invalid value: "a/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            r#"status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown""#,
            "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
            r#"status.conditions[0].reason: Invalid value: "B:": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"#,
            r#"status.conditions[1].type: Duplicate value: "a/""#,
            r#"status.conditions[1].type: Invalid value: "a/": name part must be non-empty"#,
            r#"status.conditions[1].type: Invalid value: "a/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#,
            "status.conditions[1].lastTransitionTime: Required value: must be set",
            "status.conditions[1].reason: Required value: must be set",
        ],
    ),
    (
        "resourcequotas",
        "{}",
        r#"{"status": {"hard": {"memroy": "1"}, "used": {"pods": "-1"}}}"#,
        &[
            r#"status.hard[memroy]: Invalid value: "memroy": must be a standard resource type or fully qualified"#,
            r#"status.hard[memroy]: Invalid value: "memroy": must be a standard resource for quota"#,
            r#"status.used[pods]: Invalid value: "-1": must be greater than or equal to 0"#,
        ],
    ),
];

#[test]
fn counts_that_contradict_each_other_are_refused() {
    check_updates(UPDATES);
}

#[test]
fn a_status_that_an_earlier_release_stored_may_stay_as_it_is() {
    let stored = r#"{"status": {"replicas": 1, "readyReplicas": 2}}"#;
    check_updates(&[
        (
            "deployments",
            stored,
            r#"{"metadata": {"labels": {"a": "b"}}}"#,
            &[],
        ),
        (
            "deployments",
            stored,
            r#"{"status": {"observedGeneration": 1}}"#,
            &[],
        ),
        (
            "deployments",
            stored,
            r#"{"status": {"readyReplicas": 3}}"#,
            &["status.readyReplicas: Invalid value: 3: cannot be greater than status.replicas"],
        ),
    ]);
}
