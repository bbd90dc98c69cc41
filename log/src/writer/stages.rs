//! The writer without its threads: the holder chooses when a batch is decided and when it is synced. For
//! simulation, and for embedders with an event loop of their own.

use super::decider::Decider;
use super::syncer::Syncer;
use super::{BATCHES_DECIDED_MAX, Batch, Submission};
use crossbeam_channel::Receiver;
use std::collections::VecDeque;

/// Does the work of the two threads of a [`Writer`](super::Writer), one step at a time.
pub struct Stages {
    pub(super) waiting: Receiver<Submission>,
    pub(super) decider: Decider,
    pub(super) decided: VecDeque<Batch>,
    pub(super) syncer: Syncer,
}

impl std::fmt::Debug for Stages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stages").finish_non_exhaustive()
    }
}

impl Stages {
    /// Limits a frame of several decisions to about this many bytes before compression, so that even small objects fill
    /// several frames.
    #[must_use]
    pub fn with_frames_of(mut self, bytes_max: usize) -> Self {
        self.syncer.appender.bytes_max = bytes_max;
        self
    }

    /// Decides as many of the waiting submissions as fit into one batch. False if none are waiting, or if so many batches
    /// are decided already that the threads would block.
    pub fn decide(&mut self) -> bool {
        if self.decided.len() >= BATCHES_DECIDED_MAX {
            return false;
        }
        let Ok(first) = self.waiting.try_recv() else {
            return false;
        };
        let batch = self.decider.batch(first, self.waiting.try_iter());
        self.decided.push_back(batch);
        true
    }

    /// Makes the oldest decided batch durable, publishes it and answers it. False if there is none.
    pub fn sync(&mut self) -> bool {
        let batch = self.decided.pop_front();
        let found = batch.is_some();
        if let Some(batch) = batch {
            self.syncer.complete(batch);
        }
        found
    }
}
