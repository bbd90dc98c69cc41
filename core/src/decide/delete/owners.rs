//! The rules of the collector about owners: what it saw is looked for again, in the state that the decision is made
//! on.

use crate::classify::{Verdict, classify};
use crate::command::{Basis, Delete, Propagation};
use crate::decide::Context;
use crate::event::{OwnerClass, OwnerFinding};
use crate::object::{Object, ObjectKey};
use crate::state::{ABOVE_MAX, Obstacle};
use crate::{OwnerReference, Rejection, Rule, State};

/// Checks a deletion by a rule about owners: they must still be a reason for it, and the planned policy must still be
/// the right one. Returns what was found about the owners; nothing for any other rule.
pub(super) fn verified(
    context: Context<'_>,
    intent: &Delete,
    object: &Object,
) -> Result<Vec<OwnerFinding>, Rejection> {
    if !intent.rule.is_about_owners() {
        return Ok(Vec::new());
    }
    let state = context.state;
    if let Some(basis) = &intent.basis {
        refuse_overtaken(state, object, basis)?;
    }
    let waiting = intent.rule == Rule::OwnerForeground;
    let findings = going(state, object, waiting)?;
    goes_as_planned(state, object, (intent.propagation, waiting))?;
    Ok(findings)
}

/// Refuses a planned policy that is no longer the right one: the finalizers of the object have changed, or an owner
/// waits for it and it gained its first dependent or lost its last.
fn goes_as_planned(
    state: &State,
    object: &Object,
    (planned, waiting): (Option<Propagation>, bool),
) -> Result<(), Rejection> {
    let own = object.own_policy().unwrap_or(Propagation::Background);
    if state.policy_of_collection(object, waiting) != planned.unwrap_or(own) {
        let why = "its finalizers, or whether it has dependents, have changed";
        return Err(Rejection::stale(&object.key, why));
    }
    if waiting && state.would_close_a_cycle(object) {
        let why = "a dependent has come to wait, and it blocks its owners";
        return Err(Rejection::stale(&object.key, why));
    }
    Ok(())
}

/// The owners of a live object that no owner holds, and that none orphans; `waiting` says whether one waits for it.
pub(crate) fn going(
    state: &State,
    object: &Object,
    waiting: bool,
) -> Result<Vec<OwnerFinding>, Rejection> {
    refuse_marked(object)?;
    let findings = findings(state, object);
    let classes: Vec<OwnerClass> = findings.iter().map(|one| one.class).collect();
    if !state.is_orphaned(object) && Verdict::of(&classes) == (Verdict::Goes { waiting }) {
        return Ok(findings);
    }
    let why = if waiting {
        "its owners no longer wait for it"
    } else {
        "it has an owner"
    };
    Err(Rejection::stale(&object.key, why))
}

/// Refuses a step about the owners of an object that somebody deletes by now: that request says how it goes.
pub(crate) fn refuse_marked(object: &Object) -> Result<(), Rejection> {
    if object.is_deleting() {
        let why = "its deletion was requested meanwhile";
        return Err(Rejection::stale(&object.key, why));
    }
    Ok(())
}

/// Every owner reference with what it points at.
pub(crate) fn findings(state: &State, dependent: &Object) -> Vec<OwnerFinding> {
    let find = |owner: &OwnerReference| OwnerFinding {
        owner: owner.clone(),
        class: classify(state, dependent, owner),
    };
    dependent.owners().iter().map(find).collect()
}

/// Refuses a plan that a request has overtaken: the object refers to other owners than were looked at, or something
/// that comes before it has to be decided first.
pub(crate) fn refuse_overtaken(
    state: &State,
    object: &Object,
    basis: &Basis,
) -> Result<(), Rejection> {
    let seen = basis.seen.as_ref();
    if seen.is_some_and(|seen| seen.owners != object.meta.owner_references) {
        let why = "its owner references have changed";
        return Err(Rejection::stale(&object.key, why));
    }
    refuse_undecided_above(state, &object.key, basis)
}

/// Refuses a plan if something that comes before the object with this key has to be decided first, because of a
/// request since then.
pub(crate) fn refuse_undecided_above(
    state: &State,
    key: &ObjectKey,
    basis: &Basis,
) -> Result<(), Rejection> {
    let why = match state.undecided_since(key, basis) {
        None => return Ok(()),
        Some(Obstacle::Undecided(first)) => format!("{first} is decided first"),
        Some(Obstacle::TooMuchAbove) => format!(
            "{ABOVE_MAX} objects or more are above it, which a request since may have changed"
        ),
    };
    Err(Rejection::stale(key, why))
}
