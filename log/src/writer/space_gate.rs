//! Refuses writes before the disk is full. Deletions continue in space reserved for them; writes continue
//! once there is space again.

#[cfg(test)]
mod tests;

use super::BATCHES_DECIDED_MAX;
use crate::{Purpose, Storage};
use hindsight_core::{Change, Command, Commit};
use std::sync::Arc;

/// Lets a batch through to be stored, or refuses it, by the space that it needs.
pub(super) struct SpaceGate {
    storage: Arc<dyn Storage>,
    /// The size of the smallest write in the refused batch: writes are let in again once there is space for
    /// that. It might have fitted; a larger write may have been the reason.
    refused: Option<usize>,
    /// The bytes of the newest batches that were decided, of which some may not be stored yet.
    in_flight: [usize; BATCHES_DECIDED_MAX],
}

impl SpaceGate {
    pub(super) const fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            refused: None,
            in_flight: [0; BATCHES_DECIDED_MAX],
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

    /// Checks, after a batch was decided and before it is stored, whether there is space for it, and
    /// counts it as in flight. `smallest_write` is the size of the smallest submission that is not a
    /// deletion, in bytes, if there is one.
    pub(super) fn admit(&mut self, changes: &[Arc<Change>], smallest_write: Option<usize>) -> bool {
        let bytes = estimated_bytes_of(changes);
        let is_admitted = bytes == 0
            || self.has(bytes, Purpose::Writes)
            || (smallest_write.is_none() && self.has(bytes, Purpose::Deletions));
        if is_admitted {
            self.in_flight.rotate_right(1);
            if let Some(newest) = self.in_flight.first_mut() {
                *newest = bytes;
            }
        } else if self.refused.is_none() {
            tracing::error!("the disk is full; accepting only deletions until there is space");
            self.refused = Some(smallest_write.unwrap_or(bytes));
        }
        is_admitted
    }

    fn has(&self, bytes: usize, purpose: Purpose) -> bool {
        let in_flight: usize = self.in_flight.iter().sum();
        self.storage.ensure_room(bytes + in_flight, purpose)
    }
}

/// An upper estimate of the bytes that the changes take in the log.
pub(super) fn estimated_bytes_of(changes: &[Arc<Change>]) -> usize {
    Commit::estimated_bytes_of_all(changes.iter().map(|change| &*change.commit))
}

/// Whether all commands are deletions, which continue on a full disk.
pub(super) fn are_deletions(commands: &[Command]) -> bool {
    commands
        .iter()
        .all(|command| command.intent.advances_deletion())
}
