//! What is accepted in the pods of a built-in kind but may not do what its author expects. Source: upstream's
//! `warningsForPodSpecAndMeta` of `pkg/api/pod`, and the strategies that call it. Of its findings those are left out
//! that are about what a release no longer does: labels, annotations and volumes of old.

#[cfg(test)]
mod tests;

use super::{Field, Subject};
use crate::kind::Kind;
use serde_json::Value;
use std::collections::BTreeSet;

/// The lists of containers, in the order in which upstream visits them.
const CONTAINERS: [&str; 3] = ["initContainers[]", "containers[]", "ephemeralContainers[]"];
/// The ports of a pod that are compared with each other. Of those behind nothing is told.
const PORTS_MAX: usize = 256;
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// The warnings about a valid object, in upstream's order.
pub(crate) fn warnings(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    let subject = Subject::new(kind, new, old);
    let Some(pod) = kind.pod.as_deref().filter(|pod| is_told(&subject, pod)) else {
        return Vec::new();
    };
    let spec = subject.new.at(pod);
    let containers = CONTAINERS.map(|list| spec.select(list)).concat();
    let mut told = Vec::new();
    spread(&spec, &mut told);
    repeated(&spec.select("hostAliases[].ip"), "ip", &mut told);
    let secrets: Vec<_> = spec.child("imagePullSecrets").items().collect();
    let secrets: Vec<_> = secrets.iter().map(|secret| secret.child("name")).collect();
    repeated(&secrets, "name", &mut told);
    for name in secrets.iter().filter(|name| name.is_empty()) {
        told.push(format!("{}: invalid empty name \"\"", name.path));
    }
    for container in &containers {
        hidden(container, &mut told);
    }
    ports(&containers, &mut told);
    let grace = spec.child("terminationGracePeriodSeconds");
    if grace.number() < 0 {
        told.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path
        ));
    }
    affinity(&spec, &mut told);
    told
}

/// Whether an author hears of it: of an update of a pod, which is rarely theirs, nobody does, and of others whoever
/// moves the generation. Of a replication controller upstream looks at the template that is replaced; here it is the
/// new one, as everywhere else.
fn is_told(subject: &Subject<'_>, pod: &str) -> bool {
    let Some(old) = &subject.old else {
        return true;
    };
    let template = pod.strip_suffix(".spec").unwrap_or(pod);
    match subject.resource {
        "pods" => false,
        "daemonsets" => old.at(template).value != subject.new.at(template).value,
        _ => subject.changes(&subject.new.at("metadata.generation")),
    }
}

fn spread(spec: &Field<'_>, told: &mut Vec<String>) {
    for constraint in spec.child("topologySpreadConstraints").items() {
        selected(&constraint.child("labelSelector"), told);
    }
}

fn affinity(spec: &Field<'_>, told: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let affinity = spec.child("affinity").child(kind);
        for term in affinity.select("requiredDuringSchedulingIgnoredDuringExecution[]") {
            selected(&term.child("labelSelector"), told);
        }
        for term in affinity.select("preferredDuringSchedulingIgnoredDuringExecution[]") {
            selected(&term.at("podAffinityTerm.labelSelector"), told);
        }
    }
}

fn selected(selector: &Field<'_>, told: &mut Vec<String>) {
    if selector.is_absent() {
        told.push(format!("{}: {NO_SELECTOR}", selector.path));
    }
}

/// Tells of values that an item before has, too.
fn repeated(places: &[Field<'_>], what: &str, told: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for place in places {
        if !seen.insert(place.text()) {
            told.push(format!(
                "{}: duplicate {what} {:?}",
                place.path,
                place.text()
            ));
        }
    }
}

/// Tells of variables that hide an earlier one of their name, unless they make use of it.
fn hidden(container: &Field<'_>, told: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for variable in container.child("env").items() {
        let (name, value) = (
            variable.child("name").text(),
            variable.child("value").text(),
        );
        let earlier = format!("$({name})");
        let is_made_of_it = value.contains(&earlier) && value != earlier;
        let is_used = is_made_of_it && variable.child("valueFrom").is_absent();
        if !seen.insert(name) && !is_used {
            told.push(format!(
                "{}: hides previous definition of {name:?}, which may be dropped when using apply",
                variable.path
            ));
        }
    }
}

/// A port of a container.
struct Port<'a> {
    place: Field<'a>,
    number: i64,
    protocol: &'a str,
    host: i64,
    address: &'a str,
}

impl<'a> Port<'a> {
    fn at(place: Field<'a>) -> Self {
        Self {
            number: place.child("containerPort").number(),
            protocol: place.child("protocol").text(),
            host: place.child("hostPort").number(),
            address: place.child("hostIP").text(),
            place,
        }
    }

    /// How two ports get in each other's way.
    fn clash(&self, other: &Self) -> Option<&'static str> {
        if (self.number, self.protocol) != (other.number, other.protocol) {
            None
        } else if (self.host, self.address) == (other.host, other.address) {
            Some("duplicate")
        } else if self.host == 0 || other.host == 0 {
            Some("overlapping")
        } else {
            let is_one_of_any = self.address.is_empty() != other.address.is_empty();
            (self.host == other.host && is_one_of_any).then_some("dangerously ambiguous")
        }
    }

    /// The port as Go prints its structure.
    fn in_go(&self) -> String {
        format!(
            "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
            self.place.child("name").text(),
            self.host,
            self.number,
            self.protocol,
            self.address
        )
    }
}

/// Tells of ports of the pod that earlier ones get in the way of, and of addresses without a port.
fn ports(containers: &[Field<'_>], told: &mut Vec<String>) {
    let all = containers.iter().flat_map(|one| one.child("ports").items());
    let mut seen: Vec<Port<'_>> = Vec::new();
    for port in all.take(PORTS_MAX).map(Port::at) {
        let path = &port.place.path;
        if !port.address.is_empty() && port.host == 0 {
            told.push(format!(
                "{path}: hostIP set without hostPort: {}",
                port.in_go()
            ));
        }
        let clashes = seen.iter().filter_map(|other| {
            let clash = port.clash(other)?;
            let other = &other.place.path;
            Some(format!("{path}: {clash} port definition with {other}"))
        });
        told.extend(clashes);
        seen.push(port);
    }
}
