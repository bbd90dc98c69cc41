//! Removes what a manager applied before but does not apply any more.

use super::FieldSet;
use super::collect::collect;
use super::remove::{remove, with_named};
use super::types::Type;
use super::updater::{Managers, Owned, Updater};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the merged object without the fields that the manager owned after its last apply and
/// that nobody owns now. An item that goes takes along everything in it, and so does a map in which
/// nobody owns anything any more; but `finalizers` and `ownerReferences` keep items that nobody
/// ever owned.
pub(super) fn prune(
    updater: &Updater<'_>,
    merged: Value,
    managers: &Managers,
    last: &Owned,
) -> Value {
    let Some(kind) = updater.kind(&last.api_version) else {
        return merged;
    };
    let whole = updater.convert(&merged, &last.api_version);
    let gone = with_named(&last.set, kind);
    let mut pruned = remove(&whole, &gone, kind);
    for (api_version, held) in held(managers, &last.api_version) {
        if let Some(kind) = updater.kind(api_version) {
            let whole = updater.convert(&whole, api_version);
            let unheld = missing(&whole, &updater.convert(&pruned, api_version), kind)
                .difference(&with_named(&held, kind));
            pruned = remove(&whole, &unheld, kind);
        }
    }
    let pruned = updater.convert(&pruned, &last.api_version);
    let gone = missing(&whole, &pruned, kind).intersection(&gone);
    let pruned = remove(&whole, &gone, kind);
    updater.convert(&pruned, updater.api_version).into_owned()
}

/// Returns what the managers own, by version. `first` comes first: an object that lacks fields that
/// other versions need could not be converted to them.
fn held<'a>(managers: &'a Managers, first: &str) -> Vec<(&'a str, FieldSet)> {
    let mut held: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for owned in managers.values() {
        let set = held.entry(&owned.api_version).or_default();
        *set = set.union(&owned.set);
    }
    let mut held: Vec<_> = held.into_iter().collect();
    held.sort_by_key(|(api_version, _)| *api_version != first);
    held
}

/// Returns the fields that `whole` has and `part` has not.
fn missing(whole: &Value, part: &Value, kind: Type<'_>) -> FieldSet {
    let named = |value: &Value| with_named(&collect(value, kind).0, kind);
    named(whole).difference(&named(part))
}
