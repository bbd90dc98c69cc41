//! Conversions from one version to the other and back.

use super::*;

fn v2(spec: Value, status: Value) -> Members {
    let object = json!({"metadata": {"name": "a"}, "spec": spec, "status": status});
    object.as_object().cloned().expect("an object")
}

fn cpu(percent: u8) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": percent}}})
}

#[test]
fn the_first_metric_of_the_cpu_is_the_target_of_v1() {
    let mut object = v2(json!({"maxReplicas": 3, "metrics": [cpu(80)]}), json!({}));
    to_v1(&mut object);
    let expected = json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 80});
    assert_eq!(object["spec"], expected);
    assert_eq!(
        object["metadata"],
        json!({"name": "a"}),
        "nothing rides along"
    );
}

#[test]
fn what_v1_cannot_say_rides_in_its_annotations_in_its_own_shapes() {
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "m"},
        "target": {"type": "AverageValue", "averageValue": "10"}}});
    let mut object = v2(json!({"metrics": [cpu(5), pods]}), json!({}));
    to_v1(&mut object);
    let text =
        object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].as_str();
    let metrics: Value = serde_json::from_str(text.expect("a text")).expect("JSON");
    let expected =
        json!([{"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "10"}}]);
    assert_eq!(metrics, expected);
}

#[test]
fn there_and_back_is_the_same_object() {
    let selector = json!({"matchLabels": {"a": "b"}});
    let reference = json!({"kind": "Service", "name": "s", "apiVersion": "v1"});
    let metrics = json!([cpu(50),
        {"type": "Resource", "resource": {"name": "memory",
            "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
            "target": {"type": "Utilization", "averageUtilization": 7}}},
        {"type": "Object", "object": {"describedObject": reference, "metric": {"name": "m",
            "selector": selector}, "target": {"type": "Value", "value": "3"}}},
        {"type": "External", "external": {"metric": {"name": "q", "selector": selector},
            "target": {"type": "AverageValue", "averageValue": "4"}}}]);
    let spec = json!({"minReplicas": 1, "maxReplicas": 9, "metrics": metrics,
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 1}}});
    let status = json!({"currentReplicas": 2, "conditions": [{"type": "AbleToScale"}],
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu",
                "current": {"averageUtilization": 4, "averageValue": "5m"}}},
            {"type": "Object", "object": {"describedObject": reference, "metric": {"name": "m"},
                "current": {"value": "1"}}}]});
    let before = v2(spec, status);
    let mut object = before.clone();
    to_v1(&mut object);
    assert_eq!(object["status"]["currentCPUUtilizationPercentage"], 4);
    to_v2(&mut object);
    assert_eq!(object, before);
}

#[test]
fn nobody_counted_is_a_count_in_v1_alone() {
    let mut object = v2(json!({"maxReplicas": 1}), json!({"desiredReplicas": 0}));
    let before = object.clone();
    to_v1(&mut object);
    let expected = json!({"currentReplicas": 0, "desiredReplicas": 0});
    assert_eq!(object["status"], expected);
    to_v2(&mut object);
    assert_eq!(object, before);
}

#[test]
fn an_annotation_that_is_not_json_stays() {
    let mut object = v2(json!({"maxReplicas": 1}), json!({}));
    object["metadata"] = json!({"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "{"}});
    let before = object.clone();
    to_v2(&mut object);
    assert_eq!(object, before);
}

fn with_annotation(name: &str, value: &Value) -> Members {
    let annotations = json!({format!("{PREFIX}{name}"): value.to_string()});
    let object = json!({"metadata": {"annotations": annotations}, "spec": {"maxReplicas": 3}});
    object.as_object().cloned().expect("an object")
}

#[test]
fn a_zero_that_only_v1_has_is_no_value_of_a_metric_with_an_average() {
    for (zero, average, kept) in [
        ("0", json!("5"), json!(null)),
        ("0m", json!("5"), json!(null)),
        ("1", json!("5"), json!("1")),
        ("0", json!(null), json!("0")),
    ] {
        let mut source = json!({"target": {"kind": "Service", "name": "s"}, "metricName": "m",
            "targetValue": zero});
        if !average.is_null() {
            source["averageValue"] = average.clone();
        }
        let metrics = json!([{"type": "Object", "object": source}]);
        let mut object = with_annotation("metrics", &metrics);
        to_v2(&mut object);
        let target = &object["spec"]["metrics"][0]["object"]["target"];
        let value = target.get("value").cloned().unwrap_or_default();
        assert_eq!(value, kept, "{zero} {average}");
    }
}

#[test]
fn a_behavior_is_written_as_upstream_writes_it_and_read_in_any_case() {
    let behavior = json!({"scaleUp": {"selectPolicy": "Min", "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Pods", "value": 7, "periodSeconds": 60}]}});
    let upstream = json!({"ScaleUp": {"SelectPolicy": "Min", "StabilizationWindowSeconds": 0,
        "Policies": [{"Type": "Pods", "Value": 7, "PeriodSeconds": 60}]}});
    let mut object = v2(json!({"behavior": behavior}), json!({}));
    to_v1(&mut object);
    let written = &object["metadata"]["annotations"][&format!("{PREFIX}behavior")];
    let written: Value = serde_json::from_str(written.as_str().expect("text")).expect("JSON");
    assert_eq!(written, upstream);
    let mut with_nulls = upstream.clone();
    with_nulls["ScaleDown"] = json!(null);
    with_nulls["ScaleUp"]["Tolerance"] = json!(null);
    for annotated in [&behavior, &upstream, &with_nulls] {
        let mut object = with_annotation("behavior", annotated);
        to_v2(&mut object);
        assert_eq!(object["spec"]["behavior"], behavior);
    }
}
