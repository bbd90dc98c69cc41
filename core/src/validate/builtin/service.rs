//! Services: their ports, and the cluster address that does not change. Source: `ValidateService`.

use super::{Field, Subject};
use crate::rejection::FieldCause;
use crate::validate::{names, qualified_name};
use core::net::IpAddr;
use core::ops::RangeInclusive;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NODE_PORTS: RangeInclusive<i64> = 30_000..=32_767;
const OUT_OF_RANGE: &str = "provided port is not in the valid range. The range of valid ports is \
     30000-32767";
const PORT: &str = "must be between 1 and 65535, inclusive";

pub(super) fn check(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let kind = spec.child("type");
    let headless = spec.child("clusterIP").text() == "None";
    let ports: Vec<Field<'_>> = spec.child("ports").items().collect();
    if ports.is_empty() && !headless && kind.text() != "ExternalName" {
        causes.push(spec.child("ports").required(""));
    }
    for port in &ports {
        check_port(port, ports.len() > 1, causes);
    }
    repeated(&ports, causes);
    if kind.text() == "ExternalName" {
        external_name(&spec.child("externalName"), causes);
    }
    if kind.text() != "ExternalName" && !headless {
        is_address(&spec.child("clusterIP"), causes);
    }
    node_ports(subject, &ports, causes);
    if let Some(old) = &subject.old {
        address(&old.child("spec"), &spec, causes);
    }
    balancer(subject, &spec, causes);
}

/// The class of a load balancer is for load balancers, and stays as long as the service is one.
fn balancer(subject: &Subject<'_>, spec: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let class = spec.child("loadBalancerClass");
    let balances = |spec: &Field<'_>| spec.child("type").text() == "LoadBalancer";
    let mut old = subject.old.iter().map(|old| old.child("spec"));
    if balances(spec) && old.any(|old| balances(&old)) && subject.changes(&class) {
        causes.push(class.invalid("may not change once set"));
    }
    if balances(spec) && !class.value.is_null() {
        let problems = qualified_name(class.text());
        causes.extend(problems.iter().map(|why| class.invalid(why)));
    } else if !class.value.is_null() {
        causes.push(class.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
}

fn check_port(port: &Field<'_>, named: bool, causes: &mut Vec<FieldCause>) {
    let (name, number) = (port.child("name"), port.child("port"));
    if name.is_empty() {
        if named {
            causes.push(name.required(""));
        }
    } else if let Err(why) = names::label(name.text()) {
        causes.push(name.invalid(&why));
    }
    let value = number.value.as_i64().unwrap_or(0);
    if !(1..=65535).contains(&value) {
        causes.push(FieldCause::invalid(number.path, &json!(value), PORT));
    }
    let protocol = port.child("protocol");
    if !protocol.is_empty() && !matches!(protocol.text(), "TCP" | "UDP" | "SCTP") {
        causes.push(protocol.not_supported(&["SCTP", "TCP", "UDP"]));
    }
    let target = port.child("targetPort");
    let target_number = target.value.as_i64();
    if target_number.is_some_and(|number| !(1..=65535).contains(&number)) {
        causes.push(target.invalid(PORT));
    }
}

fn is_address(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    if !place.is_empty() && place.text().parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        causes.push(FieldCause::invalid("spec.clusterIPs[0]", place.value, why));
    }
}

/// Ports on nodes are for the types of services that have them, and in their range unless the service has them
/// already. Source: also the allocator of upstream's `pkg/registry/core/service`.
fn node_ports(subject: &Subject<'_>, ports: &[Field<'_>], causes: &mut Vec<FieldCause>) {
    let has_any = !matches!(
        subject.new.at("spec.type").text(),
        "ClusterIP" | "ExternalName"
    );
    let old = subject.old.iter();
    let old = old.flat_map(|old| old.select("spec.ports[].nodePort"));
    let kept: Vec<&Value> = old.map(|port| port.value).collect();
    for port in ports.iter().map(|port| port.child("nodePort")) {
        let number = port.value.as_i64().unwrap_or(0);
        if number != 0 && !has_any {
            causes.push(port.forbidden("may not be used when `type` is 'ClusterIP'"));
        } else if number != 0 && !NODE_PORTS.contains(&number) && !kept.contains(&port.value) {
            causes.push(port.invalid(OUT_OF_RANGE));
        }
    }
}

/// Two ports with the same protocol may not have the same number.
fn repeated(ports: &[Field<'_>], causes: &mut Vec<FieldCause>) {
    let mut seen = BTreeSet::new();
    for port in ports {
        let (protocol, number) = (port.child("protocol").text(), port.child("port").value);
        if !seen.insert((protocol, number.to_string())) {
            let value = json!({"protocol": protocol, "port": number});
            causes.push(FieldCause::duplicate(port.path.as_str(), &value));
        }
    }
}

fn external_name(name: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let text = name.text().trim_end_matches('.');
    if text.is_empty() {
        causes.push(name.required(""));
    } else if let Err(why) = names::subdomain(text) {
        causes.push(name.invalid(&why));
    }
}

fn address(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let named = |spec: &Field<'_>| spec.child("type").text() == "ExternalName";
    let (before, after) = (old.child("clusterIP").text(), new.child("clusterIP").text());
    if named(old) || named(new) || before.is_empty() || before == after {
        return;
    }
    let why = if after.is_empty() {
        "primary clusterIP can not be unset"
    } else {
        "may not change once set"
    };
    let value = if after.is_empty() {
        json!(null)
    } else {
        json!([after])
    };
    causes.push(FieldCause::invalid("spec.clusterIPs[0]", &value, why));
}
