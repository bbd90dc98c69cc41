//! The canonical form of `Endpoints`: every address once for each port, and ports that are offered at the same
//! addresses together. Source: `endpointsStrategy.Canonicalize` and `RepackSubsets` of upstream's
//! `pkg/api/endpoints`.
//!
//! Upstream sorts subsets and ports by hashes of how Go prints them, which differ between its server and its
//! controllers. Here they stay in the order in which they were sent, so that a controller finds what it wrote.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// More addresses than an object has room for: upstream's form of such `Endpoints` could not be stored.
const ADDRESSES_MAX: usize = 1 << 18;
/// The lists of addresses of a subset, and whether those are ready.
const LISTS: [(&str, bool); 2] = [("addresses", true), ("notReadyAddresses", false)];

/// What tells addresses apart: the IP address, and the uid of what is there.
type Key = (String, String);
/// The addresses at which a port is offered, and which of them are ready.
type Offered = BTreeMap<Key, bool>;

/// Brings the subsets into their canonical form. Both versions of a document are compared in this form.
pub(super) fn repack(document: &mut Value) {
    let Some(subsets) = document.get_mut("subsets").and_then(Value::as_array_mut) else {
        return;
    };
    let places = places_of_ports(subsets);
    if work(&places, subsets) > ADDRESSES_MAX {
        return;
    }
    let known = known(subsets);
    let mut packed: Vec<(Offered, Vec<Value>)> = Vec::new();
    let mut found: BTreeMap<Offered, usize> = BTreeMap::new();
    for (port, places) in places {
        let offered = offered(&places, subsets);
        if offered.is_empty() {
            continue;
        }
        let at = *found.entry(offered.clone()).or_insert_with(|| {
            packed.push((offered, Vec::new()));
            packed.len() - 1
        });
        if let Some((_, ports)) = packed.get_mut(at) {
            ports.extend(port);
        }
    }
    let packed = packed.into_iter();
    *subsets = packed
        .map(|(offered, ports)| subset(&known, &offered, ports))
        .collect();
    if subsets.is_empty()
        && let Some(root) = document.as_object_mut()
    {
        root.remove("subsets");
    }
}

/// Every port in the order of appearance, with the places of its subsets. Addresses without ports are those of
/// no port.
fn places_of_ports(subsets: &[Value]) -> Vec<(Option<Value>, Vec<usize>)> {
    let mut places: Vec<(Option<Value>, Vec<usize>)> = Vec::new();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (place, subset) in subsets.iter().enumerate() {
        let listed = subset.get("ports").and_then(Value::as_array);
        let listed = listed.filter(|ports| !ports.is_empty());
        let ports = listed.map_or(vec![None], |ports| ports.iter().map(Some).collect());
        for port in ports {
            let name = port.map(Value::to_string).unwrap_or_default();
            let at = *found.entry(name).or_insert_with(|| {
                places.push((port.cloned(), Vec::new()));
                places.len() - 1
            });
            if let Some((_, places)) = places.get_mut(at) {
                places.push(place);
            }
        }
    }
    places
}

/// How many addresses all ports are offered at.
fn work(places: &[(Option<Value>, Vec<usize>)], subsets: &[Value]) -> usize {
    let counts: Vec<usize> = subsets.iter().map(|one| addresses(one).count()).collect();
    let places = places.iter().flat_map(|(_, places)| places);
    places.filter_map(|place| counts.get(*place)).sum()
}

/// Each address as it is said first, whatever else is said of it later.
fn known(subsets: &[Value]) -> BTreeMap<Key, Value> {
    let mut known = BTreeMap::new();
    for (address, _) in subsets.iter().flat_map(addresses) {
        let first = known.entry(key(address));
        first.or_insert_with(|| address.clone());
    }
    known
}

/// An address that is ready in one subset and not in another is not.
fn offered(places: &[usize], subsets: &[Value]) -> Offered {
    let mut offered = Offered::new();
    let subsets = places.iter().filter_map(|place| subsets.get(*place));
    for (address, is_ready) in subsets.flat_map(addresses) {
        *offered.entry(key(address)).or_insert(true) &= is_ready;
    }
    offered
}

