//! Defaults that depend on other fields. Source: upstream's `pkg/apis/*/v1/defaults.go`.

use super::{
    TEMPLATE_GENERATION, alias, fill_absent, fill_empty, fill_missing, insert_empty,
    insert_missing, is_empty, is_missing, objects,
};
use crate::room::Room;
use serde_json::{Map, Value, json};

/// How long a service keeps sending a client to the same pod by default, in seconds.
const AFFINITY_SECONDS: u32 = 10_800;

/// Defaults that must be set before those of the table, because the table fills in the fields they
/// depend on.
pub(super) fn before_the_table(resource: &str, document: &mut Value) {
    match resource {
        "jobs" => job(document),
        "statefulsets" => roll_by_default(document),
        _ => {}
    }
}

pub(super) fn after_the_table(resource: &str, document: &mut Value, room: &mut Room) {
    match resource {
        "deployments" => {
            roll(document, "strategy");
            rolling(document, "strategy", "maxUnavailable", "25%".into());
            rolling(document, "strategy", "maxSurge", "25%".into());
        }
        "daemonsets" => {
            roll(document, "updateStrategy");
            rolling(document, "updateStrategy", "maxUnavailable", 1.into());
            rolling(document, "updateStrategy", "maxSurge", 0.into());
            first_template(document);
        }
        "statefulsets" => rolling(document, "updateStrategy", "partition", 0.into()),
        "services" => service(document, room),
        "rolebindings" | "clusterrolebindings" => subject_groups(document, room),
        "networkpolicies" => policy_types(document),
        "replicationcontrollers" => {
            let labels = template_labels(document);
            insert_at(document, "spec", "selector", labels.as_ref());
            insert_at(document, "metadata", "labels", labels.as_ref());
        }
        "limitranges" => limits(document, room),
        "nodes" => {
            alias::ranges(document);
            allocatable(document);
        }
        "persistentvolumeclaims" => alias::sources(document),
        "pods" => alias::addresses(document),
        "serviceaccounts" => name_secrets(document),
        "resourceclaims" => device_counts(document, &["spec"], room),
        "resourceclaimtemplates" => device_counts(document, &["spec", "spec"], room),
        _ => {}
    }
}

/// A job with neither completions nor parallelism is complete after one pod.
fn job(document: &mut Value) {
    let labels = template_labels(document);
    insert_at(document, "metadata", "labels", labels.as_ref());
    for spec in objects(document, &["spec"]) {
        if is_missing(spec, "completions") && is_missing(spec, "parallelism") {
            spec.insert("completions".into(), 1.into());
        }
        if !is_missing(spec, "backoffLimitPerIndex") {
            insert_missing(spec, "backoffLimit", i32::MAX.into());
        }
        let replaced = if is_missing(spec, "podFailurePolicy") {
            "TerminatingOrFailed"
        } else {
            "Failed"
        };
        insert_missing(spec, "podReplacementPolicy", replaced.into());
    }
}

/// Only a stateful set without an update type gets `rollingUpdate`, and with it a partition.
fn roll_by_default(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        insert_missing(spec, "updateStrategy", json!({}));
    }
    for members in objects(document, &["spec", "updateStrategy"]) {
        if is_empty(members, "type") {
            insert_missing(members, "rollingUpdate", json!({}));
        }
    }
}

fn roll(document: &mut Value, strategy: &str) {
    for members in objects(document, &["spec", strategy]) {
        if is(members, "type", &["RollingUpdate"]) {
            insert_missing(members, "rollingUpdate", json!({}));
        }
    }
}

fn rolling(document: &mut Value, strategy: &str, member: &str, value: Value) {
    for members in objects(document, &["spec", strategy]) {
        let is_rolling = is(members, "type", &["RollingUpdate"]);
        let rolling = members.get_mut("rollingUpdate").filter(|_| is_rolling);
        if let Some(rolling) = rolling.and_then(Value::as_object_mut) {
            insert_missing(rolling, member, value.clone());
        }
    }
}

