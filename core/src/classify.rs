//! What an owner reference points at in a given state. Source: upstream's `attemptToDeleteItem` and its
//! rules for coordinates, without the races.

use crate::State;
use crate::event::OwnerClass;
use crate::kind::{GroupVersionKind, Scope};
use crate::object::{Object, ObjectKey, OwnerReference};

/// Looks the owner up at the coordinates in the reference, in the dependent's namespace.
///
/// An owner whose kind is not served, or is never stored, is `Unresolvable`: unknown is not absent.
pub fn classify(state: &State, dependent: &Object, reference: &OwnerReference) -> OwnerClass {
    let Some(key) = owner_key(state, &dependent.key.namespace, reference) else {
        return OwnerClass::Unresolvable;
    };
    match state.get(&key) {
        Some(owner) if owner.meta.uid == reference.uid => {
            if owner.is_waiting() {
                OwnerClass::Waiting
            } else {
                OwnerClass::Solid
            }
        }
        Some(_) | None => OwnerClass::Dangling,
    }
}

/// The key that a reference points to, from an object in this namespace; `None` if its kind cannot be
/// resolved or gives no key.
pub fn owner_key(state: &State, namespace: &str, reference: &OwnerReference) -> Option<ObjectKey> {
    let gvk = GroupVersionKind::parse(&reference.api_version, &reference.kind)?;
    let kind = state
        .kinds
        .by_gvk(&gvk)
        .filter(|kind| !kind.strategy.review)?;
    let namespace = match kind.scope {
        Scope::Cluster => "",
        Scope::Namespaced if namespace.is_empty() => return None,
        Scope::Namespaced => namespace,
    };
    Some(ObjectKey::new(
        kind.stored_under(),
        namespace,
        &reference.name,
    ))
}
