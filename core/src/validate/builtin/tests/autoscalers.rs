//! What is wrong with what an autoscaler goes by, and with how fast it scales.

use super::{check_creates, kind, patched, right, said};
use crate::defaults;

/// Metrics, and what is wrong with them, below `spec.metrics`.
const METRICS: &[(&str, &[&str])] = &[
    (
        r#"[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1}}},
            {"type": "Resource", "resource": {"name": "anything", "target": {"type": "AverageValue", "averageValue": "500m"}}},
            {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "target": {"type": "AverageValue", "averageValue": "1Mi"}}},
            {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
            {"type": "Object", "object": {"describedObject": {"kind": "Ingress", "name": "i"}, "metric": {"name": "m"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}}},
            {"type": "External", "external": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "Value", "value": "1"}}}]"#,
        &[],
    ),
    (
        "[{}]",
        &[
            "[0].type: Required value: must specify a metric source type",
            r#"[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource""#,
            r#"[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource""#,
        ],
    ),
    (
        r#"[{"type": "Pods"}, {"type": "Resource", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}}]"#,
        &[
            "[0].pods: Required value: must populate information for the given metric source",
            "[1].resource: Required value: must populate information for the given metric source",
        ],
    ),
    (
        r#"[{"type": "Pods", "pods": {}, "object": {"describedObject": {"kind": "k", "name": "n"}, "metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}, "resource": {}}]"#,
        &[
            "[0].object: Forbidden: must populate the given metric source only",
            "[0].resource: Forbidden: must populate the given metric source only",
        ],
    ),
    (
        r#"[{"type": "Object", "object": {"describedObject": {"kind": "a/b"}, "target": {}}}]"#,
        &[
            r#"[0].object.describedObject.kind: Invalid value: "a/b": may not contain '/'"#,
            "[0].object.describedObject.name: Required value",
            "[0].object.metric.name: Required value: must specify a metric name",
            "[0].object.target.type: Required value: must specify a metric target type",
            r#"[0].object.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue"#,
            "[0].object.target.averageValue: Required value: must set either a target value or averageValue",
        ],
    ),
    (
        r#"[{"type": "External", "external": {"metric": {"name": "a%"}, "target": {"type": "Value", "value": "0", "averageValue": "-1"}}},
            {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value"}}}]"#,
        &[
            r#"[0].external.metric.name: Invalid value: "a%": may not contain '%'"#,
            r#"[0].external.target.value: Invalid value: "0": must be positive"#,
            r#"[0].external.target.averageValue: Invalid value: "-1": must be positive"#,
            "[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
            "[1].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target",
        ],
    ),
    (
        r#"[{"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}]"#,
        &[
            "[0].pods.target.averageValue: Required value: must specify a positive target averageValue",
        ],
    ),
    (
        r#"[{"type": "Resource", "resource": {"target": {"type": "Utilization", "averageUtilization": 0}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 1, "averageValue": "1"}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Part"}}}]"#,
        &[
            "[0].resource.name: Required value: must specify a resource name",
            "[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
            "[1].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
            r#"[2].resource.target.type: Invalid value: "Part": must be either Utilization, Value, or AverageValue"#,
            "[2].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
        ],
    ),
    (
        r#"[{"type": "ContainerResource", "containerResource": {"target": {"type": "AverageValue", "averageValue": "1"}}},
            {"type": "ContainerResource", "containerResource": {"name": "pods", "container": "a.b", "target": {"type": "AverageValue", "averageValue": "1"}}}]"#,
        &[
            "[0].containerResource.name: Required value: must specify a resource name",
            "[0].containerResource.container: Required value: must specify a container",
            r#"[1].containerResource.name: Invalid value: "pods": must be a standard resource for containers"#,
            r#"[1].containerResource.container: Invalid value: "a.b": must not contain dots"#,
        ],
    ),
];

/// Rules of one direction, and what is wrong with them, below the direction.
const RULES: &[(&str, &[&str])] = &[
    ("null", &[]),
    ("{}", &[]),
    (
        r#"{"stabilizationWindowSeconds": 3600, "selectPolicy": "Disabled", "tolerance": "0", "policies": [{"type": "Percent", "value": 1, "periodSeconds": 1800}]}"#,
        &[],
    ),
    (
        r#"{"policies": []}"#,
        &[".policies: Required value: must specify at least one Policy"],
    ),
    (
        r#"{"stabilizationWindowSeconds": -1, "selectPolicy": "Most", "tolerance": "-10m"}"#,
        &[
            ".stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
            r#".selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min""#,
            r#".tolerance: Invalid value: "-10m": must be greater than or equal to 0"#,
        ],
    ),
    (
        r#"{"stabilizationWindowSeconds": 3601, "policies": [{}, {"type": "Pods", "value": 1, "periodSeconds": 1801}]}"#,
        &[
            ".stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
            r#".policies[0].type: Unsupported value: "": supported values: "Percent", "Pods""#,
            ".policies[0].value: Invalid value: 0: must be greater than zero",
            ".policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
            ".policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        ],
    ),
];

fn check(place: &str, change: &str, expected: &[&str]) {
    let mut new = patched(&right("horizontalpodautoscalers"), change);
    defaults::apply(&kind("horizontalpodautoscalers"), &mut new);
    let expected: Vec<String> = expected.iter().map(|one| format!("{place}{one}")).collect();
    let told = said("horizontalpodautoscalers", &new, None);
    assert_eq!(told, expected, "{change}");
}

#[test]
fn what_an_autoscaler_goes_by_has_one_source_and_one_target() {
    for (metrics, expected) in METRICS {
        let change = format!(r#"{{"spec": {{"metrics": {metrics}}}}}"#);
        check("spec.metrics", &change, expected);
    }
}

#[test]
fn how_fast_an_autoscaler_scales_has_bounds() {
    for (rules, expected) in RULES {
        for direction in ["scaleUp", "scaleDown"] {
            let change = format!(r#"{{"spec": {{"behavior": {{"{direction}": {rules}}}}}}}"#);
            check(&format!("spec.behavior.{direction}"), &change, expected);
        }
    }
}

#[test]
fn an_autoscaler_scales_something_that_has_a_path() {
    check_creates(&[
        (
            "horizontalpodautoscalers",
            r#"{"spec": {"scaleTargetRef": {"kind": "Deploy/ment", "name": ".."}}}"#,
            &[
                r#"spec.scaleTargetRef.kind: Invalid value: "Deploy/ment": may not contain '/'"#,
                r#"spec.scaleTargetRef.name: Invalid value: "..": may not be '..'"#,
            ],
        ),
        (
            "horizontalpodautoscalers",
            r#"{"spec": {"scaleTargetRef": {"kind": "A:b", "name": "a b"}}}"#,
            &[],
        ),
        (
            "horizontalpodautoscalers",
            r#"{"spec": {"minReplicas": 0}}"#,
            &[
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            ],
        ),
        (
            "horizontalpodautoscalers",
            r#"{"spec": {"minReplicas": 0, "metrics": [{"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}]}}"#,
            &["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"],
        ),
    ]);
}
