//! Endpoints of services in slices. Source: `ValidateEndpointSlice` of upstream's `pkg/apis/discovery/validation`.
//! `deprecatedTopology` is not looked at: upstream drops it before.

use super::{Field, Subject, endpoints};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, label_value, names};
use std::collections::BTreeSet;

const IPV4: &str = "IPv4";
const IPV6: &str = "IPv6";
const TYPES: [&str; 3] = ["FQDN", IPV4, IPV6];
const ENDPOINTS_MAX: usize = 1_000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const HINTS_MAX: usize = 8;

/// The problems of a text, in the words of its type.
type Problems = fn(&str) -> Vec<String>;

/// Endpoints that an update leaves as they are may have addresses that were right once.
pub(super) fn slice(slice: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let (kind, list) = (slice.child("addressType"), slice.child("endpoints"));
    if kind.is_empty() {
        causes.push_with(|| kind.required(""));
    }
    kind.one_of(&TYPES, causes);
    let ports = slice.child("ports");
    if !is_too_long(&ports, PORTS_MAX, causes) {
        check_ports(&ports, causes);
    }
    let is_new = subject.old.is_none() || subject.changes(&list);
    if !is_new || is_too_long(&list, ENDPOINTS_MAX, causes) {
        return;
    }
    for endpoint in list.items() {
        if causes.is_full() {
            return;
        }
        check_endpoint(&endpoint, kind.text(), causes);
    }
}

fn is_too_long(list: &Field<'_>, most: usize, causes: &mut CauseList) -> bool {
    let count = list.items().count();
    if count > most {
        causes.push_with(|| FieldCause::too_many(list.path.as_str(), count, most));
    }
    count > most
}

fn check_ports(ports: &Field<'_>, causes: &mut CauseList) {
    let mut seen = BTreeSet::new();
    for port in ports.items() {
        let name = port.child("name");
        if !name.is_empty() {
            name.refuse(names::label_problems(name.text()), causes);
        }
        if !seen.insert(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        endpoints::spoken(&port, causes);
    }
}

fn check_endpoint(endpoint: &Field<'_>, kind: &str, causes: &mut CauseList) {
    let addresses = endpoint.child("addresses");
    if addresses.is_empty() {
        causes.push_with(|| addresses.required("must contain at least 1 address"));
    }
    is_too_long(&addresses, ADDRESSES_MAX, causes);
    for address in addresses.items() {
        match kind {
            "FQDN" => domain(&address, causes),
            IPV4 => of_family(&address, IPV4, causes),
            IPV6 => of_family(&address, IPV6, causes),
            _ => {}
        }
    }
    let (node, host) = (endpoint.child("nodeName"), endpoint.child("hostname"));
    if !node.is_absent() {
        node.refuse(names::subdomain_problems(node.text()), causes);
    }
    if !host.is_absent() {
        host.refuse(names::label_problems(host.text()), causes);
    }
    let hints = endpoint.child("hints");
    if check_hints(&hints.child("forZones"), label_value, causes) {
        check_hints(&hints.child("forNodes"), names::subdomain_problems, causes);
    }
}

fn domain(address: &Field<'_>, causes: &mut CauseList) {
    if address.is_empty() {
        return causes.push_with(|| address.required(""));
    }
    if let Some((shown, why)) = formats::domain(address.text()) {
        causes.push_with(|| address.invalid_as(&format!("{shown:?}"), &why));
    }
}

/// An address that every program reads alike, of this family. Unlike upstream, this accepts one of the machine
/// itself, as in the older form.
fn of_family(address: &Field<'_>, family: &str, causes: &mut CauseList) {
    let text = address.text();
    let ambiguous = || formats::ambiguous_address(text).map(str::to_owned);
    if let Some(why) = formats::old_address(text).or_else(ambiguous) {
        return causes.push_with(|| address.invalid(&why));
    }
    if formats::is_long(text) != Some(family == IPV6) {
        causes.push_with(|| address.invalid(&format!("must be an {family} address")));
    }
    if !formats::is_loopback(text) {
        address.refuse(formats::special(text), causes);
    }
}

/// For whom an endpoint is meant, by name. False if there are too many: upstream looks at nothing else then. Source:
/// `validateHints`.
fn check_hints(list: &Field<'_>, problems: Problems, causes: &mut CauseList) -> bool {
    if is_too_long(list, HINTS_MAX, causes) {
        return false;
    }
    let mut seen = BTreeSet::new();
    for name in list.items().map(|hint| hint.child("name")) {
        if !seen.insert(name.text()) {
            causes.push_with(|| name.duplicate());
        }
        let told = problems(name.text()).into_iter();
        causes.extend(told.map(|why| name.invalid_as(&format!("{:?}", name.text()), &why)));
    }
    true
}
