//! Carries out commands on a private copy of the state.

use crate::Step;
use hindsight_core::{
    Actor, Change, Command, Decision, Intent, Rejection, State, Time, apply, decide,
};
use std::sync::{Arc, LazyLock};

/// The command for a step, by an anonymous actor.
pub(crate) fn anonymous_command(step: Step, now: Time) -> Command {
    Command {
        cause: step.cause,
        ..anonymous_request(step.intent, now)
    }
}

/// A request by an anonymous actor. Without a seed, because requests that create objects are not tried.
pub(crate) fn anonymous_request(intent: Intent, now: Time) -> Command {
    static NOBODY: LazyLock<Arc<Actor>> = LazyLock::new(|| Arc::new(Actor::new("")));
    Command::new(Arc::clone(&NOBODY), now, [0; 16], intent)
}

/// Decides the command and applies its commits to the state.
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
