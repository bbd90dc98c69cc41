//! Nodes, quotas, ranges of service addresses and priorities. Source: `ValidateNodeUpdate` and
//! `ValidateResourceQuotaUpdate` of `pkg/apis/core/validation`, `ValidateServiceCIDRUpdate` of
//! `pkg/apis/networking/validation`, `ValidatePriorityClass` of `pkg/apis/scheduling/validation`.

use super::container::amounts;
use super::{Field, IMMUTABLE, Subject};
use crate::rejection::FieldCause;
use std::collections::BTreeSet;

/// A node keeps its ranges of pod addresses and its provider's id once it has them.
pub(super) fn node(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let Some(old) = &subject.old else {
        return;
    };
    let (before, after) = (ranges(old), ranges(&subject.new));
    if !before.is_empty() && before != after {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        causes.push(subject.new.at("spec.podCIDRs").forbidden(why));
    }
    let provider = subject.new.at("spec.providerID");
    if !old.at("spec.providerID").is_empty() && subject.changes(&provider) {
        let why = "node updates may not change providerID except from \"\" to valid";
        causes.push(provider.forbidden(why));
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

pub(super) fn quota(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    amounts(&subject.new.at("spec.hard"), causes);
    let scopes = subject.new.at("spec.scopes");
    let set = |place: &Field<'_>| -> BTreeSet<String> {
        place.items().map(|scope| scope.text().to_owned()).collect()
    };
    let differs = |old: &Field<'_>| set(&old.at("spec.scopes")) != set(&scopes);
    if subject.old.as_ref().is_some_and(differs) {
        causes.push(scopes.invalid(IMMUTABLE));
    }
}

/// A range may get a second one of the other family; what is there stays.
pub(super) fn service_range(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let ranges = subject.new.at("spec.cidrs");
    let Some(old) = &subject.old else {
        return;
    };
    let before: Vec<Field<'_>> = old.at("spec.cidrs").items().collect();
    let after: Vec<Field<'_>> = ranges.items().collect();
    let grows = (before.len(), after.len()) == (1, 2);
    if before.len() != after.len() && !grows {
        causes.push(ranges.invalid(IMMUTABLE));
        return;
    }
    for (before, after) in before.iter().zip(&after) {
        if before.value != after.value {
            causes.push(after.invalid(IMMUTABLE));
        }
    }
    let is_long = |range: &Field<'_>| range.text().contains(':');
    if grows && after.iter().all(is_long) == after.iter().any(is_long) {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and \
             2001:db8::/64";
        let spec = subject.new.child("spec");
        causes.push(FieldCause::invalid(ranges.path.as_str(), spec.value, why));
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
pub(super) fn priority_class(subject: &Subject<'_>, causes: &mut Vec<FieldCause>) {
    let (name, value) = (subject.new.at("metadata.name"), subject.new.child("value"));
    let number = value.value.as_i64().unwrap_or(0);
    if !name.text().starts_with(SYSTEM) {
        if number > PRIORITY_MAX {
            let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
            causes.push(value.forbidden(&why));
        }
        return;
    }
    let called = name.text();
    let why = match CRITICAL.iter().find(|row| row.0 == called) {
        None => format!("{called} is not a known system priority class"),
        Some((_, wanted)) if number != *wanted => {
            format!("value of {called} PriorityClass must be {wanted}")
        }
        Some(_) if !subject.new.child("globalDefault").is_empty() => {
            format!("globalDefault of {called} PriorityClass must be false")
        }
        Some(_) => return,
    };
    let reserved = "priority class names with 'system-' prefix are reserved for system use only";
    causes.push(name.forbidden(&format!("{reserved}. error: {why}")));
}
