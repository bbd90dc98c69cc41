//! Endpoints of services, in their older form. Source: `validateEndpointSubsets` of upstream's
//! `pkg/apis/core/validation`.

use super::{Field, Subject};
use crate::rejection::CauseList;
use crate::validate::{formats, names, qualified_name};

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

/// What is spoken at a port: an empty text is a protocol that there is not.
pub(super) fn spoken(port: &Field<'_>, causes: &mut CauseList) {
    let (protocol, above) = (port.child("protocol"), port.child("appProtocol"));
    if !protocol.is_absent() && !PROTOCOLS.contains(&protocol.text()) {
        causes.push_with(|| protocol.not_supported(&PROTOCOLS));
    }
    if !above.is_absent() {
        above.refuse(qualified_name(above.text()), causes);
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
