//! Updates of a `Service` keep assigned values that are left out, and drop those that the new type has no
//! use for. Source: `patchAllocatedValues`, `normalizeClusterIPs` and `dropTypeDependentFields` of upstream's
//! `pkg/registry/core/service`.

use crate::decide::prepare;
use crate::defaults::insert_empty;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Groups of `spec` members that are dropped together, and the types that they belong to.
const DEPENDENT: [(&[&str], &[&str]); 5] = [
    (&["clusterIP", "clusterIPs"], ADDRESSED),
    (&["ipFamilies"], ADDRESSED),
    (&["ipFamilyPolicy"], ADDRESSED),
    (&["allocateLoadBalancerNodePorts"], BALANCED),
    (&["loadBalancerClass"], BALANCED),
];
const ADDRESSED: &[&str] = &["ClusterIP", "NodePort", "LoadBalancer"];
const ON_NODES: &[&str] = &["NodePort", "LoadBalancer"];
const BALANCED: &[&str] = &["LoadBalancer"];

/// Applies the type's strategy to a service that is replaced.
pub(super) fn settle(old: &Value, next: &mut Value) {
    let before = old.get("spec").and_then(Value::as_object);
    let after = next.get_mut("spec").and_then(Value::as_object_mut);
    let Some((before, after)) = before.zip(after) else {
        return;
    };
    keep_assigned(before, after);
    follow_first_address(before, after);
    drop_dependent(before, after);
    let is_balanced = has_type(after, BALANCED);
    let status = next.get_mut("status").and_then(Value::as_object_mut);
    if let Some(status) = status.filter(|_| !is_balanced) {
        status.insert("loadBalancer".into(), json!({}));
    }
}

/// Keeps assigned values that the new document leaves out: they are not meant to be lost.
fn keep_assigned(old: &Spec, next: &mut Spec) {
    let both = |old: &Spec, next: &Spec, is: fn(&Spec) -> bool| is(old) && is(next);
    if both(old, next, is_addressed) {
        keep("clusterIP", old, next);
        if next.get("clusterIP") == old.get("clusterIP") {
            keep("clusterIPs", old, next);
        }
    }
    if both(old, next, is_on_nodes) {
        keep_node_ports(old, next);
    }
    if both(old, next, is_checked) {
        keep("healthCheckNodePort", old, next);
    }
}

/// An older client knows the first address only: the list follows where such a client left it as it was.
fn follow_first_address(old: &Spec, next: &mut Spec) {
    let first = prepare::text(next, "clusterIP").to_owned();
    if first == prepare::text(old, "clusterIP") {
        return keep("clusterIPs", old, next);
    }
    if next.get("clusterIPs") != old.get("clusterIPs") {
        return;
    }
    next.remove("clusterIPs");
    if !first.is_empty() {
        next.insert("clusterIPs".into(), json!([first]));
    }
}

fn keep(member: &str, old: &Spec, next: &mut Spec) {
    if let Some(assigned) = old.get(member) {
        insert_empty(next, member, assigned.clone());
    }
}

/// Keeps node ports by the names of their ports, unless another port has the number by now.
fn keep_node_ports(old: &Spec, next: &mut Spec) {
    let name = |port: &Spec| prepare::text(port, "name").to_owned();
    let known = ports(old).filter_map(|port| Some((name(port), node_port(port)?)));
    let known: BTreeMap<String, i64> = known.collect();
    let mut used = &node_ports(old) & &node_ports(next);
    for port in ports_mut(next).filter(|port| node_port(port).is_none()) {
        if let Some(number) = known.get(&name(port)).filter(|one| used.insert(**one)) {
            port.insert("nodePort".into(), (*number).into());
        }
    }
}

