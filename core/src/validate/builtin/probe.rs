//! Probes and hooks of containers. Source: `validateProbe`, `validateLifecycle` and `validateHandler` of
//! upstream's `pkg/apis/core/validation`.

use super::Field;
use crate::rejection::{CauseList, FieldCause};
use crate::validate::formats;

const OF_PROBES: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const OF_HOOKS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const NOT_IN_INIT: &str = "may not be set for init containers without restartPolicy=Always";

/// Checks the hooks and probes of a container that runs as long as its pod.
pub(super) fn all(container: &Field<'_>, grace: Option<i64>, causes: &mut CauseList) {
    for hook in ["lifecycle.postStart", "lifecycle.preStop"].map(|way| container.at(way)) {
        if !hook.is_absent() {
            handler(&hook, &OF_HOOKS, grace, causes);
        }
    }
    for name in PROBES {
        probe(name, &container.child(name), grace, causes);
    }
}

/// A container that ends before the others start has none.
pub(super) fn none(container: &Field<'_>, causes: &mut CauseList) {
    let members = ["lifecycle"].into_iter().chain(PROBES);
    for member in members.map(|name| container.child(name)) {
        if !member.is_absent() {
            causes.push_with(|| member.forbidden(NOT_IN_INIT));
        }
    }
}

fn probe(name: &str, probe: &Field<'_>, grace: Option<i64>, causes: &mut CauseList) {
    if probe.is_absent() {
        return;
    }
    handler(probe, &OF_PROBES, grace, causes);
    for member in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        probe.child(member).at_least(0, causes);
    }
    let own_grace = probe.child("terminationGracePeriodSeconds");
    if own_grace.value.as_i64().is_some_and(|seconds| seconds <= 0) {
        causes.push_with(|| own_grace.invalid("must be greater than 0"));
    }
    let successes = probe.child("successThreshold");
    if name == "readinessProbe" {
        if !own_grace.is_absent() {
            causes.push_with(|| own_grace.invalid("must not be set for readinessProbes"));
        }
    } else if successes.number() != 1 {
        causes.push_with(|| successes.invalid("must be 1"));
    }
}

/// A probe or a hook does one thing.
fn handler(place: &Field<'_>, kinds: &[&str], grace: Option<i64>, causes: &mut CauseList) {
    let all = kinds.iter().map(|name| (*name, place.child(name)));
    let mut there = all.filter(|(_, handler)| !handler.is_absent());
    match there.next() {
        Some((kind, first)) => action(kind, &first, grace, causes),
        None => causes.push_with(|| place.required("must specify a handler type")),
    }
    let why = "may not specify more than 1 handler type";
    causes.extend(there.map(|(_, other)| other.forbidden(why)));
}

fn action(kind: &str, action: &Field<'_>, grace: Option<i64>, causes: &mut CauseList) {
    match kind {
        "exec" => {
            let command = action.child("command");
            if command.is_empty() {
                causes.push_with(|| command.required(""));
            }
        }
        "sleep" => {
            let seconds = action.child("seconds").number();
            if let Some(grace) = grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
                let why = format!(
                    "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                );
                causes.push_with(|| action.invalid_as(&seconds.to_string(), &why));
            }
        }
        _ => port(&action.child("port"), causes),
    }
    if kind == "httpGet" {
        action.child("scheme").one_of(&["HTTP", "HTTPS"], causes);
        for name in action.select("httpHeaders[].name") {
            if let Some(why) = formats::header(name.text()) {
                let field = format!("{}.httpHeaders", action.path);
                causes.push_with(|| FieldCause::invalid(field, &name.text().into(), &why));
            }
        }
    }
}

/// A port by its number or its name. Source: `ValidatePortNumOrName`.
pub(super) fn port(place: &Field<'_>, causes: &mut CauseList) {
    if place.value.is_string() {
        place.refuse(formats::port_name(place.text()), causes);
    } else if !formats::is_port(place.number()) {
        causes.push_with(|| place.invalid_as(&place.number().to_string(), formats::PORT));
    }
}
