//! What comes of a command on a state of one's own, which nobody else sees.

use crate::Step;
use hindsight_core::{
    Actor, Change, Command, Decision, Intent, Rejection, State, Time, apply, decide,
};
use std::sync::{Arc, LazyLock};

/// A step in nobody's name.
pub(crate) fn of_nobody(step: Step, now: Time) -> Command {
    Command {
        cause: step.cause,
        ..asked_by_nobody(step.intent, now)
    }
}

/// A request in nobody's name. Without a seed, for those that make an object are not tried.
pub(crate) fn asked_by_nobody(intent: Intent, now: Time) -> Command {
    static NOBODY: LazyLock<Arc<Actor>> = LazyLock::new(|| Arc::new(Actor::new("")));
    Command::new(Arc::clone(&NOBODY), now, [0; 16], intent)
}

/// Decides the command and makes what comes of it part of the state.
pub(crate) fn carry_out(
    state: &mut State,
    command: Command,
) -> Result<(Decision, Vec<Change>), Rejection> {
    let decision = decide(state, command)?;
    let changes = decision.commits.iter().map(|commit| Change {
        previous: apply(state, commit),
        commit: Arc::clone(commit),
    });
    let changes = changes.collect();
    Ok((decision, changes))
}
