//! Owners that only wait for each other are released in one decision: released one by one, some would be
//! left waiting for an owner that no longer waits itself, and which ones would be chance.

use super::{find, release_held};
use crate::command::{Deadlock, Target};
use crate::decide::Context;
use crate::decide::planned::refuse_undecided_above;
use crate::decide::sequence::Sequence;
use crate::object::{Object, ObjectKey, ServerFinalizer};
use crate::{Decision, Outcome, Rejection};

pub(super) fn break_deadlock(
    context: Context<'_>,
    deadlock: &Deadlock,
) -> Result<Decision, Rejection> {
    let Some(first) = deadlock.members.first() else {
        return Err(Rejection::Internal("the deadlock has no members".into()));
    };
    let mut bytes: usize = 0;
    for member in &deadlock.members {
        bytes = bytes.saturating_add(still_waits(context, member)?.body.len());
    }
    if deadlock.members.len() > 1 && bytes / 2 > Deadlock::BYTES_MAX {
        return Err(Rejection::stale(&first.key, "its members have grown"));
    }
    let mut outcome = Outcome::Updated(find(context, first)?.clone());
    let keys: Vec<&ObjectKey> = deadlock.members.iter().map(|one| &one.key).collect();
    refuse_undecided_above(context.state, &keys, &deadlock.basis)?;
    let mut sequence = Sequence::on(context.state);
    for member in &deadlock.members {
        let is_first = sequence.commits().is_empty();
        // The first release keeps the cause that completed the cycle; the others name the first as their cause.
        let context = Context {
            caused_by: sequence.commits().first().map(|commit| commit.revision),
            ..sequence.context(context)
        };
        let held_by = ServerFinalizer::Foreground;
        let owner = find(context, member)?;
        let decision = release_held(context, owner, held_by, &deadlock.basis)?;
        if is_first {
            outcome = decision.outcome;
        }
        sequence.add(decision.commits);
    }
    Ok(Decision::new(sequence.into_commits(), outcome))
}

fn still_waits<'a>(context: Context<'a>, member: &Target) -> Result<&'a Object, Rejection> {
    if context.state.get(&member.key).is_none() {
        return Err(Rejection::stale(&member.key, "it is gone"));
    }
    let object = find(context, member)?;
    if object.is_waiting() {
        return Ok(object);
    }
    Err(Rejection::stale(&object.key, "it no longer waits"))
}
