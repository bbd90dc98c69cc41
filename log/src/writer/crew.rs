//! Who decides and who syncs. Two threads do, and a batch goes from the one to the other. Where a
//! single submission is under way, handing over would cost more than it gains: whoever decided it
//! syncs it too, and that may be the thread that submitted it.

use super::decider::Decider;
use super::steps::Steps;
use super::syncer::Syncer;
use super::{BATCHES_AHEAD, Batch, Submission};
use crate::{Error, Poison};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// Batches become durable in the order in which they were decided: whoever holds the front is the only
/// one to decide and to hand over, and lets it go only when the syncer is theirs or the batch is in the
/// other thread's queue.
pub(super) struct Crew {
    front: Mutex<Front>,
    syncer: Mutex<Syncer>,
    waiting: Receiver<Submission>,
    /// Batches that were handed over and are not settled.
    handed_over: AtomicUsize,
    poison: Poison,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").finish_non_exhaustive()
    }
}

struct Front {
    decider: Decider,
    /// To the thread that syncs, until the one that decides has ended.
    batches: Option<Sender<Batch>>,
}

pub(super) fn start(
    steps: Steps,
    poison: &Poison,
) -> Result<(Arc<Crew>, Vec<JoinHandle<()>>), Error> {
    let (batches, decided) = bounded(BATCHES_AHEAD);
    let front = Front {
        decider: steps.decider,
        batches: Some(batches),
    };
    let crew = Arc::new(Crew {
        front: Mutex::new(front),
        syncer: Mutex::new(steps.syncer),
        waiting: steps.waiting,
        handed_over: AtomicUsize::new(0),
        poison: poison.clone(),
    });
    let (one, other) = (Arc::clone(&crew), Arc::clone(&crew));
    let threads = vec![
        Crew::spawn("decider", move || one.decide())?,
        Crew::spawn("syncer", move || other.sync(&decided))?,
    ];
    Ok((crew, threads))
}

impl Crew {
    /// Until nobody can submit any more.
    fn decide(&self) {
        while let Ok(first) = self.waiting.recv() {
            let front = self.taken(self.front.lock());
            self.poison
                .guard("decider", || self.write_batch(front, first));
        }
        self.taken(self.front.lock()).batches = None;
    }

    /// Until the decider is gone.
    fn sync(&self, decided: &Receiver<Batch>) {
        while let Ok(batch) = decided.recv() {
            let mut syncer = self.taken(self.syncer.lock());
            self.poison.guard("syncer", || syncer.settle(batch));
            self.handed_over.fetch_sub(1, Ordering::Release);
        }
    }

    /// On the thread that submits; given back where the front is somebody else's.
    pub(super) fn serve(&self, submission: Submission) -> Result<(), Submission> {
        let front = match self.front.try_lock() {
            Ok(front) => front,
            Err(TryLockError::Poisoned(poisoned)) => self.taken(Err(poisoned)),
            Err(TryLockError::WouldBlock) => return Err(submission),
        };
        self.poison
            .guard("submitter", || self.write_batch(front, submission));
        Ok(())
    }

    fn write_batch(&self, mut front: MutexGuard<'_, Front>, first: Submission) {
        let batch = front.decider.batch(first, &self.waiting);
        let is_alone = batch.answers.len() == 1 && self.waiting.is_empty();
        if is_alone
            && self.handed_over.load(Ordering::Acquire) == 0
            && let Ok(mut syncer) = self.syncer.try_lock()
        {
            drop(front);
            syncer.settle(batch);
            return;
        }
        self.handed_over.fetch_add(1, Ordering::Relaxed);
        if let Some(batches) = &front.batches {
            batches.send(batch).ok();
        }
    }

    /// Whoever takes what a panic let go may be here before its [`Poison::guard`] is.
    fn taken<T>(&self, locked: Result<T, PoisonError<T>>) -> T {
        locked.unwrap_or_else(|poisoned| {
            self.poison.set("a thread of it ended in a panic".into());
            poisoned.into_inner()
        })
    }

    fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
        std::thread::Builder::new()
            .name(name.into())
            .spawn(run)
            .map_err(Error::io(format!("starting the {name} thread")))
    }
}