/// A daemon set has had one pod template, unless it says that it has had more. Source:
/// `daemonSetStrategy.PrepareForCreate`.
fn first_template(document: &mut Value) {
    for metadata in objects(document, &["metadata"]) {
        insert_missing(metadata, "annotations", json!({}));
    }
    for annotations in objects(document, &["metadata", "annotations"]) {
        let said = annotations.get(TEMPLATE_GENERATION).and_then(Value::as_str);
        let said = said.and_then(|said| said.parse::<i64>().ok());
        let count = said.unwrap_or(1).max(1).to_string();
        annotations.insert(TEMPLATE_GENERATION.into(), count.into());
    }
}

fn is(members: &Map<String, Value>, member: &str, any: &[&str]) -> bool {
    let text = members.get(member).and_then(Value::as_str);
    text.is_some_and(|text| any.contains(&text))
}

fn service(document: &mut Value, room: &mut Room) {
    for port in objects(document, &["spec", "ports", "*"]) {
        let number = port.get("port").cloned().unwrap_or_default();
        fill_empty(port, "targetPort", number, room);
    }
    let mut is_balanced = false;
    for spec in objects(document, &["spec"]) {
        is_balanced = is(spec, "type", &["LoadBalancer"]);
        traffic(spec, is_balanced);
        affinity(spec);
        addresses(spec);
    }
    if is_balanced {
        for address in objects(document, &["status", "loadBalancer", "ingress", "*"]) {
            if !is_empty(address, "ip") {
                fill_missing(address, "ipMode", "VIP".into(), room);
            }
        }
    }
}

/// A service whose only address is told by an older client has a list of that one. Source:
/// `normalizeClusterIPs` and `defaultOnReadService` of upstream's storage of services.
fn addresses(spec: &mut Map<String, Value>) {
    if !is_empty(spec, "clusterIP") {
        let only = spec.get("clusterIP").cloned();
        insert_empty(spec, "clusterIPs", json!([only]));
    }
}

fn traffic(spec: &mut Map<String, Value>, is_balanced: bool) {
    let is_cluster_ip = is(spec, "type", &["ClusterIP"]);
    let is_outside = is_balanced || is(spec, "type", &["NodePort"]);
    if is_outside || is_cluster_ip && !is_empty(spec, "externalIPs") {
        insert_empty(spec, "externalTrafficPolicy", "Cluster".into());
    }
    if is_outside || is_cluster_ip {
        insert_missing(spec, "internalTrafficPolicy", "Cluster".into());
    }
    if is_balanced {
        insert_missing(spec, "allocateLoadBalancerNodePorts", true.into());
    }
}

fn affinity(spec: &mut Map<String, Value>) {
    if is(spec, "sessionAffinity", &["None"]) {
        spec.remove("sessionAffinityConfig");
    }
    let config = spec.get("sessionAffinityConfig");
    let seconds = config.and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
    if is(spec, "sessionAffinity", &["ClientIP"]) && seconds.is_none_or(Value::is_null) {
        let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}});
        spec.insert("sessionAffinityConfig".into(), config);
    }
}

fn subject_groups(document: &mut Value, room: &mut Room) {
    for subject in objects(document, &["subjects", "*"]) {
        if is(subject, "kind", &["User", "Group"]) {
            let group = "rbac.authorization.k8s.io";
            fill_empty(subject, "apiGroup", group.into(), room);
        }
    }
}

fn policy_types(document: &mut Value) {
    for spec in objects(document, &["spec"]) {
        let mut types = vec!["Ingress"];
        if !is_empty(spec, "egress") {
            types.push("Egress");
        }
        insert_empty(spec, "policyTypes", json!(types));
    }
}

