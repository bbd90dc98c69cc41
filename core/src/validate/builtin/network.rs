//! Ingresses and network policies, in upstream's order. Source: `ValidateIngressSpec`,
//! `ValidateNetworkPolicySpec` and what they call, of upstream's `pkg/apis/networking/validation`.

use super::selector::label_selector;
use super::{Field, Subject, probe};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, names};
use serde_json::json;

const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const SEQUENCES: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const ENDS: [&str; 2] = ["/..", "/."];
const CLASS: &str = "kubernetes.io/ingress.class";
const POLICY_TYPES: [&str; 2] = ["Ingress", "Egress"];

pub(super) fn ingress(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (rules, default) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && default.is_absent() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push_with(|| FieldCause::invalid("spec", rules.value, why));
    }
    if !default.is_absent() {
        backend(&default, causes);
    }
    for rule in rules.items() {
        host(&rule.child("host"), causes);
        let http = rule.child("http");
        if !http.is_absent() && http.child("paths").is_empty() {
            causes.push_with(|| http.child("paths").required(""));
        }
        for path in http.child("paths").items() {
            check_path(&path, causes);
        }
    }
    for secured in spec.child("tls").items() {
        for name in secured.child("hosts").items() {
            name.refuse(formats::host(name.text()), causes);
        }
        secured.child("secretName").check_subdomain(causes);
    }
    let class = spec.child("ingressClassName");
    if !class.is_absent() {
        class.refuse(names::subdomain(class.text()).err(), causes);
    }
    let annotations = subject.new.at("metadata.annotations");
    let annotated = annotations.child(CLASS);
    let differs = !annotated.is_absent() && !class.is_absent() && annotated.value != class.value;
    if differs && subject.old.is_none() {
        let why = "must match `ingressClassName` when both are specified";
        let field = format!("annotations.{CLASS}");
        causes.push_with(|| FieldCause::invalid(field, annotated.value, why));
    }
}

fn host(host: &Field<'_>, causes: &mut CauseList) {
    if host.is_empty() {
        return;
    }
    if formats::old_address(host.text()).is_none() {
        causes.push_with(|| host.invalid("must be a DNS name, not an IP address"));
    }
    host.refuse(formats::host(host.text()), causes);
}

fn check_path(place: &Field<'_>, causes: &mut CauseList) {
    let (kind, path) = (place.child("pathType"), place.child("path"));
    let text = path.text();
    let absolute = text.starts_with('/');
    let mut refuse = |why: &str| causes.push_with(|| path.invalid_as(&format!("{text:?}"), why));
    match kind.text() {
        "" => return causes.push_with(|| kind.required("pathType must be specified")),
        "Exact" | "Prefix" => {
            if !absolute {
                refuse("must be an absolute path");
            }
            if !path.is_empty() {
                for part in SEQUENCES.iter().filter(|part| text.contains(**part)) {
                    refuse(&format!("must not contain '{part}'"));
                }
                for end in ENDS.iter().filter(|end| text.ends_with(**end)) {
                    refuse(&format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" if !absolute && !path.is_empty() => {
            refuse("must be an absolute path");
        }
        one if PATH_TYPES.contains(&one) => {}
        _ => causes.push_with(|| kind.not_supported(&PATH_TYPES)),
    }
    backend(&place.child("backend"), causes);
}

fn backend(place: &Field<'_>, causes: &mut CauseList) {
    let (service, resource) = (place.child("service"), place.child("resource"));
    let mut refuse = |why: &str| {
        causes.push_with(|| FieldCause::invalid(place.path.as_str(), &json!(""), why));
    };
    match (service.is_absent(), resource.is_absent()) {
        (false, false) => refuse("cannot set both resource and service backends"),
        (true, true) => refuse("resource or service backend is required"),
        (true, false) => {
            for member in ["kind", "name"].map(|name| resource.child(name)) {
                if member.is_empty() {
                    causes.push_with(|| member.required(""));
                }
            }
        }
        (false, true) => of_service(place, &service, causes),
    }
}

fn of_service(place: &Field<'_>, service: &Field<'_>, causes: &mut CauseList) {
    let (name, port) = (service.child("name"), service.child("port"));
    let (named, numbered) = (port.child("name"), port.child("number"));
    if name.is_empty() {
        causes.push_with(|| name.required(""));
    } else {
        name.refuse(names::label(name.text()).err(), causes);
    }
    match (named.is_empty(), numbered.is_empty()) {
        (true, true) => causes.push_with(|| place.required("port name or number is required")),
        (false, false) => {
            let why = "cannot set both port name & port number";
            causes.push_with(|| FieldCause::invalid(place.path.as_str(), &json!(""), why));
        }
        (false, true) => probe::port(&named, causes),
        (true, false) => probe::port(&numbered, causes),
    }
}

pub(super) fn policy(spec: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    label_selector(&spec.child("podSelector"), causes);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(rules).items() {
            for port in rule.child("ports").items() {
                check_port(&port, causes);
            }
            for peer in rule.child(peers).items() {
                check_peer(&peer, causes);
            }
        }
    }
    let kinds = spec.child("policyTypes");
    if kinds.items().count() > POLICY_TYPES.len() {
        return causes.push_with(|| kinds.invalid("may not specify more than two policyTypes"));
    }
    for kind in kinds
        .items()
        .filter(|kind| !POLICY_TYPES.contains(&kind.text()))
    {
        causes.push_with(|| kind.not_supported(&POLICY_TYPES));
    }
}

fn check_port(place: &Field<'_>, causes: &mut CauseList) {
    let (port, end) = (place.child("port"), place.child("endPort"));
    place
        .child("protocol")
        .one_of(&["TCP", "UDP", "SCTP"], causes);
    if port.is_absent() {
        if !end.is_absent() {
            causes.push_with(|| end.invalid("may not be specified when `port` is not specified"));
        }
        return;
    }
    if port.value.is_string() {
        if !end.is_absent() {
            causes.push_with(|| end.invalid("may not be specified when `port` is non-numeric"));
        }
        return probe::port(&port, causes);
    }
    probe::port(&port, causes);
    if end.is_absent() {
        return;
    }
    if end.number() < port.number() {
        causes.push_with(|| end.invalid("must be greater than or equal to `port`"));
    }
    probe::port(&end, causes);
}

fn check_peer(peer: &Field<'_>, causes: &mut CauseList) {
    let (pods, namespaces) = (peer.child("podSelector"), peer.child("namespaceSelector"));
    let block = peer.child("ipBlock");
    label_selector(&pods, causes);
    label_selector(&namespaces, causes);
    if !block.is_absent() {
        check_block(&block, causes);
    }
    let selects = !pods.is_absent() || !namespaces.is_absent();
    if !selects && block.is_absent() {
        causes.push_with(|| peer.required("must specify a peer"));
    } else if selects && !block.is_absent() {
        causes.push_with(|| peer.forbidden("may not specify both ipBlock and another peer"));
    }
}

fn check_block(block: &Field<'_>, causes: &mut CauseList) {
    let range = block.child("cidr");
    if range.is_empty() {
        return causes.push_with(|| range.required(""));
    }
    if let Some(why) = formats::old_range(range.text()) {
        return causes.push_with(|| range.invalid(&why));
    }
    for part in block.child("except").items() {
        if let Some(why) = formats::old_range(part.text()) {
            causes.push_with(|| part.invalid(&why));
        } else if !formats::is_within(part.text(), range.text()) {
            causes.push_with(|| part.invalid("must be a strict subset of `cidr`"));
        }
    }
}
