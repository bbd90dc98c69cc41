//! What an owner is to its dependent, worked out a second time. Nothing of `classify` is used, so that a
//! mistake there leads to a commit that is refused here.

use crate::State;
use crate::kind::GroupVersionKind;
use crate::object::{FOREGROUND_FINALIZER, Object, ObjectKey, OwnerReference};

/// Whether an owner keeps its dependent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// The owner exists under this name and uid and does not wait for the dependent to go; or nothing can
    /// be known about it.
    Keeps,
    /// The owner is in foreground deletion, and waits for the dependent to go first.
    Waits,
    /// The owner does not exist.
    Left,
}

pub(super) fn hold(state: &State, dependent: &Object, owner: &OwnerReference) -> Hold {
    let home = &*dependent.key.namespace;
    let Some(named) = GroupVersionKind::parse(&owner.api_version, &owner.kind) else {
        return Hold::Keeps;
    };
    let Some(kind) = state.kinds.by_gvk(&named) else {
        return Hold::Keeps;
    };
    let is_unknowable = kind.strategy.review || kind.is_namespaced() && home.is_empty();
    if is_unknowable {
        return Hold::Keeps;
    }
    let place = if kind.is_namespaced() { home } else { "" };
    let found = state.get(&ObjectKey::new(kind.stored_under(), place, &owner.name));
    let Some(found) = found.filter(|found| found.meta.uid == owner.uid) else {
        return Hold::Left;
    };
    let waits = found.mark.is_some() && found.meta.has_finalizer(FOREGROUND_FINALIZER);
    if waits { Hold::Waits } else { Hold::Keeps }
}
