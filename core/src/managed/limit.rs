//! Limits the number of `Update` entries by merging the oldest ones, per version.

use super::Managed;
use crate::fields::{ManagerId, Owned};
use crate::object::Name;
use std::collections::BTreeMap;

/// Source: apimachinery's `DefaultMaxUpdateManagers`.
const UPDATERS_MAX: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest entries until there are few enough. An old entry that is the only one of its
/// version is left alone.
pub(super) fn join_oldest(managed: &mut Managed) {
    let mut left = managed.managers.keys().filter(|id| !id.applied).count();
    if left <= UPDATERS_MAX {
        return;
    }
    let mut first_of: BTreeMap<Name, ManagerId> = BTreeMap::new();
    for id in oldest_first(managed) {
        if left <= UPDATERS_MAX {
            return;
        }
        let Some(owned) = managed.managers.get(&id) else {
            continue;
        };
        let version = Name::clone(&owned.api_version);
        match first_of.get(&version) {
            Some(first) => {
                let joined = join(managed, first, &id);
                first_of.insert(version, joined);
                left -= 1;
            }
            None => drop(first_of.insert(version, id)),
        }
    }
}

fn oldest_first(managed: &Managed) -> Vec<ManagerId> {
    let updaters = managed.managers.keys().filter(|id| !id.applied);
    let mut updaters: Vec<_> = updaters.cloned().collect();
    updaters.sort_by_key(|id| managed.times.get(id).copied().unwrap_or_default());
    updaters
}

/// Merges two entries into one for all old changes of their version, with the time of the newer
/// entry.
fn join(managed: &mut Managed, older: &ManagerId, newer: &ManagerId) -> ManagerId {
    let ancient = ManagerId {
        manager: ANCIENT.into(),
        subresource: "".into(),
        ..older.clone()
    };
    let time = managed.times.get(newer).copied();
    let mut set = managed.managers.remove(&ancient).map(|owned| owned.set);
    for id in [older, newer] {
        managed.times.remove(id);
        if let Some(owned) = managed.managers.remove(id) {
            set = Some(set.map_or_else(|| owned.set.clone(), |set| set.union(&owned.set)));
        }
    }
    let api_version = older.api_version.clone().unwrap_or_else(|| "".into());
    let set = set.unwrap_or_default();
    managed
        .managers
        .insert(ancient.clone(), Owned { set, api_version });
    if let Some(time) = time {
        managed.times.insert(ancient.clone(), time);
    }
    ancient
}
