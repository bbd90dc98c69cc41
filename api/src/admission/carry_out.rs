//! From an admitted write to its outcome: it is decided where a long one holds up nobody, and submitted to the writer
//! unless it is a dry run.

use super::room::computed_bytes;
use crate::backend::Backend;
use crate::offload::{LONG_BYTES, offload};
use crate::status::Failure;
use hindsight_core::command::{Evaluation, Passed};
use hindsight_core::{Command, Decision, Rejection, State, Unavailable, decide, decide_aside};
use std::sync::Arc;

/// Submits one command, or only decides it in a dry run. A command of a long request is decided first: what the
/// writer would refuse is then refused here, where it keeps no other write waiting.
pub(super) async fn carry_out(
    backend: &dyn Backend,
    command: Command,
    bytes: usize,
    dry_run: bool,
) -> Result<Result<Decision, Rejection>, Failure> {
    if dry_run {
        return only_decide(backend, command, bytes).await;
    }
    if bytes > LONG_BYTES {
        return decide_first(backend, command, bytes).await;
    }
    to_writer(backend, command, None).await
}

async fn only_decide(
    backend: &dyn Backend,
    command: Command,
    bytes: usize,
) -> Result<Result<Decision, Rejection>, Failure> {
    let state = backend.state();
    let bytes = computed_bytes(&state, &command, bytes);
    let decide_it = move || {
        let decided = decide(&state, command);
        decided.map(|decision| not_carried_out(&state, decision))
    };
    offload(bytes, decide_it).await
}

/// Decides a command where a long one holds up nobody, and submits it unless it is refused. There it is copied too, and
/// freed where it is refused.
async fn decide_first(
    backend: &dyn Backend,
    command: Command,
    bytes: usize,
) -> Result<Result<Decision, Rejection>, Failure> {
    let state = backend.state();
    let try_it = move || match decide_aside(&state, command.clone()) {
        (Ok(_), passed) => Ok((command, passed)),
        (Err(refused), _) => Err(refused),
    };
    match offload(bytes, try_it).await? {
        Ok((command, passed)) => to_writer(backend, command, passed).await,
        Err(refused) => Ok(Err(refused)),
    }
}

async fn to_writer(
    backend: &dyn Backend,
    mut command: Command,
    passed: Option<Passed>,
) -> Result<Result<Decision, Rejection>, Failure> {
    let passed = passed.map(|passed| Evaluation::Passed(Box::new(passed)));
    command.evaluation = passed.unwrap_or(Evaluation::Brief);
    let answers: Result<_, Unavailable> = backend.submit(vec![command]).await;
    let missing = || Failure::internal("the writer did not answer".into());
    answers?.pop().ok_or_else(missing)
}

/// The answer to a dry run, which moves no revision: the object keeps that of the state on which it was decided, and
/// a new one has none.
fn not_carried_out(state: &State, mut decision: Decision) -> Decision {
    if std::mem::take(&mut decision.commits).is_empty() {
        return decision;
    }
    let object = decision.outcome.object();
    let stored = state.get(&object.key).map(|stored| stored.revision);
    let shown = Arc::new(object.shown_at(stored));
    decision.outcome = decision.outcome.with_object(shown);
    decision
}