/// Returns the labels of the pod template, which are the default for labels and selector of its
/// owner.
fn template_labels(document: &Value) -> Option<Value> {
    let labels = document.pointer("/spec/template/metadata/labels");
    labels.filter(|labels| labels.is_object()).cloned()
}

fn insert_at(document: &mut Value, parent: &str, member: &str, value: Option<&Value>) {
    let Some(value) = value else { return };
    for members in objects(document, &[parent]) {
        insert_empty(members, member, value.clone());
    }
}

/// For containers, a missing default limit is the maximum, and a missing default request is the
/// default limit or else the minimum.
fn limits(document: &mut Value, room: &mut Room) {
    for limit in objects(document, &["spec", "limits", "*"]) {
        if !is(limit, "type", &["Container"]) {
            continue;
        }
        for (amounts, others) in [
            ("default", &["max"][..]),
            ("defaultRequest", &["default", "min"]),
        ] {
            let taken = limit.get(amounts).and_then(Value::as_object);
            let mut taken = taken.cloned().unwrap_or_default();
            for other in others {
                fill_absent(&mut taken, limit.get(*other), room);
            }
            if !taken.is_empty() {
                limit.insert(amounts.into(), taken.into());
            }
        }
    }
}

/// A request for an exact count of devices that gives no count asks for one.
fn device_counts(document: &mut Value, claim: &[&'static str], room: &mut Room) {
    for asked in [&["exactly"][..], &["firstAvailable", "*"]] {
        let path = [claim, &["devices", "requests", "*"], asked].concat();
        for request in objects(document, &path) {
            if is(request, "allocationMode", &["ExactCount"]) {
                fill_empty(request, "count", 1.into(), room);
            }
        }
    }
}

/// References to the secrets of an account are names and nothing else. Source: `cleanSecretReferences` of
/// upstream's `pkg/registry/core/serviceaccount`.
fn name_secrets(document: &mut Value) {
    for secret in objects(document, &["secrets", "*"]) {
        secret.retain(|member, _| member == "name");
    }
}

fn allocatable(document: &mut Value) {
    for status in objects(document, &["status"]) {
        if let Some(capacity) = status.get("capacity").filter(|found| found.is_object()) {
            let capacity = capacity.clone();
            insert_missing(status, "allocatable", capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin_kind as kind;

    /// Resource, document, JSON pointer, the value there after defaulting.
    const CASES: &str = r#"
deployments | {"spec": {}} | /spec/strategy/rollingUpdate | {"maxSurge": "25%", "maxUnavailable": "25%"}
deployments | {"spec": {"strategy": {"type": "Recreate"}}} | /spec/strategy | {"type": "Recreate"}
daemonsets | {"spec": {}} | /spec/updateStrategy/rollingUpdate | {"maxSurge": 0, "maxUnavailable": 1}
daemonsets | {"metadata": {}, "spec": {}} | /metadata/annotations | {"deprecated.daemonset.template.generation": "1"}
daemonsets | {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "0"}}} | /metadata/annotations | {"deprecated.daemonset.template.generation": "1"}
daemonsets | {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "7"}}} | /metadata/annotations | {"deprecated.daemonset.template.generation": "7"}
statefulsets | {"spec": {}} | /spec/updateStrategy | {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
statefulsets | {"spec": {"updateStrategy": {"type": "RollingUpdate"}}} | /spec/updateStrategy | {"type": "RollingUpdate"}
statefulsets | {"spec": {"updateStrategy": {"type": "OnDelete"}}} | /spec/updateStrategy | {"type": "OnDelete"}
services | {"spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": ""}]}} | /spec/ports | [{"port": 80, "protocol": "TCP", "targetPort": 80}, {"port": 81, "protocol": "TCP", "targetPort": 81}]
services | {"spec": {}} | /spec | {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
services | {"spec": {"externalIPs": ["192.0.2.1"]}} | /spec/externalTrafficPolicy | "Cluster"
services | {"spec": {"type": "NodePort"}} | /spec | {"type": "NodePort", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster"}
services | {"spec": {"type": "LoadBalancer"}} | /spec/allocateLoadBalancerNodePorts | true
services | {"spec": {"clusterIP": "None"}} | /spec/clusterIPs | ["None"]
services | {"spec": {"clusterIPs": ["None"]}} | /spec/clusterIP | null
services | {"spec": {"type": "ExternalName"}} | /spec | {"type": "ExternalName", "sessionAffinity": "None"}
services | {"spec": {"sessionAffinity": "ClientIP"}} | /spec/sessionAffinityConfig | {"clientIP": {"timeoutSeconds": 10800}}
services | {"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}} | /spec/sessionAffinityConfig | {"clientIP": {"timeoutSeconds": 5}}
services | {"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}} | /spec/sessionAffinityConfig | null
services | {"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "h"}]}}} | /status/loadBalancer/ingress | [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "h"}]
jobs | {"spec": {}} | /spec/completions | 1
jobs | {"spec": {"parallelism": 3}} | /spec/completions | null
jobs | {"spec": {"parallelism": 1}} | /spec/completions | null
jobs | {"spec": {"completions": 2}} | /spec/parallelism | 1
jobs | {"spec": {"backoffLimitPerIndex": 2}} | /spec/backoffLimit | 2147483647
jobs | {"spec": {}} | /spec/podReplacementPolicy | "TerminatingOrFailed"
jobs | {"spec": {"podFailurePolicy": {"rules": []}}} | /spec/podReplacementPolicy | "Failed"
jobs | {"metadata": {}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}} | /metadata/labels | {"a": "b"}
jobs | {"metadata": {"labels": {"c": "d"}}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}} | /metadata/labels | {"c": "d"}
replicationcontrollers | {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}} | /spec/selector | {"a": "b"}
rolebindings | {"subjects": [{"kind": "User"}, {"kind": "ServiceAccount"}]} | /subjects | [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount"}]
networkpolicies | {"spec": {"egress": []}} | /spec/policyTypes | ["Ingress"]
networkpolicies | {"spec": {"egress": [{}]}} | /spec/policyTypes | ["Ingress", "Egress"]
limitranges | {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]}} | /spec/limits/0 | {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}
limitranges | {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}} | /spec/limits/0 | {"type": "Pod", "max": {"cpu": "2"}}
nodes | {"status": {"capacity": {"cpu": "2"}}} | /status/allocatable | {"cpu": "2"}
resourceclaims | {"spec": {"devices": {"requests": [{"exactly": {}}, {"exactly": {"allocationMode": "All"}}]}}} | /spec/devices/requests | [{"exactly": {"allocationMode": "ExactCount", "count": 1}}, {"exactly": {"allocationMode": "All"}}]
resourceclaimtemplates | {"spec": {"spec": {"devices": {"requests": [{"firstAvailable": [{"count": 2}, {}]}]}}}} | /spec/spec/devices/requests/0/firstAvailable | [{"allocationMode": "ExactCount", "count": 2}, {"allocationMode": "ExactCount", "count": 1}]
serviceaccounts | {"secrets": [{"name": "s", "namespace": "n", "uid": "u"}]} | /secrets | [{"name": "s"}]
persistentvolumes | {"spec": {"azureDisk": {"diskName": "d"}}} | /spec/azureDisk | {"diskName": "d", "cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": false}
"#;

    #[test]
    fn what_follows_from_another_field_follows() {
        for row in CASES.lines().filter(|row| !row.is_empty()) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let [resource, document, pointer, expected] = cells[..] else {
                panic!("four cells: {row}");
            };
            let json = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
            let mut document = json(document);
            super::super::apply(&kind(resource), &mut document);
            let found = document.pointer(pointer).cloned().unwrap_or_default();
            assert_eq!(found, json(expected), "{row}");
        }
    }
}
