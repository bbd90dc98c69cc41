//! The rules of the collector about owners: what it saw is looked for again, in the state that the decision is made
//! on.

use crate::classify::{Verdict, classify};
use crate::command::{Basis, Delete, Propagation};
use crate::decide::Context;
use crate::event::{OwnerClass, OwnerFinding};
use crate::object::{Object, ObjectKey};
use crate::{OwnerReference, Rejection, Rule, State};

/// The owners of an object that is to be deleted by a rule about owners, if they still give that rule, and the
/// object still goes in the way that was planned. Nothing for any other rule.
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
        refuse_overtaken(state, &object.key, basis)?;
    }
    let waiting = intent.rule == Rule::OwnerForeground;
    let findings = going(state, object, waiting)?;
    if waiting {
        goes_as_planned(state, object, intent.propagation)?;
    }
    Ok(findings)
}

/// Refuses to delete an object in this way if its owner waits for it and it would now go in another.
fn goes_as_planned(
    state: &State,
    object: &Object,
    planned: Option<Propagation>,
) -> Result<(), Rejection> {
    let foreground = Propagation::Foreground;
    let is_due = state.policy_of_collection(object, true) == foreground;
    if is_due != (planned == Some(foreground)) {
        let why = "whether it has dependents has changed";
        return Err(Rejection::stale(&object.key, why));
    }
    if state.would_close_a_cycle(object) {
        let why = "a dependent has come to wait, and it blocks its owners";
        return Err(Rejection::stale(&object.key, why));
    }
    Ok(())
}

/// The owners of an object that no owner holds, and that none orphans; `waiting` says whether one waits for it.
pub(crate) fn going(
    state: &State,
    object: &Object,
    waiting: bool,
) -> Result<Vec<OwnerFinding>, Rejection> {
    let findings = findings(state, object);
    let classes: Vec<OwnerClass> = findings.iter().map(|one| one.class).collect();
    let is_orphaned = findings
        .iter()
        .any(|one| state.is_orphaning(&one.owner.uid));
    if !is_orphaned && Verdict::of(&classes) == (Verdict::Goes { waiting }) {
        return Ok(findings);
    }
    let why = if waiting {
        "its owners no longer wait for it"
    } else {
        "it has an owner"
    };
    Err(Rejection::stale(&object.key, why))
}

/// Every owner reference with what it points at.
pub(crate) fn findings(state: &State, dependent: &Object) -> Vec<OwnerFinding> {
    let find = |owner: &OwnerReference| OwnerFinding {
        owner: owner.clone(),
        class: classify(state, dependent, owner),
    };
    dependent.owners().iter().map(find).collect()
}

/// Refuses a plan that a request has overtaken: something that comes before the object with this key has to be
/// decided first.
pub(crate) fn refuse_overtaken(
    state: &State,
    key: &ObjectKey,
    basis: &Basis,
) -> Result<(), Rejection> {
    let Some(first) = state.undecided_since(key, basis) else {
        return Ok(());
    };
    let why = format!("{} is decided first", first.key);
    Err(Rejection::stale(key, why))
}
