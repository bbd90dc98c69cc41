//! Who decides and who syncs. Two threads do, and a batch goes from the one to the other. Where a
//! single submission is under way, handing over would cost more than it gains: whoever decided it
//! syncs it too, and that may be the thread that submitted it.

use super::decider::Decider;
use super::steps::Steps;
use super::syncer::Syncer;
use super::{BATCHES_AHEAD, Batch, Submission};
use crate::{Error, Poison};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::iter;
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
            let rest = self.waiting.try_iter();
            self.poison
                .guard("decider", || self.write_batch(front, first, rest));
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
        self.poison.guard("submitter", || {
            self.write_alone(front, submission);
        });
        Ok(())
    }

    /// The decider may have one in its hand that comes before all that wait.
    fn write_alone(&self, front: MutexGuard<'_, Front>, submission: Submission) {
        self.write_batch(front, submission, iter::empty());
    }

    fn write_batch(
        &self,
        mut front: MutexGuard<'_, Front>,
        first: Submission,
        rest: impl Iterator<Item = Submission>,
    ) {
        let batch = front.decider.batch(first, rest);
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

#[cfg(test)]
mod tests {
    use super::super::tests::{create, reply, start};
    use super::*;

    #[test]
    fn who_writes_alone_takes_nothing_that_the_decider_should_have_before() {
        let (writer, _) = start(&Arc::default());
        let entrance = writer.entrance.read().expect("unpoisoned");
        let crew = entrance.as_ref().and_then(|one| one.crew.clone());
        drop(entrance);
        let crew = crew.expect("threads");
        let front = crew.front.lock().expect("unpoisoned");
        let submit = |name: &str| {
            let (reply, answer) = reply();
            writer.submit(vec![create(name)], reply);
            answer
        };
        let in_its_hand = submit("b");
        while !crew.waiting.is_empty() {
            std::thread::yield_now();
        }
        let after_it = submit("c");
        let (reply, alone) = reply();
        let commands = vec![create("a")];
        crew.write_alone(front, Submission { commands, reply });
        let revisions = [alone, in_its_hand, after_it].map(|answer| {
            let answers = answer.recv().expect("an answer").expect("decided");
            answers[0].as_ref().expect("written").commits[0].revision.0
        });
        assert_eq!(revisions, [1, 2, 3]);
    }
}
