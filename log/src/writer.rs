//! The one writer: a thread that decides and a thread that syncs. While one batch is being synced, the
//! next is decided against the state that is not published yet. If nobody else is waiting, the thread
//! that decided also syncs, and a submitter that would only block does both itself.

mod appender;
mod decider;
mod draft;
mod pipeline;
mod queue_budget;
mod space_gate;
mod stages;
mod syncer;
#[cfg(test)]
mod tests;

use crate::storage::synced::Synced;
use crate::unpoisoned::unpoisoned;
use crate::{Base, Error, Log, Poison};
use appender::Appender;
use crossbeam_channel::{Sender, TrySendError, bounded};
use decider::Decider;
use hindsight_core::{Change, Command, Revision, State, Submitted, Unavailable};
use pipeline::Pipeline;
use queue_budget::QueueBudget;
use space_gate::{SpaceGate, Unstored};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use syncer::Syncer;

pub use stages::Stages;

/// The most submissions that may wait; one more is refused.
const QUEUE_SUBMISSIONS_MAX: usize = 4096;
/// Batches that may be decided ahead of the one being synced.
const BATCHES_AHEAD: usize = 1;
/// The most batches that wait to be stored while another is being decided: one in the hands of each thread that stores,
/// which may be a submitter's, and those between them.
const BATCHES_DECIDED_MAX: usize = BATCHES_AHEAD + 2;

/// Called once with the outcome: when it is durable, or was refused. Dropped without a call if a thread of the writer
/// panics.
pub type Reply = Box<dyn FnOnce(Submitted) + Send>;

/// Receives every batch once it is durable.
pub trait Publish: Send {
    /// Takes the state after the batch, and what changed. Nobody is answered before this returns.
    fn publish(&mut self, state: State, changes: Vec<Arc<Change>>);

    /// Called when all who waited for the batch have been answered: others may be woken now.
    fn answered(&mut self) {}
}

/// Takes submissions. Dropping it drains the queue and stops both threads.
#[derive(Debug)]
pub struct Writer {
    /// `None` once the writer has ended. Read-locked while a submission is handed in, or carried out by
    /// the thread that submits it.
    entrance: RwLock<Option<Entrance>>,
    budget: QueueBudget,
    threads: Mutex<Vec<JoinHandle<()>>>,
    poison: Poison,
    storage: Arc<Synced>,
}

/// The way in for submissions.
#[derive(Debug)]
struct Entrance {
    submissions: Sender<Submission>,
    /// `None` where the writer has no threads: [`Stages`] does their work.
    pipeline: Option<Arc<Pipeline>>,
}

pub(crate) struct Submission {
    pub(crate) commands: Vec<Command>,
    pub(crate) reply: Reply,
}

/// Commits that become durable together, and the replies that wait for them.
pub(crate) struct Batch {
    pub(crate) changes: Vec<Arc<Change>>,
    /// Those that were decided or submitted together with the commit before them, and are stored in the same
    /// frame as it.
    pub(crate) joined: BTreeSet<Revision>,
    /// The state after the last of them.
    pub(crate) state: State,
    pub(crate) answers: Vec<Answer>,
    pub(crate) unstored: Unstored,
}

/// What a submission came to, and where that is sent once it is durable.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) outcome: Submitted,
}

impl Answer {
    pub(crate) fn send(self) {
        (self.reply)(self.outcome);
    }
}

impl Writer {
    pub(crate) fn start(log: Log, publish: Box<dyn Publish>) -> Result<Self, Error> {
        let (writer, stages) = Self::by_stages(log, publish);
        let (pipeline, threads) = pipeline::start(stages, &writer.poison)?;
        if let Some(entrance) = &mut *unpoisoned(writer.entrance.write()) {
            entrance.pipeline = Some(pipeline);
        }
        *unpoisoned(writer.threads.lock()) = threads;
        Ok(writer)
    }

