//! Whether an owner keeps its dependent, asked a second time. Nothing of `classify` is used: a mistake there makes a
//! commit that this refuses.

use crate::State;
use crate::kind::GroupVersionKind;
use crate::object::{FOREGROUND_FINALIZER, Object, ObjectKey, OwnerReference};

/// Whether this owner is there, by its name and its identity, and does not wait for the dependent to go; or whether
/// nobody can know.
pub(super) fn keeps(state: &State, dependent: &Object, owner: &OwnerReference) -> bool {
    let home = &*dependent.key.namespace;
    let Some(named) = GroupVersionKind::parse(&owner.api_version, &owner.kind) else {
        return true;
    };
    let Some(kind) = state.kinds.by_gvk(&named) else {
        return true;
    };
    let never_told = kind.strategy.review || kind.is_namespaced() && home.is_empty();
    if never_told {
        return true;
    }
    let place = if kind.is_namespaced() { home } else { "" };
    let found = state.get(&ObjectKey::new(kind.stored_under(), place, &owner.name));
    let found = found.filter(|found| found.meta.uid == owner.uid);
    found.is_some_and(|found| {
        let waits = found.meta.has_finalizer(FOREGROUND_FINALIZER);
        found.mark.is_none() || !waits
    })
}
