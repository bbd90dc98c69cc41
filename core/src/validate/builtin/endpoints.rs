//! Endpoints of services, in their older form and in slices. Source: `validateEndpointSubsets` of upstream's
//! `pkg/apis/core/validation`, and `pkg/apis/discovery/validation`.

use super::{Field, Subject};
use crate::rejection::CauseList;
use crate::validate::{formats, names, qualified_name};
use std::collections::BTreeSet;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(super) fn subsets(list: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    for subset in list.items() {
        let lists = ["addresses", "notReadyAddresses"].map(|name| subset.child(name));
        if lists.iter().all(Field::is_empty) {
            let why = "must specify `addresses` or `notReadyAddresses`";
            causes.push_with(|| subset.required(why));
        }
        for address in lists.iter().flat_map(Field::items) {
            check_address(&address, causes);
        }
        let ports = subset.child("ports");
        let is_one_of_many = ports.items().count() > 1;
        for port in ports.items() {
            let (name, number) = (port.child("name"), port.child("port"));
            if !name.is_empty() {
                name.refuse(names::label(name.text()).err(), causes);
            } else if is_one_of_many {
                causes.push_with(|| name.required(""));
            }
            if !formats::is_port(number.number()) {
                let shown = number.number().to_string();
                causes.push_with(|| number.invalid_as(&shown, formats::PORT));
            }
            spoken(&port, causes);
        }
    }
}

fn spoken(port: &Field<'_>, causes: &mut CauseList) {
    let protocol = port.child("appProtocol");
    port.child("protocol").one_of(&PROTOCOLS, causes);
    if !protocol.is_absent() {
        protocol.refuse(qualified_name(protocol.text()), causes);
    }
}

/// Unlike upstream, this accepts addresses of the machine itself: webhooks may run beside the server.
fn check_address(address: &Field<'_>, causes: &mut CauseList) {
    let (ip, host) = (address.child("ip"), address.child("hostname"));
    let node = address.child("nodeName");
    let refused = |why: String| ip.invalid_as(&format!("{:?}", ip.text()), &why);
    causes.extend(formats::old_address(ip.text()).map(refused));
    if !host.is_empty() {
        host.refuse(names::label(host.text()).err(), causes);
    }
    if !node.is_absent() {
        node.refuse(names::subdomain(node.text()).err(), causes);
    }
    if !formats::is_loopback(ip.text()) {
        causes.extend(formats::special(ip.text()).into_iter().map(refused));
    }
}

/// What is the same in slices of all types of addresses; the addresses themselves are not looked at.
pub(super) fn slice(slice: &Field<'_>, _: &Subject<'_>, causes: &mut CauseList) {
    let kind = slice.child("addressType");
    if kind.is_empty() {
        causes.push_with(|| kind.required(""));
    }
    kind.one_of(&["FQDN", "IPv4", "IPv6"], causes);
    for endpoint in slice.child("endpoints").items() {
        let (list, host) = (endpoint.child("addresses"), endpoint.child("hostname"));
        if list.is_empty() {
            causes.push_with(|| list.required("must contain at least 1 address"));
        }
        if !host.is_absent() {
            host.refuse(names::label(host.text()).err(), causes);
        }
    }
    let mut seen = BTreeSet::new();
    for port in slice.child("ports").items() {
        let name = port.child("name");
        if !name.is_empty() {
            name.refuse(names::label(name.text()).err(), causes);
        }
        if !seen.insert(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        spoken(&port, causes);
    }
}
