//! The two threads. A batch goes from the one to the other, unless a single submission is under way:
//! then handing it over would cost more than it gains.

use super::decider::Decider;
use super::steps::Steps;
use super::syncer::Syncer;
use super::{BATCHES_AHEAD, Batch, Submission};
use crate::{Error, Poison};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Whoever syncs, and how many batches were handed over and are not settled. Only the thread that
/// decides hands over, so where it finds none the syncer is its own until it does.
struct Shared {
    syncer: Mutex<Syncer>,
    handed_over: AtomicUsize,
}

pub(super) fn start(steps: Steps, poison: &Poison) -> Result<Vec<JoinHandle<()>>, Error> {
    let (batches, decided) = bounded(BATCHES_AHEAD);
    let shared = Arc::new(Shared {
        syncer: Mutex::new(steps.syncer),
        handed_over: AtomicUsize::new(0),
    });
    let (decider, waiting) = (steps.decider, steps.waiting);
    let other = Arc::clone(&shared);
    Ok(vec![
        spawn("decider", poison, move || {
            shared.decide(decider, &waiting, &batches);
        })?,
        spawn("syncer", poison, move || other.sync(&decided))?,
    ])
}

impl Shared {
    /// Until nobody can submit any more.
    fn decide(
        &self,
        mut decider: Decider,
        waiting: &Receiver<Submission>,
        batches: &Sender<Batch>,
    ) {
        while let Ok(first) = waiting.recv() {
            let batch = decider.batch(first, waiting);
            let is_alone = batch.answers.len() == 1 && waiting.is_empty();
            if is_alone && self.handed_over.load(Ordering::Acquire) == 0 {
                self.settle(batch);
                continue;
            }
            self.handed_over.fetch_add(1, Ordering::Relaxed);
            if batches.send(batch).is_err() {
                return;
            }
        }
    }

    /// Until the decider is gone.
    fn sync(&self, decided: &Receiver<Batch>) {
        while let Ok(batch) = decided.recv() {
            self.settle(batch);
            self.handed_over.fetch_sub(1, Ordering::Release);
        }
    }

    fn settle(&self, batch: Batch) {
        let mut syncer = self.syncer.lock().unwrap_or_else(PoisonError::into_inner);
        syncer.settle(batch);
    }
}

/// A thread that ends in a panic takes the log with it.
fn spawn(
    name: &'static str,
    poison: &Poison,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let poison = poison.clone();
    let guarded = move || {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            poison.set(format!("its {name} ended in a panic"));
        }
    };
    std::thread::Builder::new()
        .name(name.into())
        .spawn(guarded)
        .map_err(Error::io(format!("starting the {name} thread")))
}
