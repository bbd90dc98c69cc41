//! Cells of services, of the endpoints behind them, and of ingresses, which lead to them.

use super::workload::label_selector;
use super::{at, condition, joined, list, number, or_none, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The most hosts that a row names.
const HOSTS_MAX: usize = 3;

/// The most endpoints that are shown; the others are counted.
const SHOWN_MAX: usize = 3;

pub(super) fn cell(name: &str, object: &Value) -> Option<Value> {
    Some(json!(match name {
        "external-ip" => external_ip(object),
        "ports" => ports(object),
        "endpoints" => endpoints(object),
        "slice-ports" => slice_ports(object),
        "slice-endpoints" => or_unset(shown(&slice_endpoints(object))),
        "hosts" => hosts(object),
        "load-balancer" => load_balancer(object),
        "ingress-ports" => ingress_ports(object).into(),
        "parameters" => parameters(object),
        "pod-selector" => at(object, "spec.podSelector").map_or("<none>".into(), label_selector),
        "api-service" => api_service(object),
        "available" => available(object),
        _ => return None,
    }))
}

fn external_ip(service: &Value) -> String {
    let own = list(service, "spec.externalIPs")
        .iter()
        .filter_map(Value::as_str);
    match text(service, "spec.type") {
        "ExternalName" => text(service, "spec.externalName").into(),
        "LoadBalancer" => {
            let balancer = load_balancer(service);
            let given = (!balancer.is_empty()).then_some(balancer.as_str());
            let all: Vec<&str> = given.into_iter().chain(own).collect();
            if all.is_empty() {
                return "<pending>".into();
            }
            all.join(",")
        }
        _ => joined(own),
    }
}

/// The addresses that a balancer gave, sorted, each once.
fn load_balancer(object: &Value) -> String {
    let ingress = list(object, "status.loadBalancer.ingress").iter();
    let addresses = ingress.map(|one| match text(one, "ip") {
        "" => text(one, "hostname"),
        ip => ip,
    });
    let addresses: BTreeSet<&str> = addresses.filter(|one| !one.is_empty()).collect();
    Vec::from_iter(addresses).join(",")
}

fn ports(service: &Value) -> String {
    let port = |one: &Value| {
        let (port, protocol) = (number(one, "port"), text(one, "protocol"));
        match number(one, "nodePort") {
            0 => format!("{port}/{protocol}"),
            node => format!("{port}:{node}/{protocol}"),
        }
    };
    let ports: Vec<String> = list(service, "spec.ports").iter().map(port).collect();
    or_none(&ports.join(","))
}

/// The addresses that are ready, with one port after the other. Source: upstream's `formatEndpoints`.
fn endpoints(endpoints: &Value) -> String {
    let subsets = list(endpoints, "subsets");
    if subsets.is_empty() {
        return "<none>".into();
    }
    let mut found = Vec::new();
    for subset in subsets {
        let addresses = list(subset, "addresses").iter();
        let addresses = addresses.map(|address| text(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            found.extend(addresses.clone().map(str::to_owned));
        }
        for port in ports {
            let port = number(port, "port");
            found.extend(addresses.clone().map(|ip| with_port(ip, port)));
        }
    }
    shown(&found)
}

/// Source: Go's `net.JoinHostPort`.
fn with_port(ip: &str, port: i64) -> String {
    if ip.contains(':') {
        return format!("[{ip}]:{port}");
    }
    format!("{ip}:{port}")
}

fn slice_endpoints(slice: &Value) -> Vec<String> {
    let addresses = list(slice, "endpoints").iter();
    let addresses = addresses.flat_map(|one| list(one, "addresses"));
    addresses
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect()
}

fn shown(found: &[String]) -> String {
    let some: Vec<&str> = found.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let (some, more) = (some.join(","), found.len().saturating_sub(SHOWN_MAX));
    if more > 0 {
        return format!("{some} + {more} more...");
    }
    some
}

fn or_unset(text: String) -> String {
    if text.is_empty() {
        "<unset>".into()
    } else {
        text
    }
}

/// The numbers of ports, or their names. Source: upstream's `formatDiscoveryPorts`.
fn slice_ports(slice: &Value) -> String {
    let called = |port: &Value| {
        let number = at(port, "port").and_then(Value::as_i64);
        let name = at(port, "name").and_then(Value::as_str);
        number.map_or_else(|| name.unwrap_or("*").to_owned(), |port| port.to_string())
    };
    let ports: Vec<String> = list(slice, "ports").iter().map(called).collect();
    or_unset(shown(&ports))
}

/// The first few hosts. Rules without a host are counted, but not named.
fn hosts(ingress: &Value) -> String {
    let rules = list(ingress, "spec.rules");
    let named = rules.iter().enumerate();
    let named: Vec<(usize, &str)> = named
        .map(|(index, rule)| (index, text(rule, "host")))
        .filter(|(_, host)| !host.is_empty())
        .take(HOSTS_MAX)
        .collect();
    let Some((last, _)) = named.last().copied() else {
        return "*".into();
    };
    let hosts: Vec<&str> = named.iter().map(|(_, host)| *host).collect();
    let hosts = hosts.join(",");
    if named.len() < HOSTS_MAX || last + 1 == rules.len() {
        return hosts;
    }
    format!("{hosts} + {} more...", rules.len() - HOSTS_MAX)
}

fn ingress_ports(ingress: &Value) -> &'static str {
    if list(ingress, "spec.tls").is_empty() {
        "80"
    } else {
        "80, 443"
    }
}

fn parameters(class: &Value) -> String {
    let Some(parameters) = at(class, "spec.parameters") else {
        return "<none>".into();
    };
    let (group, kind) = (text(parameters, "apiGroup"), text(parameters, "kind"));
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", text(parameters, "name"))
}

fn api_service(service: &Value) -> String {
    match text(service, "spec.service.name") {
        "" => "Local".into(),
        name => format!("{}/{name}", text(service, "spec.service.namespace")),
    }
}

fn available(service: &Value) -> String {
    let Some(condition) = condition(service, "Available") else {
        return "Unknown".into();
    };
    match (text(condition, "status"), text(condition, "reason")) {
        ("True", _) | (_, "") => text(condition, "status").into(),
        (status, reason) => format!("{status} ({reason})"),
    }
}
