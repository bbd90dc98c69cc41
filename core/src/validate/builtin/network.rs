//! Ingresses and network policies. Source: `pkg/apis/networking/validation`.

use super::workload::label_selector;
use super::{Field, Subject};
use crate::rejection::FieldCause;
use crate::validate::names;
use serde_json::json;

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];

pub(super) fn ingress(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    let (rules, default) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && default.value.is_null() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(FieldCause::invalid("spec", rules.value, why));
    }
    if !default.value.is_null() {
        backend(&default, causes);
    }
    for rule in rules.items() {
        let host = rule.child("host");
        let name = host.text().strip_prefix("*.").unwrap_or(host.text());
        if let Some(why) = names::subdomain(name).err().filter(|_| !name.is_empty()) {
            causes.push(host.invalid(&why));
        }
        let http = rule.child("http");
        if !http.value.is_null() && http.child("paths").is_empty() {
            causes.push(http.child("paths").required(""));
        }
        for path in http.child("paths").items() {
            check_path(&path, causes);
        }
    }
}

fn check_path(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let (kind, path) = (place.child("pathType"), place.child("path"));
    let absolute = path.text().starts_with('/');
    match kind.text() {
        "" => causes.push(kind.required("pathType must be specified")),
        "Exact" | "Prefix" if !absolute => {
            let why = "must be an absolute path";
            causes.push(FieldCause::invalid(
                path.path.as_str(),
                &path.text().into(),
                why,
            ));
        }
        "ImplementationSpecific" if !absolute && !path.is_empty() => {
            causes.push(path.invalid("must be an absolute path"));
        }
        one if PATH_TYPES.contains(&one) => {}
        _ => causes.push(kind.not_supported(&PATH_TYPES)),
    }
    backend(&place.child("backend"), causes);
}

fn backend(place: &Field<'_>, causes: &mut Vec<FieldCause>) {
    let (service, resource) = (place.child("service"), place.child("resource"));
    let mut refuse = |why: &str| {
        causes.push(FieldCause::invalid(place.path.as_str(), &json!(""), why));
    };
    match (service.value.is_null(), resource.value.is_null()) {
        (false, false) => refuse("cannot set both resource and service backends"),
        (true, true) => refuse("resource or service backend is required"),
        (true, false) => {}
        (false, true) => {
            let (name, port) = (service.child("name"), service.child("port"));
            let (named, numbered) = (port.child("name"), port.child("number"));
            if name.is_empty() {
                causes.push(name.required(""));
            }
            if named.is_empty() && numbered.is_empty() {
                causes.push(place.required("port name or number is required"));
            } else if !named.is_empty() && !numbered.is_empty() {
                let why = "cannot set both port name & port number";
                causes.push(FieldCause::invalid(place.path.as_str(), &json!(""), why));
            }
        }
    }
}

pub(super) fn policy(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let spec = subject.new.child("spec");
    label_selector(&spec.child("podSelector"), causes);
    for way in ["ingress[].from[]", "egress[].to[]"] {
        for peer in spec.select(way) {
            let set = |member: &str| !peer.child(member).value.is_null();
            let selects = set("podSelector") || set("namespaceSelector");
            if !selects && !set("ipBlock") {
                causes.push(peer.required("must specify a peer"));
            } else if selects && set("ipBlock") {
                causes.push(peer.forbidden("may not specify both ipBlock and another peer"));
            }
        }
    }
    for kind in spec.child("policyTypes").items() {
        if !matches!(kind.text(), "Ingress" | "Egress") {
            causes.push(kind.not_supported(&["Ingress", "Egress"]));
        }
    }
}
