//! What is accepted in an object of a built-in kind but may not do what its author expects. Source: the strategies
//! of upstream's `pkg/registry`, `warningsForPodSpecAndMeta` of `pkg/api/pod`, and `WarningsForJobSpec` of
//! `pkg/api/job`. Of the findings about pods those are left out that are about what a release no longer does:
//! labels, annotations and volumes of old.

mod services;
#[cfg(test)]
mod tests;

use super::{Field, Subject};
use crate::kind::Kind;
use crate::validate::names;
use serde_json::Value;
use std::collections::BTreeSet;

/// The lists of containers, in the order in which upstream visits them.
const CONTAINERS: [&str; 3] = ["initContainers[]", "containers[]", "ephemeralContainers[]"];
/// The ports of a pod that are compared with each other. Of those behind nothing is told.
const PORTS_MAX: usize = 256;
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";
/// From how many on a job is said to have too many completions, and too many pods at a time.
const COMPLETIONS_MAX: i64 = 100_000;
const PARALLELISM_MAX: i64 = 10_000;
const MANY: &str = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than \
     10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
const ALL_REVISIONS: &str =
    "a negative value retains all historical revisions; a value >= 0 is recommended";

/// The warnings about a valid object, in upstream's order.
pub(crate) fn warnings(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    let subject = Subject::new(kind, new, old);
    let mut told = Vec::new();
    name(&subject, &mut told);
    if let Some(pod) = kind.pod.as_deref().filter(|pod| is_told(&subject, pod)) {
        if let Some(job) = pod.strip_suffix(".template.spec") {
            many(&subject.new.at(job), &mut told);
        }
        of_pod(&subject.new.at(pod), &mut told);
    }
    match subject.resource {
        "services" => services::all(&subject.new, &mut told),
        "statefulsets" => revisions(&subject.new.at("spec.revisionHistoryLimit"), &mut told),
        "cronjobs" if old.is_some() => zone(&subject.new.at("spec.schedule"), &mut told),
        _ => {}
    }
    told
}

/// The name of a new object becomes part of the names of hosts.
fn name(subject: &Subject<'_>, told: &mut Vec<String>) {
    let used = match subject.resource {
        _ if subject.old.is_some() => return,
        "pods" => "the Pod's hostname",
        "deployments" | "replicasets" | "replicationcontrollers" | "jobs" | "cronjobs" => {
            "Pod names and hostnames"
        }
        _ => return,
    };
    let name = subject.new.at("metadata.name");
    let problems = names::label_problems(name.text());
    if !problems.is_empty() {
        told.push(format!(
            "{}: this is used in {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            name.path,
            problems.join(" ")
        ));
    }
}

fn many(job: &Field<'_>, told: &mut Vec<String>) {
    let is_above = |member, most| job.child(member).number() > most;
    if job.child("completionMode").text() == "Indexed"
        && is_above("completions", COMPLETIONS_MAX)
        && is_above("parallelism", PARALLELISM_MAX)
    {
        told.push(format!("{}: {MANY}", job.path));
    }
}

fn revisions(limit: &Field<'_>, told: &mut Vec<String>) {
    if limit.number() < 0 {
        told.push(format!("{}: {ALL_REVISIONS}", limit.path));
    }
}

/// A schedule with a zone can only stay as it is. Upstream's path names the specification twice.
fn zone(schedule: &Field<'_>, told: &mut Vec<String>) {
    if schedule.text().contains("TZ") {
        let docs = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/";
        told.push(format!(
            "cannot use TZ or CRON_TZ in spec.{}, use timeZone instead, see {docs} for more details",
            schedule.path
        ));
    }
}

fn of_pod(spec: &Field<'_>, told: &mut Vec<String>) {
    let containers = CONTAINERS.map(|list| spec.select(list)).concat();
    spread(spec, told);
    repeated(&spec.select("hostAliases[].ip"), "ip", told);
    let secrets: Vec<_> = spec.child("imagePullSecrets").items().collect();
    let secrets: Vec<_> = secrets.iter().map(|secret| secret.child("name")).collect();
    repeated(&secrets, "name", told);
    for name in secrets.iter().filter(|name| name.is_empty()) {
        told.push(format!("{}: invalid empty name \"\"", name.path));
    }
    for container in &containers {
        hidden(container, told);
    }
    ports(&containers, told);
    let grace = spec.child("terminationGracePeriodSeconds");
    if grace.number() < 0 {
        told.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            grace.path
        ));
    }
    affinity(spec, told);
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
