//! Containers: amounts of resources, variables, handlers, and names that no other container has. Source:
//! `validateContainers`, `ValidateResourceRequirements`, `validateEnvVarValueFrom` and `validateHandler` of
//! upstream's `pkg/apis/core/validation`.

use super::{Field, Subject};
use crate::quantity::{self, Quantity};
use crate::rejection::FieldCause;
use serde_json::json;
use std::collections::BTreeSet;

pub(super) const NEGATIVE: &str = "must be greater than or equal to 0";
const LISTS: [&str; 2] = ["containers[]", "initContainers[]"];
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
const HANDLED: [&str; 5] = [
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle.postStart",
    "lifecycle.preStop",
];

/// Checks every container of a kind that has any.
pub(super) fn all(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let Some(way) = &subject.kind.pod else {
        return;
    };
    let pod = subject.new.at(way);
    let own = pod.child("containers").items();
    let names: BTreeSet<&str> = own.map(|one| one.child("name").text()).collect();
    for name in pod.select("initContainers[].name") {
        if names.contains(name.text()) && !name.is_empty() {
            causes.push(FieldCause::duplicate(name.path.as_str(), name.value));
        }
    }
    for container in LISTS.iter().flat_map(|way| pod.select(way)) {
        resources(&container.child("resources"), causes);
        variables(&container, causes);
        for way in HANDLED {
            handler(&container.at(way), causes);
        }
    }
    let ephemeral = pod.child("ephemeralContainers");
    if ephemeral.is_empty() {
        return;
    }
    if subject.resource != "pods" {
        causes.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    } else if subject.old.is_none() {
        causes.push(ephemeral.forbidden("cannot be set on create"));
    }
}

fn amount(place: &Field<'_>) -> Option<Quantity> {
    let read = quantity::read(place.value).ok().flatten();
    read.map(|(amount, _)| amount)
}

/// No amount is negative, and no request is above its limit.
fn resources(resources: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let limits = resources.child("limits");
    amounts(&limits, causes);
    let requests = resources.child("requests");
    amounts(&requests, causes);
    for (name, request) in requests.entries() {
        let limit = limits.entries().find(|(other, _)| *other == name);
        let Some((_, limit)) = limit else {
            continue;
        };
        let (asked, most) = (amount(&request), amount(&limit));
        if let (Some(asked), Some(most)) = (asked, most)
            && asked > most
        {
            let limit = limit.text();
            let why = format!("must be less than or equal to {name} limit of {limit}");
            causes.push(FieldCause::invalid(
                requests.path.as_str(),
                request.value,
                &why,
            ));
        }
    }
}

/// Refuses what is negative in a map of amounts.
pub(super) fn amounts(map: &Field<'_>, causes: &mut Vec<FieldCause>) {
    for (_, place) in map.entries() {
        if amount(&place).is_some_and(|amount| amount.sign() < 0) {
            causes.push(place.invalid(NEGATIVE));
        }
    }
}

/// A variable has a value or comes from one place.
fn variables(container: &Field<'_>, causes: &mut Vec<FieldCause>) {
    for variable in container.child("env").items() {
        let from = variable.child("valueFrom");
        let sources = from.value.as_object().into_iter().flatten();
        let sources = sources.filter(|(_, source)| !source.is_null()).count();
        let why = if sources > 0 && !variable.child("value").is_empty() {
            "may not be specified when `value` is not empty"
        } else if sources > 1 {
            "may not have more than one field specified at a time"
        } else {
            continue;
        };
        causes.push(FieldCause::invalid(from.path, &json!(""), why));
    }
}

/// A probe or a hook does one thing.
fn handler(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    if place.value.is_null() {
        return;
    }
    let all = HANDLERS.map(|name| place.child(name));
    let mut there = all.iter().filter(|handler| !handler.value.is_null());
    if there.next().is_none() {
        causes.push(place.required("must specify a handler type"));
    }
    let others = there.map(|other| other.forbidden("may not specify more than 1 handler type"));
    causes.extend(others);
}
