//! How much the collectors submit together.

use super::{BatchOutcome, Refusal};

/// The bytes of objects from which on no further step is submitted together with those before. Several times
/// as much fits into the window, from which the collectors learn what they wrote.
const PART_BYTES_MAX: usize = 4 << 20;
/// How much smaller the parts become for which there was no room on the disk.
const PART_SHRINKS: usize = 16;

/// The bytes of objects in one part: few while the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartBytes(usize);

impl Default for PartBytes {
    fn default() -> Self {
        Self(PART_BYTES_MAX)
    }
}

impl PartBytes {
    pub(super) const fn get(self) -> usize {
        self.0
    }

    /// Those of the next part, after one with this outcome.
    pub(super) fn after(self, outcome: BatchOutcome) -> Self {
        Self(match outcome {
            BatchOutcome::Progress => PART_BYTES_MAX.min(self.0 * 2),
            BatchOutcome::Refused(Refusal::NoRoom) => (self.0 / PART_SHRINKS).max(1),
            BatchOutcome::Idle | BatchOutcome::Refused(Refusal::Overloaded) => self.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_small_fast_where_there_is_no_room_and_large_again_as_they_are_written() {
        let no_room = BatchOutcome::Refused(Refusal::NoRoom);
        let overloaded = BatchOutcome::Refused(Refusal::Overloaded);
        for (before, outcome, next) in [
            (PART_BYTES_MAX, no_room, PART_BYTES_MAX / 16),
            (17, no_room, 1),
            (1, no_room, 1),
            (1, BatchOutcome::Progress, 2),
            (
                PART_BYTES_MAX / 2 + 1,
                BatchOutcome::Progress,
                PART_BYTES_MAX,
            ),
            (PART_BYTES_MAX, BatchOutcome::Progress, PART_BYTES_MAX),
            (7, BatchOutcome::Idle, 7),
            (7, overloaded, 7),
        ] {
            assert_eq!(
                PartBytes(before).after(outcome),
                PartBytes(next),
                "{outcome:?}"
            );
        }
        assert_eq!(PartBytes::default(), PartBytes(PART_BYTES_MAX));
    }
}
