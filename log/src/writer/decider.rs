//! Decides everything that waits, against the newest state, durable or not.

use super::{Batch, Poison, Submission, Submitted, WriteError, change};
use crate::frame::{self, Hash};
use crate::{Error, codec};
use crossbeam_channel::{Receiver, Sender};
use hindsight_core::{
    Change, Command, Commit, Decision, Rejection, Revision, State, apply, decide,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Commits in a batch; a single submission may exceed it.
const BATCH_COMMITS_MAX: usize = 4096;
/// Bytes of bodies in a frame; a single larger object has a frame of its own.
const FRAME_BYTES_MAX: usize = 64 << 10;

pub(super) struct Decider {
    state: State,
    hash: Hash,
    poison: Poison,
}

impl Decider {
    pub(super) const fn new(state: State, hash: Hash, poison: Poison) -> Self {
        Self {
            state,
            hash,
            poison,
        }
    }

    /// Until nobody can submit any more.
    pub(super) fn run(mut self, waiting: &Receiver<Submission>, batches: &Sender<Batch>) {
        while let Ok(first) = waiting.recv() {
            let batch = self.batch(first, waiting);
            if batches.send(batch).is_err() {
                return;
            }
        }
    }

    fn batch(&mut self, first: Submission, waiting: &Receiver<Submission>) -> Batch {
        let mut changes = Vec::new();
        let mut answers = Vec::new();
        let mut next = Some(first);
        while let Some(submission) = next {
            let answer = self.decide_all(&submission.commands, &mut changes);
            answers.push((submission.reply, answer));
            let room = changes.len() < BATCH_COMMITS_MAX;
            next = room.then(|| waiting.try_recv().ok()).flatten();
        }
        let frames = self.frames(&changes).unwrap_or_else(|error| {
            self.fail(&error.to_string());
            Vec::new()
        });
        Batch {
            frames,
            changes,
            state: self.state.clone(),
            answers,
        }
    }

    fn decide_all(&mut self, commands: &[Command], changes: &mut Vec<Arc<Change>>) -> Submitted {
        let mut answers = Vec::with_capacity(commands.len());
        for command in commands {
            if let Some(reason) = self.poison.get() {
                return Err(WriteError::Poisoned(reason.clone()));
            }
            answers.push(self.decide_one(command, changes)?);
        }
        Ok(answers)
    }

    /// A panic in a decision is a defect; it must not leave a half-decided world behind.
    fn decide_one(
        &mut self,
        command: &Command,
        changes: &mut Vec<Arc<Change>>,
    ) -> Result<Result<Decision, Rejection>, WriteError> {
        let state = &self.state;
        let Ok(decided) = catch_unwind(AssertUnwindSafe(|| decide(state, command))) else {
            let reason = "a decision ended in a panic";
            self.fail(reason);
            return Err(WriteError::Poisoned(reason.into()));
        };
        if let Ok(decision) = &decided {
            for commit in &decision.commits {
                changes.push(change(&self.state, commit.clone()));
                apply(&mut self.state, commit);
            }
        }
        Ok(decided)
    }

    fn frames(&mut self, changes: &[Arc<Change>]) -> Result<Vec<(Revision, Vec<u8>)>, Error> {
        let mut frames = Vec::new();
        let mut pending: Vec<Arc<Commit>> = Vec::new();
        let mut bytes = 0;
        for change in changes {
            let size = change.commit.object().map_or(0, |object| object.body.len()) + 256;
            if bytes + size > FRAME_BYTES_MAX && !pending.is_empty() {
                frames.extend(self.frame(&pending)?);
                pending.clear();
                bytes = 0;
            }
            bytes += size;
            pending.push(Arc::clone(&change.commit));
        }
        frames.extend(self.frame(&pending)?);
        Ok(frames)
    }

    fn frame(&mut self, commits: &[Arc<Commit>]) -> Result<Option<(Revision, Vec<u8>)>, Error> {
        let Some(first) = commits.first() else {
            return Ok(None);
        };
        let payload = codec::encode(commits)?;
        let count = u32::try_from(commits.len()).unwrap_or(u32::MAX);
        let bytes = frame::seal(first.revision, count, &self.hash, &payload);
        self.hash = frame::hash(&bytes);
        Ok(Some((first.revision, bytes)))
    }

    fn fail(&self, reason: &str) {
        tracing::error!(reason, "the event log is poisoned; it takes no more writes");
        self.poison.get_or_init(|| reason.to_owned());
    }
}
