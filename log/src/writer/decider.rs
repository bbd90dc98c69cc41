//! Decides everything that waits, against the newest state, durable or not.

use super::room::{Room, are_deletions};
use super::{Batch, Submission, Submitted, WriteError};
use crate::Poison;
use crossbeam_channel::Receiver;
use hindsight_core::invariants::{self, Violation};
use hindsight_core::{
    Change, Command, Commit, Decision, Rejection, Revision, State, apply, decide,
};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A defect of a decision, found before it did harm.
fn refusal(violation: &Violation) -> Rejection {
    tracing::error!(%violation, "a decision was refused");
    Rejection::Internal(format!("nothing was written: {violation}"))
}

/// Commits in a batch; a single submission may exceed it.
const BATCH_COMMITS_MAX: usize = 4096;

pub(super) struct Decider {
    state: State,
    poison: Poison,
    room: Room,
    joined: BTreeSet<Revision>,
}

impl Decider {
    pub(super) const fn new(state: State, poison: Poison, room: Room) -> Self {
        Self {
            state,
            poison,
            room,
            joined: BTreeSet::new(),
        }
    }

    pub(super) fn batch(&mut self, first: Submission, waiting: &Receiver<Submission>) -> Batch {
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        let mut next = Some(first);
        let before = self.state.clone();
        let mut only_deletions = true;
        self.room.look();
        while let Some(submission) = next {
            let answer = if self.room.admits(&submission.commands) {
                only_deletions &= are_deletions(&submission.commands);
                self.decide_all(submission.commands, &mut changes)
            } else {
                Err(WriteError::Full)
            };
            answers.push((submission.reply, answer));
            let room = changes.len() < BATCH_COMMITS_MAX;
            next = room.then(|| waiting.try_recv().ok()).flatten();
        }
        if !self.room.take(&changes, only_deletions) {
            self.state = before;
            changes.clear();
            answers
                .iter_mut()
                .for_each(|(_, answer)| *answer = Err(WriteError::Full));
        }
        Batch {
            changes,
            joined: std::mem::take(&mut self.joined),
            state: self.state.clone(),
            answers,
        }
    }

    fn decide_all(&mut self, commands: Vec<Command>, changes: &mut Vec<Arc<Change>>) -> Submitted {
        let mut answers = Vec::with_capacity(commands.len());
        for command in commands {
            if let Some(reason) = self.poison.reason() {
                return Err(WriteError::Poisoned(reason.to_owned()));
            }
            answers.push(self.decide_one(command, changes)?);
        }
        Ok(answers)
    }

    /// A panic in a decision is a defect; it must not leave a half-decided world behind.
    fn decide_one(
        &mut self,
        command: Command,
        changes: &mut Vec<Arc<Change>>,
    ) -> Result<Result<Decision, Rejection>, WriteError> {
        let state = &self.state;
        let Ok(decided) = catch_unwind(AssertUnwindSafe(|| decide(state, command))) else {
            let reason = "a decision ended in a panic";
            self.poison.set(reason.into());
            return Err(WriteError::Poisoned(reason.into()));
        };
        Ok(
            decided.and_then(|decision| match self.take(&decision.commits, changes) {
                Ok(()) => Ok(decision),
                Err(violation) => Err(refusal(&violation)),
            }),
        )
    }

    /// All commits of a decision become part of the state, or none does.
    fn take(
        &mut self,
        commits: &[Arc<Commit>],
        changes: &mut Vec<Arc<Change>>,
    ) -> Result<(), Violation> {
        // A clone makes the next step copy what it touches; one commit alone needs none.
        let before = (commits.len() > 1).then(|| (self.state.clone(), changes.len()));
        for (index, commit) in commits.iter().enumerate() {
            if let Err(violation) = invariants::check(&self.state, commit) {
                if let Some((state, count)) = before {
                    self.state = state;
                    changes.truncate(count);
                }
                return Err(violation);
            }
            let previous = apply(&mut self.state, commit);
            if index > 0 {
                self.joined.insert(commit.revision);
            }
            let commit = Arc::clone(commit);
            changes.push(Arc::new(Change { commit, previous }));
        }
        Ok(())
    }
}
