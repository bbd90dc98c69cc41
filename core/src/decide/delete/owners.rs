//! The rules of the collector about owners: what it saw is looked for again, in the state that the decision is made
//! on.

use crate::classify::{Going, policy_of_collection, would_close_a_cycle};
use crate::command::{Delete, Propagation};
use crate::decide::Context;
use crate::decide::planned::{going, refuse_overtaken};
use crate::event::OwnerFinding;
use crate::object::Object;
use crate::{Rejection, Rule, State};

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
    let planned = if intent.rule == Rule::OwnerForeground {
        Going::UnderWaitingOwner
    } else {
        Going::Unowned
    };
    let findings = going(state, object, planned)?;
    goes_as_planned(state, object, planned, intent.propagation)?;
    Ok(findings)
}

/// Refuses a planned policy that is no longer the right one: the finalizers of the object have changed, or an owner
/// waits for it and it gained its first dependent or lost its last.
fn goes_as_planned(
    state: &State,
    object: &Object,
    going: Going,
    planned: Option<Propagation>,
) -> Result<(), Rejection> {
    let own = object.own_policy().unwrap_or(Propagation::Background);
    if policy_of_collection(state, object, going) != planned.unwrap_or(own) {
        let why = "its finalizers, or whether it has dependents, have changed";
        return Err(Rejection::stale(&object.key, why));
    }
    if going == Going::UnderWaitingOwner && would_close_a_cycle(state, object) {
        let why = "a dependent has come to wait, and it blocks its owners";
        return Err(Rejection::stale(&object.key, why));
    }
    Ok(())
}
