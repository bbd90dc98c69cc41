//! A walk back through the log: each frame must be the one before the last.

use super::{Holds, Read, read};
use crate::frame::Hash;
use crate::{Error, Storage};
use hindsight_core::Revision;

/// The frame behind the one that is read next, on the way back.
#[derive(Default)]
pub(super) struct Behind(Option<(Revision, Hash, Holds)>);

impl Behind {
    /// Where there is nothing although there should be: before the first there is, and of an empty backup.
    pub(super) fn missing(&self, until: Revision) -> Option<Error> {
        let (_, previous, _) = self.0?;
        (previous != Hash::default()).then(|| Error::corrupt(until, "it is missing"))
    }

    /// Gives the frame back where it is the one before, or the one that stands for that since it was thinned.
    pub(super) fn follow(&mut self, storage: &dyn Storage, frame: Read) -> Result<Read, Error> {
        let Some((first, previous, holds)) = self.0 else {
            return Ok(self.noted(frame));
        };
        let skips = matches!(holds, Holds::Restored(_)) && frame.end < first;
        let frame = if skips || frame.end >= first {
            frame
        } else {
            standing_over(storage, frame, first)?
        };
        let is_over = matches!(frame.holds, Holds::Some(..)) && frame.end > first;
        if !is_over && (frame.hash != previous || frame.end > first) {
            let reason = "it does not follow the record before it";
            return Err(Error::corrupt(first, reason));
        }
        Ok(self.noted(frame))
    }

    fn noted(&mut self, frame: Read) -> Read {
        self.0 = Some((frame.first, frame.previous, frame.holds));
        frame
    }
}

/// What a thinned frame stands for may be there still, in parts.
fn standing_over(storage: &dyn Storage, frame: Read, first: Revision) -> Result<Read, Error> {
    let missing = frame.end;
    let mut before = frame.first;
    while before.0 > 1
        && let Some((at, bytes)) = storage.at_or_before(before.previous())?
    {
        let frame = read(&bytes, at)?;
        if matches!(frame.holds, Holds::Some(..)) && frame.end >= first {
            return Ok(frame);
        }
        before = at;
    }
    Err(Error::corrupt(missing, "it is missing"))
}
