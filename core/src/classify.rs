//! What an owner reference points at in a given state, and what that means for the object. Source: upstream's
//! `attemptToDeleteItem` and its rules for coordinates, without the races.

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

/// What its owners mean for an object that is not being deleted. The step that is planned for it, and whether
/// others wait for that step, both follow from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The kind of an owner is unknown, so nothing happens.
    Undecidable,
    /// Every owner is solid.
    Stays,
    /// A solid owner holds it, and it loses the references to the others.
    LosesOwners,
    /// No owner holds it.
    Goes {
        /// An owner waits for it.
        waiting: bool,
    },
}

impl Verdict {
    /// The verdict over an object whose references have these classes.
    pub fn of(classes: &[OwnerClass]) -> Self {
        let any = |class| classes.contains(&class);
        if any(OwnerClass::Unresolvable) {
            Self::Undecidable
        } else if classes.iter().all(|class| *class == OwnerClass::Solid) {
            Self::Stays
        } else if any(OwnerClass::Solid) {
            Self::LosesOwners
        } else {
            let waiting = any(OwnerClass::Waiting);
            Self::Goes { waiting }
        }
    }
}

/// Whether the collector has yet to act on this object, or on its dependents if it orphans them.
/// An immortal namespace is never deleted, so nothing waits for that.
pub fn is_undecided(state: &State, object: &Object) -> bool {
    if object.is_deleting() {
        return object.is_orphaning() && state.dependents(&object.meta.uid).all > 0;
    }
    if state.is_orphaned(object) {
        return true;
    }
    let classes: Vec<OwnerClass> = object
        .owners()
        .iter()
        .map(|owner| classify(state, object, owner))
        .collect();
    match Verdict::of(&classes) {
        Verdict::Undecidable | Verdict::Stays => false,
        Verdict::LosesOwners => true,
        Verdict::Goes { .. } => !object.key.is_immortal(),
    }
}
