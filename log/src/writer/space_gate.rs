//! Refuses writes before the disk is full. Deletions continue in space reserved for them; writes continue
//! once there is space again.

#[cfg(test)]
mod tests;

use crate::{Purpose, Storage};
use hindsight_core::command::SpaceUse;
use hindsight_core::{Change, Command, Commit, Revision};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets a batch through to be stored, or refuses it, by the space that it needs.
pub(super) struct SpaceGate {
    storage: Arc<dyn Storage>,
    /// The size of the smallest write in the refused batch: writes are let in again once there is space for
    /// that. It might have fitted; a larger write may have been the reason.
    refused: Option<usize>,
    /// The bytes of all batches that were admitted and are not stored yet.
    unstored: Arc<AtomicUsize>,
}

/// The space of an admitted batch, which counts as taken until this is dropped. That must be once the batch is stored
/// and the storage itself counts it: counted twice, it would keep out a deletion for which there is space.
pub(crate) struct Unstored {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Drop for Unstored {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Release);
    }
}

impl SpaceGate {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            refused: None,
            unstored: Arc::default(),
        }
    }

    /// Checks, before a batch is decided, whether a disk that was full has space again.
    pub(super) fn check_space(&mut self) {
        if self
            .refused
            .is_some_and(|bytes| self.has(bytes, Purpose::Writes))
        {
            tracing::warn!("there is disk space again; accepting writes");
            self.refused = None;
        }
    }

    /// Whether commands other than deletions may be decided at all.
    pub(super) const fn admits_writes(&self) -> bool {
        self.refused.is_none()
    }

    /// Takes space for a batch of about so many bytes that was decided and is not stored yet; `None` if there is not
    /// enough. `smallest_write` is the size of the smallest submission that is not a deletion, in bytes, if there is
    /// one.
    pub(super) fn admit(
        &mut self,
        bytes: usize,
        smallest_write: Option<usize>,
    ) -> Option<Unstored> {
        let is_admitted = match smallest_write {
            None => self.has_space(bytes),
            Some(_) => bytes == 0 || self.has(bytes, Purpose::Writes),
        };
        if !is_admitted && self.refused.is_none() {
            if !self.is_new() {
                tracing::error!("the disk is full; accepting only deletions until there is space");
            }
            self.refused = Some(smallest_write.unwrap_or(bytes));
        }
        is_admitted.then(|| self.take(bytes))
    }

    /// Counts so many bytes as taken, without a question.
    pub(super) fn take(&self, bytes: usize) -> Unstored {
        self.unstored.fetch_add(bytes, Ordering::Relaxed);
        let all = Arc::clone(&self.unstored);
        Unstored { bytes, all }
    }

    /// Whether there is space for so many bytes of deletions.
    pub(super) fn has_space(&self, bytes: usize) -> bool {
        bytes == 0 || self.has(bytes, Purpose::Writes) || self.has(bytes, Purpose::Deletions)
    }

    /// Whether the log has no record yet: then its first start is refused, and nothing goes on.
    fn is_new(&self) -> bool {
        matches!(self.storage.at_or_before(Revision::MAX), Ok(None))
    }

    fn has(&self, bytes: usize, purpose: Purpose) -> bool {
        // What is stored by now is in what the storage finds below.
        let unstored = self.unstored.load(Ordering::Acquire);
        self.storage.ensure_space(bytes + unstored, purpose)
    }
}

/// An upper estimate of the bytes that the changes take in the log.
pub(super) fn estimated_bytes_of(changes: &[Arc<Change>]) -> usize {
    Commit::estimated_bytes_of_all(changes.iter().map(|change| &*change.commit))
}

/// How much may be rewritten in the space that is reserved for deletions. What is more would be tried again and again until
/// it had taken all of that, before a client deletes anything.
pub(super) const REWRITTEN_BYTES_MAX: usize = 64 << 10;

/// Whether all commands write objects anew that stay, on the way to the deletion of others.
pub(super) fn only_rewrite(commands: &[Command]) -> bool {
    let rewrites = |command: &Command| command.intent.space_use() == SpaceUse::Rewrite;
    commands.iter().all(rewrites)
}

/// Whether all commands are deletions, which continue on a full disk.
pub(super) fn are_deletions(commands: &[Command]) -> bool {
    commands
        .iter()
        .all(|command| command.intent.advances_deletion())
}