    pub(crate) fn by_stages(log: Log, publish: Box<dyn Publish>) -> (Self, Stages) {
        let Log {
            reader: _,
            since: _,
            storage,
            end: Base { state, hash, .. },
            snapshotter,
            poison,
        } = log;
        let (submissions, waiting) = bounded(QUEUE_SUBMISSIONS_MAX);
        let failure = poison.clone();
        let space = SpaceGate::new(Arc::clone(&storage) as _);
        let stages = Stages {
            waiting,
            decider: Decider::new(state, poison.clone(), space),
            decided: VecDeque::new(),
            syncer: Syncer {
                appender: Appender::new(Arc::clone(&storage) as _, hash),
                publish,
                poison,
                snapshotter,
            },
        };
        let entrance = Entrance {
            submissions,
            pipeline: None,
        };
        let writer = Self {
            entrance: RwLock::new(Some(entrance)),
            budget: QueueBudget::default(),
            threads: Mutex::default(),
            poison: failure,
            storage,
        };
        (writer, stages)
    }

    /// Whether the log has failed.
    pub const fn poison(&self) -> &Poison {
        &self.poison
    }

    /// Submits commands. What they come to is stored in one record, so that a crash leaves all of it or nothing, unless
    /// it takes more than 8 MiB. `reply` is called on a thread of the writer and must not block.
    pub fn submit(&self, commands: Vec<Command>, reply: Reply) {
        self.submit_by(commands, reply, |entrance, submission, _| {
            entrance.queue(submission);
        });
    }

    /// As [`Self::submit`], for callers that would only block: if nobody else is waiting, the caller's
    /// own thread decides, syncs, and calls `reply`.
    pub fn submit_here(&self, commands: Vec<Command>, reply: Reply) {
        self.submit_by(commands, reply, |entrance, submission, is_alone| {
            let queued = match &entrance.pipeline {
                Some(pipeline) if is_alone => pipeline.try_write_here(submission),
                _ => Err(submission),
            };
            if let Err(submission) = queued {
                entrance.queue(submission);
            }
        });
    }

    /// Whether it accepts no more submissions.
    pub fn is_closed(&self) -> bool {
        !matches!(self.entrance.try_read().as_deref(), Ok(Some(_)))
    }

    /// Carries out what was submitted, refuses what comes later, and releases the storage: readers are
    /// refused from then on, and the log may be opened again. Blocks until all of that is done, even if
    /// another thread began it.
    pub fn close(&self) {
        self.end();
        self.storage.close();
    }

    fn end(&self) {
        // Held until the end: a second caller waits for the first.
        let mut threads = unpoisoned(self.threads.lock());
        let entrance = unpoisoned(self.entrance.write()).take();
        let pipeline = entrance.and_then(|entrance| entrance.pipeline);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the event log ended in a panic");
            }
        }
        // This also drops the thread that writes snapshots, which asks the storage for free space.
        drop(pipeline);
    }

    fn submit_by(
        &self,
        commands: Vec<Command>,
        reply: Reply,
        hand_in: impl FnOnce(&Entrance, Submission, bool),
    ) {
        let Some((submission, is_alone)) = self.admit(commands, reply) else {
            return;
        };
        // The write lock is taken only to end the writer, so a failure means just that.
        match self.entrance.try_read().as_deref() {
            Ok(Some(entrance)) => hand_in(entrance, submission, is_alone),
            Ok(None) | Err(_) => (submission.reply)(Err(Unavailable::Stopping)),
        }
    }

    /// Reserves memory for the submission; also returns whether nobody else has any.
    fn admit(&self, commands: Vec<Command>, reply: Reply) -> Option<(Submission, bool)> {
        let Some(reserved) = self.budget.reserve(&commands) else {
            reply(Err(Unavailable::Overloaded));
            return None;
        };
        let is_alone = reserved.is_only();
        let reply: Reply = Box::new(move |outcome| {
            drop(reserved);
            reply(outcome);
        });
        Some((Submission { commands, reply }, is_alone))
    }
}

impl Entrance {
    fn queue(&self, submission: Submission) {
        match self.submissions.try_send(submission) {
            Ok(()) => {}
            Err(TrySendError::Full(refused)) => (refused.reply)(Err(Unavailable::Overloaded)),
            Err(TrySendError::Disconnected(refused)) => (refused.reply)(Err(Unavailable::Stopping)),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}
