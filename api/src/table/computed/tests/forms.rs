//! Cells whose form depends on what an object says and what it does not.

use super::reads;
use serde_json::{Value, json};

#[test]
fn events_that_are_told_in_different_ways() {
    let series =
        json!({"series": {"count": 2}, "count": 5, "lastTimestamp": "2024-01-01T00:00:00Z"});
    let observed = json!({"series": {"count": 2, "lastObservedTime": "2024-01-01T00:01:00.000000Z"},
        "lastTimestamp": "2024-01-01T00:00:00Z"});
    let source = |source: Value| json!({"source": source, "reportingComponent": "c", "reportingInstance": "i"});
    reads([
        (
            "last-seen",
            json!({"firstTimestamp": "2024-01-01T00:01:00Z", "eventTime": "2024-01-01T00:00:00.000000Z"}),
            json!("30s"),
        ),
        ("last-seen", observed, json!("30s")),
        ("last-seen", series.clone(), json!("<unknown>")),
        ("count", series, json!(2)),
        (
            "object",
            json!({"involvedObject": {"kind": "Node"}}),
            json!("node"),
        ),
        ("event-source", source(json!({})), json!("c, i")),
        (
            "event-source",
            source(json!({"component": "d"})),
            json!("d, i"),
        ),
        ("event-source", source(json!({"host": "h"})), json!("c, h")),
        (
            "event-source",
            json!({"reportingComponent": "c"}),
            json!("c"),
        ),
        ("event-source", json!({}), json!("")),
    ]);
}

#[test]
fn endpoints_and_balancers_with_much_to_show() {
    let two = json!([{"ip": "fd00::1"}, {"ip": "10.0.0.1"}]);
    let ports =
        json!([{"name": "a"}, {"port": 1, "name": "b"}, {"port": 2}, {"port": 3}, {"port": 4}]);
    let balancer = json!({"spec": {"type": "LoadBalancer", "externalIPs": ["10.0.0.1"]},
        "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.3"}, {"hostname": "a.b"}, {"ip": "10.0.0.2"},
            {"ip": "10.0.0.3"}]}}});
    reads([
        ("endpoints", json!({}), json!("<none>")),
        (
            "endpoints",
            json!({"subsets": [{"notReadyAddresses": two, "ports": [{"port": 1}]}]}),
            json!(""),
        ),
        (
            "endpoints",
            json!({"subsets": [{"addresses": two}]}),
            json!("fd00::1,10.0.0.1"),
        ),
        (
            "endpoints",
            json!({"subsets": [{"addresses": two, "ports": [{"port": 1}, {"port": 2}]}]}),
            json!("[fd00::1]:1,10.0.0.1:1,[fd00::1]:2 + 1 more..."),
        ),
        (
            "slice-endpoints",
            json!({"endpoints": []}),
            json!("<unset>"),
        ),
        (
            "slice-endpoints",
            json!({"endpoints": [{"addresses": ["10.0.0.1"]}]}),
            json!("10.0.0.1"),
        ),
        ("slice-ports", json!({}), json!("<unset>")),
        (
            "slice-ports",
            json!({"ports": [{}, {"port": 0}]}),
            json!("*,0"),
        ),
        (
            "slice-ports",
            json!({"ports": ports}),
            json!("a,1,2 + 2 more..."),
        ),
        (
            "load-balancer",
            balancer.clone(),
            json!("10.0.0.2,10.0.0.3,a.b"),
        ),
        (
            "external-ip",
            balancer,
            json!("10.0.0.2,10.0.0.3,a.b,10.0.0.1"),
        ),
    ]);
}

/// An autoscaler with one metric, and what was last seen of it.
fn scaled(kind: &str, target: &Value, current: Option<&Value>) -> Value {
    let mut letters = kind.chars();
    let first = letters.next().expect("a type").to_ascii_lowercase();
    let member = format!("{first}{}", letters.as_str());
    let current = current.map(|current| json!({"type": kind, &member: {"current": current}}));
    json!({"spec": {"metrics": [{"type": kind, &member: {"name": "memory", "target": target}}]},
        "status": {"currentMetrics": Vec::from_iter(current)}})
}

#[test]
fn the_target_of_a_metric_decides_how_it_is_shown() {
    let nothing = json!({});
    let (average, value) = (json!({"averageValue": "10"}), json!({"value": "10"}));
    let two = json!({"averageValue": "3", "value": "4"});
    let both = json!({"averageUtilization": 50, "averageValue": "200Mi"});
    let share = json!({"averageUtilization": 80});
    let outside = ["External", "Object"];
    let resources = ["Resource", "ContainerResource"];
    for (kinds, target, current, expected) in [
        (outside, &average, None, "<unknown>/10 (avg)"),
        (outside, &average, Some(&two), "3/10 (avg)"),
        (outside, &average, Some(&nothing), "<unknown>/10 (avg)"),
        (outside, &value, None, "<unknown>/10"),
        (outside, &value, Some(&two), "4/10"),
        (outside, &nothing, Some(&nothing), "<nil>/<nil>"),
        (resources, &average, Some(&both), "memory: 200Mi/10"),
        (resources, &average, None, "memory: <unknown>/10"),
        (resources, &share, Some(&both), "memory: 50%/80%"),
        (resources, &share, Some(&nothing), "memory: <unknown>/80%"),
        (resources, &nothing, None, "memory: <unknown>/<auto>"),
    ] {
        let cell = |kind| ("targets", scaled(kind, target, current), json!(expected));
        reads(kinds.map(cell));
    }
    reads([
        (
            "targets",
            scaled("Other", &nothing, None),
            json!("<unknown type>"),
        ),
        ("min-pods", json!({"spec": {"minReplicas": 2}}), json!("2")),
        ("min-pods", json!({}), json!("<unset>")),
    ]);
}

#[test]
fn requests_that_failed_and_classes_of_old() {
    let states = |states: &[&str]| {
        let conditions: Vec<Value> = states.iter().map(|state| json!({"type": state})).collect();
        json!({"status": {"conditions": conditions}})
    };
    let class = |annotations: Value| json!({"metadata": {"annotations": annotations}, "spec": {"storageClassName": "new"}});
    let old = json!({"volume.beta.kubernetes.io/storage-class": "old"});
    reads([
        (
            "csr-condition",
            states(&["Failed"]),
            json!("Pending,Failed"),
        ),
        (
            "csr-condition",
            states(&["Approved", "Failed"]),
            json!("Approved,Failed"),
        ),
        (
            "csr-condition",
            states(&["Approved", "Denied"]),
            json!("Denied"),
        ),
        ("volume-class", class(old), json!("old")),
        ("volume-class", class(json!({})), json!("new")),
        ("volume-class", json!({}), json!("")),
    ]);
}
