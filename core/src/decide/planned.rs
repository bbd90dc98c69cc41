//! What a collector planned is decided later than it was planned: each step looks again for what it rests on, and is
//! refused as stale if that has changed.

use super::Context;
use crate::classify::{Going, Verdict, classify};
use crate::command::Basis;
use crate::event::{Cause, OwnerFinding};
use crate::object::{Object, ObjectKey};
use crate::state::{ABOVE_MAX, Obstacle, REFERENCES_ABOVE_MAX};
use crate::{OwnerReference, Rejection, State};

impl Context<'_> {
    /// The context of a planned step about this object. If the cause is the version of the object that the plan
    /// saw, it becomes the newest version.
    pub(super) fn because_of(self, basis: &Basis, object: &Object) -> Self {
        let seen = basis.seen.as_ref();
        if seen.is_some_and(|seen| self.cause() == Cause::Commit(seen.revision)) {
            return Self {
                caused_by: Some(object.revision),
                ..self
            };
        }
        self
    }
}

/// The owners of a live object that goes as was planned, and that none orphans.
pub(super) fn going(
    state: &State,
    object: &Object,
    planned: Going,
) -> Result<Vec<OwnerFinding>, Rejection> {
    refuse_marked(object)?;
    let findings = findings(state, object);
    let verdict = Verdict::of(findings.iter().map(|one| one.class));
    if !state.is_orphaned(object) && verdict == Verdict::Goes(planned) {
        return Ok(findings);
    }
    let why = match planned {
        Going::UnderWaitingOwner => "its owners no longer wait for it",
        Going::Unowned => "it has an owner",
    };
    Err(Rejection::stale(&object.key, why))
}

/// Refuses a step about the owners of an object that somebody deletes by now: that request says how it goes.
pub(super) fn refuse_marked(object: &Object) -> Result<(), Rejection> {
    if object.is_deleting() {
        let why = "its deletion was requested meanwhile";
        return Err(Rejection::stale(&object.key, why));
    }
    Ok(())
}

/// Every owner reference with what it points at.
pub(super) fn findings(state: &State, dependent: &Object) -> Vec<OwnerFinding> {
    let find = |owner: &OwnerReference| OwnerFinding {
        owner: owner.clone(),
        class: classify(state, dependent, owner),
    };
    dependent.owners().iter().map(find).collect()
}

/// Refuses a plan that a request has overtaken: the object refers to other owners than were looked at, or something
/// that comes before it has to be decided first.
pub(super) fn refuse_overtaken(
    state: &State,
    object: &Object,
    basis: &Basis,
) -> Result<(), Rejection> {
    let seen = basis.seen.as_ref();
    if seen.is_some_and(|seen| seen.owners != object.meta.owner_references) {
        let why = "its owner references have changed";
        return Err(Rejection::stale(&object.key, why));
    }
    refuse_undecided_above(state, &[&object.key], basis)
}

/// Refuses a plan if something that comes before the objects with these keys has to be decided first, because of a
/// request since then. What is above several of them is passed once.
pub(super) fn refuse_undecided_above(
    state: &State,
    keys: &[&ObjectKey],
    basis: &Basis,
) -> Result<(), Rejection> {
    let Some(key) = keys.first() else {
        return Ok(());
    };
    let why = match state.undecided_since(keys, basis) {
        None => return Ok(()),
        Some(Obstacle::Undecided(first)) => format!("{first} is decided first"),
        Some(Obstacle::TooMuchAbove) => format!(
            "{ABOVE_MAX} objects or more are above it, or more than {REFERENCES_ABOVE_MAX} references, \
             which a request since may have changed"
        ),
    };
    Err(Rejection::stale(key, why))
}
