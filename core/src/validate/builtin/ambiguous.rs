//! Addresses and ranges that programs read differently, in fields that once took them. What the old version of an
//! object has in the same field may stay. Source: `IsValidIPForLegacyField` and `IsValidCIDRForLegacyField`.

use super::{Field, Subject};
use crate::rejection::CauseList;
use crate::validate::formats;
use std::collections::BTreeSet;

/// The fields of pods, and of templates of pods below their specification.
const OF_PODS: [&str; 2] = ["hostAliases[].ip", "dnsConfig.nameservers[]"];

/// The address at this place.
pub(super) fn address(place: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if let Some(why) = formats::ambiguous_address(place.text())
        && !is_kept(place, subject)
    {
        causes.push_with(|| place.invalid(why));
    }
}

/// The range at this place.
pub(super) fn range(place: &Field<'_>, subject: &Subject<'_>, causes: &mut CauseList) {
    if let Some(why) = formats::ambiguous_range(place.text().trim())
        && !is_kept(place, subject)
    {
        causes.push_with(|| place.invalid(why));
    }
}

/// The addresses in the specification of pods at this path.
pub(super) fn of_pods(path: &str, subject: &Subject<'_>, causes: &mut CauseList) {
    for field in OF_PODS {
        for place in subject.new.at(path).select(field) {
            if causes.is_full() {
                return;
            }
            address(&place, subject, causes);
        }
    }
}

/// Whether the old version has the same text in the same field, in whatever item of the same lists.
fn is_kept(place: &Field<'_>, subject: &Subject<'_>) -> bool {
    let Some(old) = &subject.old else {
        return false;
    };
    let before = old.select(&way_to(&place.path));
    let before: BTreeSet<&str> = before.iter().map(Field::text).collect();
    before.contains(place.text())
}

/// A path without the positions in its lists.
fn way_to(path: &str) -> String {
    path.chars().filter(|one| !one.is_ascii_digit()).collect()
}
