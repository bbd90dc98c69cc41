//! Nodes, ranges of service addresses and priorities. Source: `ValidateNode` and `ValidateNodeUpdate` of
//! upstream's `pkg/apis/core/validation`, `ValidateServiceCIDR` of `pkg/apis/networking/validation`,
//! `ValidatePriorityClass` of `pkg/apis/scheduling/validation`.

use super::{Field, IMMUTABLE, Subject, amounts, placement, shown};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::formats;
use std::collections::BTreeSet;

const RANGE_FROZEN: &str = "node updates may not change podCIDR except from \"\" to valid";
const PROVIDER_FROZEN: &str = "node updates may not change providerID except from \"\" to valid";

/// Upstream checks an updated node as if it were new, and some of it a second time; here it is checked once.
pub(super) fn node(node: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    placement::taints(&node.at("spec.taints"), causes);
    resources(node, causes);
    pod_ranges(&node.at("spec.podCIDRs"), causes);
    let Some(old) = &subject.old else {
        return;
    };
    let mut seen = BTreeSet::new();
    for address in node.at("status.addresses").items() {
        let shown = shown::object(address.value, shown::NODE_ADDRESS);
        if !seen.insert(shown.clone()) {
            causes.push_with(|| FieldCause::duplicate_as(address.path, &shown, ""));
        }
    }
    kept_by_node(old, node, subject, causes);
    let external = node.at("spec.externalID");
    if subject.changes(&external) {
        causes.push_with(|| external.forbidden("may not be updated"));
    }
}

fn resources(node: &Field<'_>, causes: &mut CauseList) {
    for map in ["status.capacity", "status.allocatable"].map(|way| node.at(way)) {
        for (name, amount) in map.entries() {
            let path = format!("{}.{name}", map.path);
            amounts::value(&Field { path, ..amount }, name, causes);
        }
    }
}

fn pod_ranges(ranges: &Field<'_>, causes: &mut CauseList) {
    let before = causes.len();
    for range in ranges.items() {
        range.refuse(formats::old_range(range.text()), causes);
    }
    if causes.len() == before && !differ_in_family(ranges) {
        let why = "may specify no more than one CIDR for each IP family";
        causes.push_with(|| ranges.invalid(why));
    }
}

/// Whether there is at most one range of each family.
fn differ_in_family(ranges: &Field<'_>) -> bool {
    let is_long = |range: Field<'_>| range.text().contains(':');
    let families: BTreeSet<bool> = ranges.items().map(is_long).collect();
    families.len() == ranges.items().count()
}

/// A node keeps its ranges of pod addresses and its provider's id once it has them.
fn kept_by_node(old: &Field<'_>, new: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let before = ranges(old);
    if !before.is_empty() && before != ranges(new) {
        causes.push_with(|| new.at("spec.podCIDRs").forbidden(RANGE_FROZEN));
    }
    let provider = new.at("spec.providerID");
    if !old.at("spec.providerID").is_empty() && subject.changes(&provider) {
        causes.push_with(|| provider.forbidden(PROVIDER_FROZEN));
    }
}

/// The ranges of a node; an older field has the first one, and counts if the two differ.
fn ranges<'a>(node: &Field<'a>) -> Vec<&'a str> {
    let spec = node.child("spec");
    let listed: Vec<&str> = spec
        .child("podCIDRs")
        .items()
        .map(|one| one.text())
        .collect();
    let first = spec.child("podCIDR").text();
    if first.is_empty() || listed.first() == Some(&first) {
        listed
    } else {
        vec![first]
    }
}

const ONE_OF_EACH: &str = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and \
     2001:db8::/64";

/// A range may get a second one of the other family; what is there stays.
pub(super) fn service_range(spec: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    let ranges = spec.child("cidrs");
    let after: Vec<Field<'_>> = ranges.items().collect();
    let Some(old) = &subject.old else {
        return new_range(spec, causes);
    };
    let before: Vec<Field<'_>> = old.at("spec.cidrs").items().collect();
    let grows = (before.len(), after.len()) == (1, 2);
    if before.len() != after.len() && !grows {
        causes.push_with(|| ranges.invalid(IMMUTABLE));
        return;
    }
    for (before, after) in before.iter().zip(&after) {
        if before.value != after.value {
            causes.push_with(|| after.invalid(IMMUTABLE));
        }
    }
    if grows {
        in_one_form(&ranges, causes);
    }
}

fn new_range(spec: &Field<'_>, causes: &mut CauseList) {
    let ranges = spec.child("cidrs");
    if ranges.is_empty() {
        return causes.push_with(|| ranges.required("at least one CIDR required"));
    }
    if ranges.items().count() > 2 {
        let shown = shown::object(spec.value, shown::SERVICE_RANGES);
        return causes.push_with(|| ranges.invalid_as(&shown, "may only hold up to 2 values"));
    }
    in_one_form(&ranges, causes);
}

fn in_one_form(ranges: &Field<'_>, causes: &mut CauseList) {
    for range in ranges.items() {
        range.refuse(formats::strict_range(range.text()), causes);
    }
    let mut all = ranges.items();
    let are_ranges = all.all(|range| formats::old_range(range.text()).is_none());
    if are_ranges && !differ_in_family(ranges) {
        causes.push_with(|| ranges.invalid(ONE_OF_EACH));
    }
}

const PRIORITY_MAX: i64 = 1_000_000_000;
const SYSTEM: &str = "system-";
/// The classes of the system, and their values.
const CRITICAL: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// The highest values, and names in `system-`, are those of the system.
pub(super) fn priority_class(class: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if subject.old.is_none() {
        priority(class, causes);
        let preemption = class.child("preemptionPolicy");
        preemption.one_of(&["PreemptLowerPriority", "Never"], causes);
    }
}

fn priority(class: &Field<'_>, causes: &mut CauseList) {
    let (name, value) = (class.at("metadata.name"), class.child("value"));
    let number = value.number();
    if !name.text().starts_with(SYSTEM) {
        if number > PRIORITY_MAX {
            let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
            causes.push_with(|| value.forbidden(&why));
        }
        return;
    }
    let called = name.text();
    let why = match CRITICAL.iter().find(|row| row.0 == called) {
        None => format!("{called} is not a known system priority class"),
        Some((_, wanted)) if number != *wanted => {
            format!("value of {called} PriorityClass must be {wanted}")
        }
        Some(_) if !class.child("globalDefault").is_empty() => {
            format!("globalDefault of {called} PriorityClass must be false")
        }
        Some(_) => return,
    };
    let reserved = "priority class names with 'system-' prefix are reserved for system use only";
    causes.push_with(|| name.forbidden(&format!("{reserved}. error: {why}")));
}
