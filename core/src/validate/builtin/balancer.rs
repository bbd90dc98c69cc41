//! What load balancers report of themselves in a status. Source: `ValidateLoadBalancerStatus` of upstream's
//! `pkg/apis/core/validation` and `ValidateIngressLoadBalancerStatus` of `pkg/apis/networking/validation`.

use super::{Field, Subject, ambiguous};
use crate::rejection::CauseList;
use crate::validate::{formats, names};

const ONLY_BALANCED: &str = "may only be used when `spec.type` is 'LoadBalancer'";
const MODES: [&str; 2] = ["Proxy", "VIP"];

/// Checks the status of a service if it changes: an ingress that is stored may stay as it is.
pub(super) fn of_service(subject: &Subject<'_>, causes: &mut CauseList) {
    let ingress = subject.new.at("status.loadBalancer.ingress");
    if ingress.is_empty() || !subject.changes(&ingress) {
        return;
    }
    if subject.new.at("spec.type").text() != "LoadBalancer" {
        causes.push_with(|| ingress.forbidden(ONLY_BALANCED));
        return;
    }
    for point in ingress.items() {
        address(&point, subject, causes);
        mode(&point, causes);
        host(&point, causes);
    }
}

/// The same for the status of an ingress.
pub(super) fn of_ingress(subject: &Subject<'_>, causes: &mut CauseList) {
    let ingress = subject.new.at("status.loadBalancer.ingress");
    if !subject.changes(&ingress) {
        return;
    }
    for point in ingress.items() {
        address(&point, subject, causes);
        host(&point, causes);
    }
}

fn address(point: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let address = point.child("ip");
    if !address.is_empty() {
        address.refuse(formats::old_address(address.text()), causes);
        ambiguous::address(&address, subject, causes);
    }
}

fn mode(point: &Field<'_>, causes: &mut CauseList) {
    let mode = point.child("ipMode");
    match (mode.is_absent(), point.child("ip").is_empty()) {
        (true, true) => {}
        (true, false) => causes.push_with(|| mode.required("must be specified when `ip` is set")),
        (false, true) => {
            causes.push_with(|| mode.forbidden("may not be specified when `ip` is not set"));
        }
        (false, false) if MODES.contains(&mode.text()) => {}
        (false, false) => causes.push_with(|| mode.not_supported(&MODES)),
    }
}

fn host(point: &Field<'_>, causes: &mut CauseList) {
    let host = point.child("hostname");
    if host.is_empty() {
        return;
    }
    host.refuse(names::subdomain(host.text()).err(), causes);
    if formats::is_long(host.text()).is_some() {
        causes.push_with(|| host.invalid("must be a DNS name, not an IP address"));
    }
}
