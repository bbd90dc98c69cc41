//! The addresses of services, alone and in two families. Source: `ValidateServiceClusterIPsRelatedFields` and
//! `ValidateServiceUpdate` of upstream's `pkg/apis/core/validation`, and `NormalizeClusterIPs` of
//! `pkg/registry/core/service`.

use super::{Field, Subject};
use crate::rejection::{CauseList, FieldCause};
use crate::validate::formats;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// The addresses of a service: an older member has the first one. An update may change that one alone.
pub(super) fn addresses<'a>(spec: &Field<'a>, old: Option<&Field<'a>>) -> Vec<&'a str> {
    let list = spec.child("clusterIPs");
    let first = spec.child("clusterIP").text();
    let is_kept = |old: &Field<'_>| {
        old.child("clusterIPs").value == list.value && old.child("clusterIP").text() != first
    };
    let follows = list.is_empty() || old.is_some_and(is_kept);
    let listed = list.items().map(|one| one.text());
    match (follows, first.is_empty()) {
        (false, _) => listed.collect(),
        (true, true) => Vec::new(),
        (true, false) => [first].into_iter().chain(listed.skip(1)).collect(),
    }
}

/// Checks how the addresses of a service and their families fit together.
pub(super) fn related(spec: &Field<'_>, addresses: &[&str], causes: &mut CauseList) {
    let list = spec.child("clusterIPs");
    let first = spec.child("clusterIP").text();
    let shown = json!(addresses).to_string();
    if first.is_empty() && !addresses.is_empty() {
        let why = "must be empty when `clusterIP` is not specified";
        causes.push_with(|| list.invalid_as(&shown, why));
    } else if addresses.first().is_some_and(|one| *one != first) {
        causes.push_with(|| list.invalid_as(&shown, "first value must match `clusterIP`"));
    }
    let families = spec.child("ipFamilies");
    let mut seen = BTreeSet::new();
    for family in families.items() {
        if !FAMILIES.contains(&family.text()) {
            causes.push_with(|| family.not_supported(&FAMILIES));
        }
        if !seen.insert(family.text()) {
            causes.push_with(|| family.duplicate());
        }
    }
    let policy = spec.child("ipFamilyPolicy");
    if !policy.is_absent() && !POLICIES.contains(&policy.text()) {
        causes.push_with(|| policy.not_supported(&POLICIES));
    }
    let before = causes.len();
    for (index, address) in addresses.iter().enumerate() {
        if index == 0 && *address == "None" {
            if addresses.len() > 1 {
                let why = "'None' must be the first and only value";
                causes.push_with(|| list.invalid_as(&shown, why));
            }
        } else if let Some(why) = formats::old_address(address) {
            let field = format!("{}[{index}]", list.path);
            causes.push_with(|| FieldCause::invalid(field, &json!(address), &why));
        }
    }
    if addresses.len() > 2 {
        causes.push_with(|| list.invalid_as(&shown, "may only hold up to 2 values"));
    }
    if causes.len() == before {
        in_families(&list, addresses, &families, causes);
    }
}

fn family(address: &str) -> Option<&'static str> {
    formats::is_long(address).map(|is_long| if is_long { "IPv6" } else { "IPv4" })
}

fn in_families(list: &Field<'_>, addresses: &[&str], families: &Field<'_>, causes: &mut CauseList) {
    let found: BTreeSet<&str> = addresses.iter().filter_map(|one| family(one)).collect();
    if addresses.len() > 1 && found.len() < addresses.len() {
        let why = "may specify no more than one IP for each IP family";
        causes.push_with(|| list.invalid_as(&json!(addresses).to_string(), why));
    }
    for (index, (address, wanted)) in addresses.iter().zip(families.items()).enumerate() {
        let wanted = wanted.text();
        if FAMILIES.contains(&wanted) && family(address).is_some_and(|found| found != wanted) {
            let field = format!("{}[{index}]", list.path);
            let why = format!("expected an {wanted} value as indicated by `ipFamilies[{index}]`");
            causes.push_with(|| FieldCause::invalid(field, &json!(address), &why));
        }
    }
}

/// What an update may not change of the first address and its family.
pub(super) fn changed(subject: &Subject<'_>, new: &Field<'_>, causes: &mut CauseList) {
    let Some(old) = subject.old.as_ref().map(|old| old.child("spec")) else {
        return;
    };
    let is_named = |spec: &Field<'_>| spec.child("type").text() == "ExternalName";
    if is_named(&old) || is_named(new) {
        return;
    }
    let (before, after) = (addresses(&old, None), addresses(new, Some(&old)));
    if let Some(first) = before.first().filter(|first| after.first() != Some(*first)) {
        let mut refuse = |value: &Value, why: &str| {
            causes.push_with(|| FieldCause::invalid("spec.clusterIPs[0]", value, why));
        };
        match after.is_empty() {
            true if first.is_empty() => {}
            true => refuse(&Value::Null, "primary clusterIP can not be unset"),
            false => refuse(&json!(after), "may not change once set"),
        }
    }
    let families = new.child("ipFamilies");
    let before = old.child("ipFamilies").items().next();
    if let Some((before, after)) = before.zip(families.items().next())
        && before.value != after.value
    {
        causes.push_with(|| {
            FieldCause::invalid(after.path, families.value, "may not change once set")
        });
    }
}
