//! The two functions that everything else serves: `decide`, which may refuse a command, and `apply`, which
//! may not refuse a commit.

use crate::command::{Intent, Passed};
use crate::decide::{self, Context, Envelope, OversizePolicy, Strictness};
use crate::{Command, Commit, Decision, Object, Rejection, State};
use std::cell::OnceCell;
use std::sync::Arc;

/// Decides a command against this state. Pure: the same arguments give the same answer.
pub fn decide(state: &State, command: Command) -> Result<Decision, Rejection> {
    carry_out(state, command, Strictness::Storage, None)
}

/// Like [`decide`], and returns what the writer need not evaluate again if it comes to the same object: to be submitted
/// with the command, in its [`evaluation`](Command::evaluation). `None` if there is nothing to spare.
pub fn decide_aside(
    state: &State,
    command: Command,
) -> (Result<Decision, Rejection>, Option<Passed>) {
    let passed = OnceCell::new();
    let decided = carry_out(state, command, Strictness::Storage, Some(&passed));
    (decided, passed.into_inner())
}

/// Like [`decide`], but lets an invalid object through: this is what mutating admission is shown, because
/// it may still correct it. The result must not be written.
pub fn draft(state: &State, command: Command) -> Result<Decision, Rejection> {
    carry_out(state, command, Strictness::Draft, None)
}

/// Like [`decide`], but lets a name through that is already taken: this is what validating admission is
/// shown, which upstream asks before its storage looks the name up. The result must not be written.
pub fn decide_before_storage(state: &State, command: Command) -> Result<Decision, Rejection> {
    carry_out(state, command, Strictness::Valid, None)
}

fn carry_out(
    state: &State,
    command: Command,
    strictness: Strictness,
    passed: Option<&OnceCell<Passed>>,
) -> Result<Decision, Rejection> {
    let (envelope, intent, admitted) = Envelope::split(command);
    let context = Context {
        state,
        envelope: &envelope,
        caused_by: None,
        strictness,
        is_mutated: admitted
            .as_ref()
            .is_some_and(|admitted| admitted.object.is_some()),
        oversize: OversizePolicy::of(&intent),
        passed,
    };
    let intent = match admitted {
        Some(admitted) => decide::as_admitted(context, intent, *admitted)?,
        None => intent,
    };
    let decision = match intent {
        Intent::Create(intent) => decide::create(context, intent),
        Intent::Update(intent) => decide::update(context, intent),
        Intent::Patch(intent) => decide::patch(context, &intent),
        Intent::Delete(intent) => decide::delete(context, &intent),
        Intent::Evict(intent) => decide::evict(context, &intent),
        Intent::Collect(step) => decide::collect(context, &step),
    };
    let decision = decide::with_endpoints_removed(context, decision?);
    decide::with_names_given_away(context, decision)
}

/// Applies a commit to the state and returns the version that it replaced. Total: every commit that was
/// ever stored applies.
pub fn apply(state: &mut State, commit: &Commit) -> Option<Arc<Object>> {
    let previous = match commit.object() {
        Some(object) => state.put(object),
        None => state.take(&commit.key),
    };
    state.note_held_owner(commit);
    state.note_definition(commit, previous.as_deref());
    state.note_references(commit);
    state.note_decided(commit, previous.as_deref());
    state.webhooks.note(commit);
    state.revision = commit.revision;
    previous
}
