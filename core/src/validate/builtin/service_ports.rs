//! The ports of services. Source: `validateServicePort` and `ValidateService` of upstream's
//! `pkg/apis/core/validation`, and the allocator of `pkg/registry/core/service`.

use super::{Field, Subject, probe, shown};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::{formats, names, qualified_name};
use core::ops::RangeInclusive;
use serde_json::json;
use std::collections::BTreeSet;

const NODE_PORTS: RangeInclusive<i64> = 30_000..=32_767;
const OUT_OF_RANGE: &str = "provided port is not in the valid range. The range of valid ports is \
     30000-32767";

/// Checks each port by itself.
pub(super) fn each(list: &Field<'_>, causes: &mut CauseList) {
    let is_one_of_many = list.items().count() > 1;
    let mut seen = BTreeSet::new();
    for port in list.items() {
        let (name, number) = (port.child("name"), port.child("port"));
        if !name.is_empty() {
            name.refuse(names::label(name.text()).err(), causes);
            if !seen.insert(name.text()) {
                causes.push_with(|| name.duplicate());
            }
        } else if is_one_of_many {
            causes.push_with(|| name.required(""));
        }
        if !formats::is_port(number.number()) {
            causes.push_with(|| number.invalid_as(&number.number().to_string(), formats::PORT));
        }
        port.child("protocol")
            .one_of(&["SCTP", "TCP", "UDP"], causes);
        let (target, spoken) = (port.child("targetPort"), port.child("appProtocol"));
        if !target.is_absent() {
            probe::port(&target, causes);
        }
        if !spoken.is_absent() {
            spoken.refuse(qualified_name(spoken.text()), causes);
        }
    }
}

/// A new port on nodes is in the range of these.
pub(super) fn on_nodes(subject: &Subject<'_>, causes: &mut CauseList) {
    if !matches!(
        subject.new.at("spec.type").text(),
        "NodePort" | "LoadBalancer"
    ) {
        return;
    }
    let old = subject.old.iter();
    let old = old.flat_map(|old| old.select("spec.ports[].nodePort"));
    let kept: BTreeSet<i64> = old.map(|port| port.number()).collect();
    for port in subject.new.select("spec.ports[].nodePort") {
        let is_new = port.number() != 0 && !kept.contains(&port.number());
        if is_new && !NODE_PORTS.contains(&port.number()) {
            causes.push_with(|| port.invalid(OUT_OF_RANGE));
        }
    }
}

/// A service that is only in the cluster has no ports on nodes, and two ports of a protocol differ.
pub(super) fn together(spec: &Field<'_>, causes: &mut CauseList) {
    let ports: Vec<Field<'_>> = spec.child("ports").items().collect();
    if spec.child("type").text() == "ClusterIP" {
        for place in ports.iter().map(|port| port.child("nodePort")) {
            if place.number() != 0 {
                causes.push_with(|| place.forbidden("may not be used when `type` is 'ClusterIP'"));
            }
        }
    }
    let mut seen = BTreeSet::new();
    for port in &ports {
        let place = port.child("nodePort");
        let what = (port.child("protocol").text(), place.number());
        if place.number() != 0 && !seen.insert(what) {
            causes.push_with(|| place.duplicate());
        }
    }
    let mut seen = BTreeSet::new();
    for port in &ports {
        let (protocol, number) = (port.child("protocol").text(), port.child("port").number());
        if !seen.insert((protocol, number)) {
            let same = json!({"protocol": protocol, "port": number});
            let shown = shown::object(&same, shown::SERVICE_PORT);
            causes.push_with(|| FieldCause::duplicate_as(port.path.as_str(), &shown, ""));
        }
    }
}