fn addresses(subset: &Value) -> impl Iterator<Item = (&Value, bool)> {
    LISTS.iter().flat_map(move |(list, is_ready)| {
        let listed = subset.get(*list).and_then(Value::as_array);
        let listed = listed.into_iter().flatten();
        listed.map(move |address| (address, *is_ready))
    })
}

fn key(address: &Value) -> Key {
    let text = |place: &str| address.pointer(place).and_then(Value::as_str);
    let text = |place: &str| text(place).unwrap_or_default().to_owned();
    (text("/ip"), text("/targetRef/uid"))
}

fn subset(known: &BTreeMap<Key, Value>, offered: &Offered, ports: Vec<Value>) -> Value {
    let mut subset = Map::new();
    for (list, is_ready) in LISTS {
        let listed = offered.iter().filter(|(_, ready)| **ready == is_ready);
        let listed = listed.filter_map(|(key, _)| known.get(key).cloned());
        let listed: Vec<Value> = listed.collect();
        if !listed.is_empty() {
            subset.insert(list.into(), listed.into());
        }
    }
    if !ports.is_empty() {
        subset.insert("ports".into(), ports.into());
    }
    subset.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn repacked(subsets: Value) -> Value {
        let mut document = json!({"subsets": subsets});
        repack(&mut document);
        document.get("subsets").cloned().unwrap_or_default()
    }

    /// Source: cases of upstream's `TestPackSubsets`.
    #[test]
    fn what_is_offered_at_the_same_addresses_is_together() {
        let at = |ip: &str| json!({"ip": ip});
        let port = |number: u16| json!({"port": number, "protocol": "TCP"});
        let whole = |ip: &str, number: u16| json!({"addresses": [at(ip)], "ports": [port(number)]});
        for (sent, packed) in [
            (json!([]), Value::Null),
            (json!([{"addresses": [], "ports": []}]), Value::Null),
            (json!([{"ports": [port(1)]}]), Value::Null),
            (
                json!([{"addresses": [at("b"), at("a"), at("b")]}]),
                json!([{"addresses": [at("a"), at("b")]}]),
            ),
            (
                json!([whole("a", 2), whole("a", 1)]),
                json!([{"addresses": [at("a")], "ports": [port(2), port(1)]}]),
            ),
            (
                json!([whole("b", 1), whole("a", 1)]),
                json!([{"addresses": [at("a"), at("b")], "ports": [port(1)]}]),
            ),
            (
                json!([whole("a", 1), {"notReadyAddresses": [at("a")], "ports": [port(1), port(2)]}]),
                json!([{"notReadyAddresses": [at("a")], "ports": [port(1), port(2)]}]),
            ),
            (
                json!([whole("a", 1), {"notReadyAddresses": [at("a")], "ports": [port(2)]}]),
                json!([whole("a", 1), {"notReadyAddresses": [at("a")], "ports": [port(2)]}]),
            ),
            (
                json!([{"addresses": [at("a")]}, whole("a", 1)]),
                json!([whole("a", 1)]),
            ),
        ] {
            assert_eq!(repacked(sent.clone()), packed, "{sent}");
            let again = repacked(packed.clone());
            assert_eq!(again, packed, "{sent}");
        }
    }

    #[test]
    fn addresses_of_two_pods_are_two() {
        let of = |uid: &str| json!({"ip": "a", "targetRef": {"uid": uid}});
        let sent =
            json!([{"addresses": [of("v"), of("u"), {"ip": "a"}, {"ip": "a", "hostname": "h"}]}]);
        let packed = json!([{"addresses": [{"ip": "a"}, of("u"), of("v")]}]);
        assert_eq!(repacked(sent), packed);
    }

    #[test]
    fn what_would_not_fit_stays_as_it_is() {
        let address = |one: usize| json!({"ip": format!("{}", 1000 - one)});
        let port = |one: usize| json!({"port": one});
        let addresses: Vec<Value> = (0..600).map(address).collect();
        let ports: Vec<Value> = (1..=600).map(port).collect();
        let sent = json!([{"addresses": addresses, "ports": ports}]);
        assert_eq!(repacked(sent.clone()), sent);
    }
}
