//! Computed cells, kind by kind.

mod forms;

use super::cell;
use hindsight_core::Time;
use serde_json::{Value, json};

#[track_caller]
fn reads(cases: impl IntoIterator<Item = (&'static str, Value, Value)>) {
    let now = Time::parse("2024-01-01T00:01:30Z").expect("a time");
    for (name, object, expected) in cases {
        assert_eq!(cell(name, &object, now), Some(expected), "{name} {object}");
    }
}

#[test]
fn what_many_kinds_show() {
    reads([
        (
            "data",
            json!({"data": {"a": ""}, "binaryData": {"b": ""}}),
            json!(2),
        ),
        ("secrets", json!({}), json!(0)),
        (
            "last-seen",
            json!({"lastTimestamp": null, "eventTime": "2024-01-01T00:00:00.000000Z"}),
            json!("90s"),
        ),
        ("count", json!({}), json!(1)),
        ("count", json!({"count": 3}), json!(3)),
        (
            "object",
            json!({"involvedObject": {"kind": "ConfigMap", "name": "A"}}),
            json!("configmap/A"),
        ),
        (
            "event-source",
            json!({"source": {"component": "c", "host": "h"}}),
            json!("c, h"),
        ),
        (
            "role",
            json!({"roleRef": {"kind": "Role", "name": "r"}}),
            json!("Role/r"),
        ),
        (
            "service-accounts",
            json!({"subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "s"},
                    {"kind": "User", "name": "u"}]}),
            json!("n/s"),
        ),
        (
            "access-modes",
            json!({"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}}),
            json!("RWO,RWX"),
        ),
        (
            "bound-modes",
            json!({"spec": {"accessModes": ["ReadWriteOnce"]}}),
            json!(""),
        ),
        (
            "bound-modes",
            json!({"spec": {"volumeName": "v"}, "status": {"accessModes": ["ReadWriteOncePod"]}}),
            json!("RWOP"),
        ),
        ("csr-condition", json!({}), json!("Pending")),
        (
            "csr-condition",
            json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "x"}}),
            json!("Approved,Issued"),
        ),
        (
            "requested-duration",
            json!({"spec": {"expirationSeconds": 600}}),
            json!("10m"),
        ),
    ]);
}

#[test]
fn pods_that_are_being_deleted() {
    let row = |status: Value, said: &str| {
        let pod = json!({"status": status, "metadata": {"deletionTimestamp": "x"}});
        ("pod-status", pod, json!(said))
    };
    reads([
        row(json!({"phase": "Running"}), "Terminating"),
        row(json!({"phase": "Succeeded"}), "Succeeded"),
        row(json!({"phase": "Running", "reason": "NodeLost"}), "Unknown"),
    ]);
}

#[test]
fn pods_what_makes_them_and_nodes() {
    reads([
        (
            "selector",
            json!({"spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [
                    {"key": "k", "operator": "In", "values": ["x", "y"]},
                    {"key": "l", "operator": "Exists"}]}}}),
            json!("a=b,k in (x,y),l"),
        ),
        (
            "pod-selector",
            json!({"spec": {"podSelector": {"matchLabels": {"z": "1", "b": "2"}, "matchExpressions": [
                    {"key": "a", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "y", "operator": "DoesNotExist"}]}}}),
            json!("a notin (x,y),b=2,!y,z=1"),
        ),
        (
            "pod-selector",
            json!({"spec": {"podSelector": {}}}),
            json!("<none>"),
        ),
        (
            "selector",
            json!({"spec": {"selector": {"a": "b"}}}),
            json!("a=b"),
        ),
        (
            "duration",
            json!({"status": {"startTime": "2024-01-01T00:00:00Z"}}),
            json!("90s"),
        ),
        ("ready", json!({"spec": {"containers": [{}]}}), json!("0/1")),
        (
            "roles",
            json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}),
            json!("control-plane"),
        ),
        (
            "node-status",
            json!({"spec": {"unschedulable": true}, "status": {"conditions": [
                    {"type": "Ready", "status": "True"}]}}),
            json!("Ready,SchedulingDisabled"),
        ),
        ("targets", json!({}), json!("<none>")),
        (
            "targets",
            json!({"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"averageUtilization": 80}}},
                {"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, {}]},
                "status": {"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 50}}}]}}),
            json!("cpu: 50%/80%, <unknown>/5 + 1 more..."),
        ),
        (
            "targets",
            json!({"spec": {"metrics": [{"type": "Pods", "pods": {"target": {"averageValue": 5}}},
                {"type": "Object", "object": {"target": {"value": 1.5}}}]}}),
            json!("<unknown>/5, <unknown>/1.5"),
        ),
        ("min-available", json!({}), json!("N/A")),
    ]);
}

#[test]
fn services_and_what_leads_to_them() {
    reads([
        (
            "ports",
            json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"},
                    {"port": 53, "nodePort": 30053, "protocol": "UDP"}]}}),
            json!("80/TCP,53:30053/UDP"),
        ),
        (
            "external-ip",
            json!({"spec": {"type": "LoadBalancer"}}),
            json!("<pending>"),
        ),
        (
            "external-ip",
            json!({"spec": {"type": "ExternalName", "externalName": "a.b"}}),
            json!("a.b"),
        ),
        (
            "endpoints",
            json!({"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}),
            json!("1.2.3.4:80"),
        ),
        (
            "hosts",
            json!({"spec": {"rules": [{"host": "a"}, {}]}}),
            json!("a"),
        ),
        (
            "hosts",
            json!({"spec": {"rules": [{}, {"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}]}}),
            json!("a,b,c + 2 more..."),
        ),
        ("hosts", json!({"spec": {"rules": [{}]}}), json!("*")),
        ("message", json!({"message": " M\n"}), json!("M")),
        (
            "roles",
            json!({"metadata": {"labels": {"kubernetes.io/role": "x",
                "node-role.kubernetes.io/control-plane": ""}}}),
            json!("control-plane,x"),
        ),
        (
            "ingress-ports",
            json!({"spec": {"tls": [{}]}}),
            json!("80, 443"),
        ),
        (
            "scale-target",
            json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}}}),
            json!("Deployment/d"),
        ),
    ]);
}

