//! Refuses writes before the disk is full. Deletions go on in what is kept for them, and writes
//! when there is room again.

#[cfg(test)]
mod tests;

use crate::{Purpose, Storage};
use hindsight_core::{Change, Command};
use std::sync::Arc;

/// Batches that were decided and may not be stored yet: the one that waits, the one that was taken to be
/// stored, and the one that a submitter stores itself.
const IN_FLIGHT: usize = super::BATCHES_AHEAD + 2;

pub(super) struct Admittance {
    storage: Arc<dyn Storage>,
    /// The smallest write that found no room, until there is room for it. It may have found none beside
    /// larger ones, which says nothing of itself.
    refused: Option<usize>,
    in_flight: [usize; IN_FLIGHT],
}

impl Admittance {
    pub(super) const fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            refused: None,
            in_flight: [0; IN_FLIGHT],
        }
    }

    /// Before a batch: a disk that was full may have room again.
    pub(super) fn look(&mut self) {
        if self
            .refused
            .is_some_and(|bytes| self.has(bytes, Purpose::Writes))
        {
            tracing::warn!("there is room on the disk again; writes go on");
            self.refused = None;
        }
    }

    /// Whether anything but deletions may be decided at all.
    pub(super) const fn admits_writes(&self) -> bool {
        self.refused.is_none()
    }

    /// After a batch was decided and before it is stored: whether it can be.
    /// Where there are writes among the deletions, the smallest is so many bytes.
    pub(super) fn take(&mut self, changes: &[Arc<Change>], smallest_write: Option<usize>) -> bool {
        let bytes = size_of(changes);
        let is_taken = bytes == 0
            || self.has(bytes, Purpose::Writes)
            || (smallest_write.is_none() && self.has(bytes, Purpose::Deletions));
        if is_taken {
            self.in_flight.rotate_right(1);
            if let Some(newest) = self.in_flight.first_mut() {
                *newest = bytes;
            }
        } else if self.refused.is_none() {
            tracing::error!("the disk is full; only deletions are written until there is room");
            self.refused = Some(smallest_write.unwrap_or(bytes));
        }
        is_taken
    }

    fn has(&self, bytes: usize, purpose: Purpose) -> bool {
        let in_flight: usize = self.in_flight.iter().sum();
        self.storage.has_room(bytes + in_flight, purpose)
    }
}

/// What the log takes for them at most, before it is compressed.
pub(super) fn size_of(changes: &[Arc<Change>]) -> usize {
    changes.iter().map(|change| change.commit.weight()).sum()
}

/// What goes on on a full disk.
pub(super) fn are_deletions(commands: &[Command]) -> bool {
    commands.iter().all(|command| command.intent.is_deletion())
}
