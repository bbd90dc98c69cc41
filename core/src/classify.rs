//! What an owner reference points at in a given state, and what that means for the object. Source: upstream's
//! `attemptToDeleteItem` and its rules for coordinates, without the races.

use crate::State;
use crate::command::Propagation;
use crate::event::OwnerClass;
use crate::kind::{GroupVersionKind, Scope};
use crate::object::{Object, ObjectKey, OwnerReference};
use std::sync::Arc;

/// Looks the owner up at the coordinates in the reference, in the dependent's namespace.
///
/// An owner whose kind is not served, or is never stored, is `Unresolvable`: unknown is not absent.
pub fn classify(state: &State, dependent: &Object, reference: &OwnerReference) -> OwnerClass {
    find_owner(state, dependent, reference).0
}

/// As [`classify`], with the owner if the reference names it correctly.
pub(crate) fn find_owner<'a>(
    state: &'a State,
    dependent: &Object,
    reference: &OwnerReference,
) -> (OwnerClass, Option<&'a Arc<Object>>) {
    let Some(key) = owner_key(state, &dependent.key.namespace, reference) else {
        return (OwnerClass::Unresolvable, None);
    };
    match state.get(&key) {
        Some(owner) if owner.meta.uid == reference.uid => {
            let class = if owner.is_waiting() {
                OwnerClass::Waiting
            } else {
                OwnerClass::Solid
            };
            (class, Some(owner))
        }
        Some(_) | None => (OwnerClass::Dangling, None),
    }
}

/// The key that a reference points to, from an object in this namespace; `None` if its kind cannot be
/// resolved or gives no key.
pub fn owner_key(state: &State, namespace: &str, reference: &OwnerReference) -> Option<ObjectKey> {
    #[cfg(test)]
    crate::state::PASSED.set(crate::state::PASSED.get() + 1);
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
    Goes(Going),
}

/// How an object goes that no owner holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// All its owners are gone.
    Unowned,
    /// An owner in foreground deletion waits for it.
    UnderWaitingOwner,
}

impl Verdict {
    /// The verdict over an object whose references have these classes.
    pub fn of(classes: impl IntoIterator<Item = OwnerClass>) -> Self {
        let (mut is_held, mut going) = (false, None);
        for class in classes {
            match class {
                OwnerClass::Unresolvable => return Self::Undecidable,
                OwnerClass::Solid => is_held = true,
                OwnerClass::Waiting => going = Some(Going::UnderWaitingOwner),
                OwnerClass::Dangling => going = going.or(Some(Going::Unowned)),
            }
        }
        match going {
            None => Self::Stays,
            Some(_) if is_held => Self::LosesOwners,
            Some(going) => Self::Goes(going),
        }
    }
}

/// Whether the collector has yet to act on this object, or on its dependents if it orphans them.
/// An immortal namespace is never deleted, so nothing waits for that.
pub fn is_undecided(state: &State, object: &Object) -> bool {
    let owners = object.owners().iter();
    is_undecided_by(
        state,
        object,
        owners.map(|owner| classify(state, object, owner)),
    )
}

/// The same for a caller who may know the classes of its references already. If it is in deletion they do not matter.
pub(crate) fn is_undecided_by(
    state: &State,
    object: &Object,
    classes: impl IntoIterator<Item = OwnerClass>,
) -> bool {
    if object.is_deleting() {
        return object.is_orphaning() && state.dependents(&object.meta.uid).all > 0;
    }
    if state.is_orphaned(object) {
        return true;
    }
    let verdict = Verdict::of(classes);
    match verdict {
        Verdict::Undecidable | Verdict::Stays => false,
        Verdict::LosesOwners => true,
        Verdict::Goes(_) => !object.key.is_immortal(),
    }
}

/// What is above an object that still has influence on how it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Influence {
    /// Its owners, its service and its containers.
    All,
    /// Its containers alone.
    Containers,
    /// Nothing.
    Nothing,
}

/// What has influence on this object. The collector plans by this, and its steps are checked by it before they are
/// carried out. An object in deletion hides what is above it, which has no influence on the objects below any more. The
/// exceptions are the containers of an object that waits or orphans: when such a container is deleted, the object is
/// released, or orphans nothing.
pub fn influence_on(object: &Object) -> Influence {
    if !object.is_deleting() {
        Influence::All
    } else if object.is_waiting() || object.is_orphaning() {
        Influence::Containers
    } else {
        Influence::Nothing
    }
}

/// How the collector deletes an object that no owner holds: if an owner waits for it and it has dependents,
/// in the foreground. As upstream, an object whose reference gives its own uid counts as its own dependent here;
/// in the state's counts it does not.
pub fn policy_of_collection(state: &State, object: &Object, going: Going) -> Propagation {
    let uid = &object.meta.uid;
    let refers_to_itself = object.owners().iter().any(|owner| owner.uid == *uid);
    let has_dependents = refers_to_itself || state.dependents(uid).all > 0;
    if going == Going::UnderWaitingOwner && has_dependents {
        return Propagation::Foreground;
    }
    object.own_policy().unwrap_or(Propagation::Background)
}

/// Whether this dependent has to stop blocking its owners before it is deleted: it would wait for an object
/// that waits itself, which may be one of its owners.
pub fn would_close_a_cycle(state: &State, object: &Object) -> bool {
    let blocks = object.owners().iter().any(OwnerReference::blocks);
    blocks && state.has_waiting_dependent(&object.meta.uid)
}
