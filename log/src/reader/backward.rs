//! Walks the log backward: each frame must be the predecessor of the one read before it.

use crate::frame::Hash;
use crate::frame::decoded::{Coverage, DecodedFrame, read};
use crate::{Error, Records};
use hindsight_core::Revision;

/// Checks that each frame precedes the one that was read before it.
#[derive(Default)]
pub(super) struct BackwardLinks {
    /// The frame that was read last; `None` before the first.
    successor: Option<Successor>,
}

/// What a frame says of the one before it in the log.
#[derive(Clone, Copy)]
struct Successor {
    first: Revision,
    previous: Hash,
    coverage: Coverage,
}

impl BackwardLinks {
    /// The error for a missing frame, where there should be one: the frame read last has a predecessor.
    pub(super) fn missing(&self, until: Revision) -> Option<Error> {
        (self.successor?.previous != Hash::default()).then(|| Error::absent_record(until))
    }

    /// Returns the frame if it is the predecessor, or else the thinned frame that has replaced the
    /// predecessor.
    pub(super) fn follow(
        &mut self,
        records: &dyn Records,
        frame: DecodedFrame,
    ) -> Result<DecodedFrame, Error> {
        let Some(successor) = self.successor else {
            return Ok(self.remember(frame));
        };
        let Successor {
            first,
            previous,
            coverage,
        } = successor;
        let skips = matches!(coverage, Coverage::Restored(_)) && frame.links.end < first;
        let frame = if skips || frame.links.end >= first {
            frame
        } else {
            find_thinned_frame(records, frame, first)?
        };
        let is_over = frame.links.is_thinned() && frame.links.end > first;
        if !is_over && (frame.links.hash != previous || frame.links.end > first) {
            return Err(Error::unchained(first));
        }
        Ok(self.remember(frame))
    }

    fn remember(&mut self, frame: DecodedFrame) -> DecodedFrame {
        self.successor = Some(Successor {
            first: frame.links.first,
            previous: frame.links.previous,
            coverage: frame.links.coverage,
        });
        frame
    }
}

/// Looks further back for a thinned frame up to `first`: some of the frames that it replaces may still be
/// stored.
fn find_thinned_frame(
    records: &dyn Records,
    frame: DecodedFrame,
    first: Revision,
) -> Result<DecodedFrame, Error> {
    let missing = frame.links.end;
    let mut before = frame.links.first;
    while before.0 > 1
        && let Some((at, bytes)) = records.at_or_before(before.previous())?
    {
        let frame = read(at, &bytes)?;
        if frame.links.is_thinned() && frame.links.end >= first {
            return Ok(frame);
        }
        before = at;
    }
    Err(Error::absent_record(missing))
}