#[test]
fn quotas_and_drivers() {
    let quota = json!({"status": {"hard": {"pods": "4", "limits.cpu": "2", "requests.cpu": 1},
        "used": {"pods": "1", "limits.cpu": "500m"}}});
    reads([
        (
            "quota-requests",
            quota.clone(),
            json!("pods: 1/4, requests.cpu: 0/1"),
        ),
        ("quota-limits", quota, json!("limits.cpu: 500m/2")),
        ("quota-limits", json!({}), json!("")),
        ("attach-required", json!({"spec": {}}), json!(true)),
        (
            "attach-required",
            json!({"spec": {"attachRequired": false}}),
            json!(false),
        ),
        ("pod-info-on-mount", json!({}), json!(false)),
        ("storage-capacity", json!({}), json!(false)),
        ("requires-republish", json!({}), json!(false)),
        ("token-requests", json!({}), json!("<unset>")),
        (
            "token-requests",
            json!({"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}}),
            json!("a,b"),
        ),
        ("lifecycle-modes", json!({}), json!("<none>")),
        (
            "lifecycle-modes",
            json!({"spec": {"volumeLifecycleModes": ["Persistent", "Ephemeral"]}}),
            json!("Persistent,Ephemeral"),
        ),
    ]);
}

#[test]
fn policies_claims_and_addresses() {
    let claim = json!({"status": {"allocation": {}, "reservedFor": [{}]}});
    let going = json!({"metadata": {"deletionTimestamp": "x"}});
    reads([
        (
            "validations",
            json!({"spec": {"validations": [{}]}}),
            json!(1),
        ),
        ("param-kind", json!({}), json!("<unset>")),
        (
            "param-kind",
            json!({"spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}}),
            json!("v1/ConfigMap"),
        ),
        ("param-ref", json!({}), json!("<unset>")),
        (
            "param-ref",
            json!({"spec": {"paramRef": {"name": "a"}}}),
            json!("*/a"),
        ),
        (
            "param-ref",
            json!({"spec": {"paramRef": {"name": "a", "namespace": "n"}}}),
            json!("n/a"),
        ),
        ("missing-level", json!({}), json!("?")),
        (
            "missing-level",
            json!({"status": {"conditions": [{"type": "Dangling", "status": "False"}]}}),
            json!("False"),
        ),
        ("claim-state", json!({}), json!("pending")),
        ("claim-state", going, json!("deleted")),
        ("claim-state", claim, json!("allocated,reserved")),
        (
            "cidrs",
            json!({"spec": {"cidrs": ["10.0.0.0/8", "fd00::/8"]}}),
            json!("10.0.0.0/8,fd00::/8"),
        ),
        ("parent-ref", json!({}), json!("<none>")),
        (
            "parent-ref",
            json!({"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "a"}}}),
            json!("services/n/a"),
        ),
        (
            "parent-ref",
            json!({"spec": {"parentRef": {"group": "g.io", "resource": "Things", "name": "a"}}}),
            json!("things.g.io/a"),
        ),
    ]);
}
