//! The two stages of a write, deciding and syncing, and the threads that run them. Each stage has a thread,
//! and a batch passes from one to the other. If only a single submission is in progress, the hand-over
//! would cost more than it gains: the thread that decided it also syncs it, and that may be the thread that
//! submitted it.

use super::decider::Decider;
use super::stages::Stages;
use super::syncer::Syncer;
use super::{BATCHES_AHEAD, Batch, Submission};
use crate::{Error, Poison};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// Batches become durable in the order in which they were decided: only the holder of `decide_stage` decides
/// and hands over. It releases that lock only once it holds the syncer, or once the batch is in the queue of
/// the thread that syncs.
pub(super) struct Pipeline {
    decide_stage: Mutex<DecideStage>,
    syncer: Mutex<Syncer>,
    waiting: Receiver<Submission>,
    /// Batches that were handed over and are not settled yet.
    handed_over: AtomicUsize,
    poison: Poison,
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline").finish_non_exhaustive()
    }
}

/// What the holder of the lock needs to decide a batch and to hand it over.
struct DecideStage {
    decider: Decider,
    /// To the thread that syncs; `None` once the thread that decides has ended.
    batches: Option<Sender<Batch>>,
}

pub(super) fn start(
    stages: Stages,
    poison: &Poison,
) -> Result<(Arc<Pipeline>, Vec<JoinHandle<()>>), Error> {
    let (batches, decided) = bounded(BATCHES_AHEAD);
    let decide_stage = DecideStage {
        decider: stages.decider,
        batches: Some(batches),
    };
    let pipeline = Arc::new(Pipeline {
        decide_stage: Mutex::new(decide_stage),
        syncer: Mutex::new(stages.syncer),
        waiting: stages.waiting,
        handed_over: AtomicUsize::new(0),
        poison: poison.clone(),
    });
    let (deciding, syncing) = (Arc::clone(&pipeline), Arc::clone(&pipeline));
    // The one that ends without anybody's doing comes first: if there is no thread for the other, none is left behind
    // that still has the log.
    let syncer = Pipeline::spawn("syncer", move || syncing.sync(&decided))?;
    match Pipeline::spawn("decider", move || deciding.decide()) {
        Ok(decider) => Ok((pipeline, vec![decider, syncer])),
        Err(error) => {
            pipeline.recover_lock(pipeline.decide_stage.lock()).batches = None;
            syncer.join().ok();
            Err(error)
        }
    }
}

impl Pipeline {
    /// Runs until nobody can submit any more.
    fn decide(&self) {
        while let Ok(first) = self.waiting.recv() {
            let stage = self.recover_lock(self.decide_stage.lock());
            let rest = self.waiting.try_iter();
            self.poison
                .guard("decider", || self.write_batch(stage, first, rest));
        }
        self.recover_lock(self.decide_stage.lock()).batches = None;
    }

    /// Runs until the decider is gone.
    fn sync(&self, decided: &Receiver<Batch>) {
        while let Ok(batch) = decided.recv() {
            let mut syncer = self.recover_lock(self.syncer.lock());
            self.poison.guard("syncer", || syncer.complete(batch));
            self.handed_over.fetch_sub(1, Ordering::Release);
        }
    }

    /// Writes a submission on the thread that submits it. Returns it if another thread is deciding.
    pub(super) fn try_write_here(&self, submission: Submission) -> Result<(), Submission> {
        let stage = match self.decide_stage.try_lock() {
            Ok(stage) => stage,
            Err(TryLockError::Poisoned(poisoned)) => self.recover_lock(Err(poisoned)),
            Err(TryLockError::WouldBlock) => return Err(submission),
        };
        self.poison.guard("submitter", || {
            self.write_alone(stage, submission);
        });
        Ok(())
    }

    /// Takes none of the waiting submissions along: the decider may have received one that comes before
    /// all of them.
    fn write_alone(&self, stage: MutexGuard<'_, DecideStage>, submission: Submission) {
        self.write_batch(stage, submission, iter::empty());
    }

    fn write_batch(
        &self,
        mut stage: MutexGuard<'_, DecideStage>,
        first: Submission,
        rest: impl Iterator<Item = Submission>,
    ) {
        let batch = stage.decider.batch(first, rest);
        let is_alone = batch.answers.len() == 1 && self.waiting.is_empty();
        if is_alone
            && self.handed_over.load(Ordering::Acquire) == 0
            && let Ok(mut syncer) = self.syncer.try_lock()
        {
            drop(stage);
            syncer.complete(batch);
            return;
        }
        self.handed_over.fetch_add(1, Ordering::Relaxed);
        if let Some(batches) = &stage.batches {
            batches.send(batch).ok();
        }
    }

    /// Unwraps a lock. A thread that takes a lock released by a panic may get here before that panic's
    /// [`Poison::guard`] has set the reason.
    fn recover_lock<T>(&self, locked: Result<T, PoisonError<T>>) -> T {
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
    use super::super::Writer;
    use super::super::tests::{create, patch_nothing, reply, start};
    use super::*;
    use hindsight_core::Rejection;

    fn pipeline_of(writer: &Writer) -> Arc<Pipeline> {
        let entrance = writer.entrance.read().expect("unpoisoned");
        let pipeline = entrance.as_ref().and_then(|one| one.pipeline.clone());
        pipeline.expect("threads")
    }

    #[test]
    fn who_writes_alone_takes_nothing_that_the_decider_should_have_before() {
        let (writer, _) = start(&Arc::default());
        let pipeline = pipeline_of(&writer);
        let stage = pipeline.decide_stage.lock().expect("unpoisoned");
        let submit = |name: &str| {
            let (reply, answer) = reply();
            writer.submit(vec![create(name)], reply);
            answer
        };
        let in_its_hand = submit("b");
        while !pipeline.waiting.is_empty() {
            std::thread::yield_now();
        }
        let after_it = submit("c");
        let (reply, alone) = reply();
        let commands = vec![create("a")];
        pipeline.write_alone(stage, Submission { commands, reply });
        let revisions = [alone, in_its_hand, after_it].map(|answer| {
            let answers = answer.recv().expect("an answer").expect("decided");
            answers[0].as_ref().expect("written").commits[0].revision.0
        });
        assert_eq!(revisions, [1, 2, 3]);
    }

    /// Otherwise somebody would be told of a write that a crash takes back.
    #[test]
    fn an_answer_without_commits_waits_for_the_sync_of_what_it_is_based_on() {
        let (writer, _) = start(&Arc::default());
        let pipeline = pipeline_of(&writer);
        let write = |commands| {
            let stage = pipeline.decide_stage.lock().expect("unpoisoned");
            let (reply, answer) = reply();
            pipeline.write_alone(stage, Submission { commands, reply });
            answer
        };
        // Nothing is synced while this is held.
        let syncer = pipeline.syncer.lock().expect("unpoisoned");
        let written = write(vec![create("a")]);
        let based_on_it = write(vec![create("a"), patch_nothing("a")]);
        let early = [&written, &based_on_it].map(|answer| answer.try_recv().is_ok());
        drop(syncer);
        assert_eq!(early, [false, false]);
        let answers = based_on_it.recv().expect("an answer").expect("decided");
        let is_refused = matches!(answers[0], Err(Rejection::AlreadyExists { .. }));
        assert!(is_refused, "{answers:?}");
        let unchanged = answers[1].as_ref().expect("accepted");
        assert!(unchanged.commits.is_empty(), "{unchanged:?}");
        let written = written.try_recv().expect("it is told first");
        assert!(written.expect("decided")[0].is_ok());
    }
}
