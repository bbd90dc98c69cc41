//! Fields of a service that its new type has no use for. Source: `dropTypeDependentFields` of upstream's
//! `pkg/registry/core/service/strategy.go`.

use serde_json::{Map, Value};

/// Members of the specification that go with a type, and the types that they are for.
const DEPENDENT: [(&str, &[&str]); 7] = [
    ("clusterIP", ADDRESSED),
    ("clusterIPs", ADDRESSED),
    ("ipFamilies", ADDRESSED),
    ("ipFamilyPolicy", ADDRESSED),
    ("healthCheckNodePort", &["LoadBalancer"]),
    ("allocateLoadBalancerNodePorts", &["LoadBalancer"]),
    ("loadBalancerClass", &["LoadBalancer"]),
];
const ADDRESSED: &[&str] = &["ClusterIP", "NodePort", "LoadBalancer"];
const ON_NODES: &[&str] = &["NodePort", "LoadBalancer"];

/// Who changes the type and leaves such a field as it was did not mean to keep it.
pub(super) fn drop_dependent(old: &Value, next: &mut Value) {
    let old = old.get("spec").and_then(Value::as_object);
    let next = next.get_mut("spec").and_then(Value::as_object_mut);
    let Some((old, next)) = old.zip(next) else {
        return;
    };
    for (member, types) in DEPENDENT {
        if left(old, next, |spec| has_type(spec, types)) {
            drop_same(member, old, next);
        }
    }
    if left(old, next, is_outside) {
        drop_same("externalTrafficPolicy", old, next);
    }
    if left(old, next, |spec| has_type(spec, ON_NODES)) && node_ports(old) == node_ports(next) {
        for port in ports_mut(next) {
            port.remove("nodePort");
        }
    }
}

type Spec = Map<String, Value>;

fn left(old: &Spec, next: &Spec, is: impl Fn(&Spec) -> bool) -> bool {
    is(old) && !is(next)
}

fn has_type(spec: &Spec, types: &[&str]) -> bool {
    let found = spec.get("type").and_then(Value::as_str);
    types.contains(&found.unwrap_or("ClusterIP"))
}

/// Whether somebody outside of the cluster may reach it.
fn is_outside(spec: &Spec) -> bool {
    let addresses = spec.get("externalIPs").and_then(Value::as_array);
    let has_addresses = addresses.is_some_and(|addresses| !addresses.is_empty());
    has_type(spec, ON_NODES) || has_type(spec, &["ClusterIP"]) && has_addresses
}

fn drop_same(member: &str, old: &Spec, next: &mut Spec) {
    if next.get(member) == old.get(member) {
        next.remove(member);
    }
}

fn node_ports(spec: &Spec) -> Vec<Option<i64>> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let number = |port: &Value| port.get("nodePort").and_then(Value::as_i64);
    ports.into_iter().flatten().map(number).collect()
}

fn ports_mut(spec: &mut Spec) -> impl Iterator<Item = &mut Spec> {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    ports.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_another_type_had_goes_unless_it_was_changed() {
        let balanced = json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1",
            "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
            "loadBalancerClass": "a/b", "healthCheckNodePort": 3, "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "nodePort": 30000}]}});
        let as_type = |name: &str| {
            let mut next = balanced.clone();
            next["spec"]["type"] = json!(name);
            drop_dependent(&balanced, &mut next);
            let spec = next["spec"].as_object().expect("a specification").clone();
            let members: Vec<&str> = spec.keys().map(String::as_str).collect();
            (members.join(" "), spec["ports"][0]["nodePort"].clone())
        };
        let inside = "clusterIP internalTrafficPolicy ports type";
        assert_eq!(as_type("ClusterIP"), (inside.into(), json!(null)));
        let nodes = "clusterIP externalTrafficPolicy internalTrafficPolicy ports type";
        assert_eq!(as_type("NodePort"), (nodes.into(), json!(30000)));
        let named = "internalTrafficPolicy ports type";
        assert_eq!(as_type("ExternalName"), (named.into(), json!(null)));

        let mut changed = balanced.clone();
        changed["spec"]["type"] = json!("ClusterIP");
        changed["spec"]["externalTrafficPolicy"] = json!("Local");
        changed["spec"]["ports"][0]["nodePort"] = json!(30001);
        drop_dependent(&balanced, &mut changed);
        assert_eq!(changed["spec"]["externalTrafficPolicy"], "Local");
        assert_eq!(changed["spec"]["ports"][0]["nodePort"], 30001);

        let reached = json!({"spec": {"type": "ClusterIP", "externalIPs": ["192.0.2.1"],
            "externalTrafficPolicy": "Cluster"}});
        let mut unreached = reached.clone();
        unreached["spec"]["externalIPs"] = json!([]);
        drop_dependent(&reached, &mut unreached);
        assert_eq!(unreached["spec"].get("externalTrafficPolicy"), None);
    }
}