/// Drops values that only the old type had a use for, if they were left unchanged.
fn drop_dependent(old: &Spec, next: &mut Spec) {
    for (members, types) in DEPENDENT {
        if left(old, next, |spec| has_type(spec, types)) {
            drop_same(members, old, next);
        }
    }
    if left(old, next, is_outside) {
        drop_same(&["externalTrafficPolicy"], old, next);
    }
    if left(old, next, is_checked) {
        drop_same(&["healthCheckNodePort"], old, next);
    }
    if left(old, next, is_on_nodes) && node_ports(old).is_superset(&node_ports(next)) {
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

fn is_addressed(spec: &Spec) -> bool {
    has_type(spec, ADDRESSED)
}

fn is_on_nodes(spec: &Spec) -> bool {
    has_type(spec, ON_NODES)
}

/// Whether a load balancer checks each node for pods of the service.
fn is_checked(spec: &Spec) -> bool {
    let policy = spec.get("externalTrafficPolicy").and_then(Value::as_str);
    has_type(spec, BALANCED) && policy == Some("Local")
}

/// Whether the service can be reached from outside of the cluster.
fn is_outside(spec: &Spec) -> bool {
    let addresses = spec.get("externalIPs").and_then(Value::as_array);
    let has_addresses = addresses.is_some_and(|addresses| !addresses.is_empty());
    has_type(spec, ON_NODES) || has_type(spec, &["ClusterIP"]) && has_addresses
}

/// Drops all of these members, or none if any was changed.
fn drop_same(members: &[&str], old: &Spec, next: &mut Spec) {
    if members.iter().all(|one| next.get(*one) == old.get(*one)) {
        next.retain(|name, _| !members.contains(&name.as_str()));
    }
}

fn node_ports(spec: &Spec) -> BTreeSet<i64> {
    ports(spec).filter_map(node_port).collect()
}

fn node_port(port: &Spec) -> Option<i64> {
    let number = port.get("nodePort")?.as_i64()?;
    (number != 0).then_some(number)
}

fn ports(spec: &Spec) -> impl Iterator<Item = &Spec> {
    let ports = spec.get("ports").and_then(Value::as_array);
    ports.into_iter().flatten().filter_map(Value::as_object)
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
            "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": true,
            "loadBalancerClass": "a/b", "healthCheckNodePort": 3, "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "nodePort": 30000}]}});
        let as_type = |name: &str| {
            let mut next = balanced.clone();
            next["spec"]["type"] = json!(name);
            settle(&balanced, &mut next);
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

        let mut unnamed = balanced.clone();
        unnamed["spec"]["ports"] = json!([{"name": "", "port": 80}]);
        settle(&balanced, &mut unnamed);
        assert_eq!(unnamed["spec"]["ports"][0]["nodePort"], 30000);

        let mut changed = balanced.clone();
        changed["spec"]["type"] = json!("ClusterIP");
        changed["spec"]["externalTrafficPolicy"] = json!("Cluster");
        changed["spec"]["ports"][0]["nodePort"] = json!(30001);
        settle(&balanced, &mut changed);
        assert_eq!(changed["spec"]["externalTrafficPolicy"], "Cluster");
        assert_eq!(changed["spec"]["ports"][0]["nodePort"], 30001);

        let addressed = json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}});
        let mut named = json!({"spec": {"type": "ExternalName", "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1", "fd00::1"]}});
        settle(&addressed, &mut named);
        assert_eq!(named["spec"]["clusterIP"], "10.0.0.1");

        let reached = json!({"spec": {"type": "ClusterIP", "externalIPs": ["192.0.2.1"],
            "externalTrafficPolicy": "Cluster"}});
        let mut unreached = reached.clone();
        unreached["spec"]["externalIPs"] = json!([]);
        settle(&reached, &mut unreached);
        assert_eq!(unreached["spec"].get("externalTrafficPolicy"), None);
    }

    #[test]
    fn the_list_of_addresses_follows_an_older_client() {
        let (one, two) = (json!("10.0.0.1"), json!(["10.0.0.1", "fd00::1"]));
        let old = json!({"spec": {"type": "ExternalName", "clusterIP": one, "clusterIPs": two}});
        for (first, list, followed) in [
            (&one, Value::Null, two.clone()),
            (&Value::Null, two.clone(), Value::Null),
            (&json!("10.0.0.2"), two, json!(["10.0.0.2"])),
            (&json!("10.0.0.2"), json!(["10.0.0.1"]), json!(["10.0.0.1"])),
            (&one, json!(["10.0.0.1"]), json!(["10.0.0.1"])),
        ] {
            let mut next = json!({"spec": {"type": "ClusterIP", "clusterIP": first}});
            if !list.is_null() {
                next["spec"]["clusterIPs"] = list;
            }
            settle(&old, &mut next);
            let found = next["spec"].get("clusterIPs");
            assert_eq!(found.unwrap_or(&Value::Null), &followed, "{first}");
        }
    }

    #[test]
    fn what_was_assigned_and_is_not_said_again_stays() {
        let old = json!({"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
            "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 31000,
            "ports": [{"name": "a", "port": 80, "nodePort": 30000}, {"name": "b", "port": 81, "nodePort": 30001}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
        let replaced = |spec: Value| {
            let mut next = json!({"spec": spec, "status": old["status"]});
            settle(&old, &mut next);
            next
        };
        let again = replaced(
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
            "ports": [{"name": "b", "port": 8081}, {"name": "c", "port": 82, "nodePort": 30000}, {"name": "a", "port": 80}]}),
        );
        let spec = &again["spec"];
        assert_eq!(
            (&spec["clusterIP"], &spec["clusterIPs"]),
            (&json!("10.0.0.1"), &json!(["10.0.0.1"]))
        );
        assert_eq!(spec["healthCheckNodePort"], 31000);
        assert_eq!(spec["ports"][0]["nodePort"], 30001);
        assert_eq!(spec["ports"][2].get("nodePort"), None, "another has it");
        assert_eq!(again["status"], old["status"]);

        let unchecked = replaced(
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Cluster",
            "healthCheckNodePort": 31000, "ports": old["spec"]["ports"]}),
        );
        assert_eq!(unchecked["spec"].get("healthCheckNodePort"), None);

        let inside = replaced(json!({"type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [{"name": "b", "port": 81, "nodePort": 30001}]}));
        assert_eq!(
            inside["spec"]["ports"][0].get("nodePort"),
            None,
            "though there are fewer"
        );
        assert_eq!(inside["spec"]["clusterIP"], "10.0.0.1");
        assert_eq!(inside["status"], json!({"loadBalancer": {}}));
    }
}
