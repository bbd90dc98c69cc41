//! A walk for a fold, which goes on although the log is thinned meanwhile.

use super::Reader;
use crate::chain::{Chain, Decoder, Links};
use crate::frame::decoded::DecodedFrame;
use crate::{Error, Records};
use hindsight_core::Revision;
use std::sync::Arc;

/// How often in a row a walk begins again at one place: more than once only if what it finds there is replaced, too,
/// before it is read.
const AGAIN_MAX: usize = 8;

/// Frames, oldest first. Where thinning puts the next one into an earlier one meanwhile, the walk goes on with that:
/// what it keeps beyond the frames that were passed completes the state at its floor, and a fold passes over the rest.
pub(super) struct ResumedFrames {
    records: Arc<dyn Records>,
    chain: Chain<DecodedFrame>,
    /// The first revision that no frame held so far.
    next: Revision,
    until: Revision,
    again: usize,
}

impl Reader {
    /// The frames that hold revisions from `from` to `until`, and at most one behind them.
    pub(super) fn resumed_frames(&self, from: Revision, until: Revision) -> ResumedFrames {
        let records = Arc::clone(self.records());
        ResumedFrames {
            chain: chain(&records, from, until),
            records,
            next: from,
            until,
            again: 0,
        }
    }
}

fn chain(records: &Arc<dyn Records>, from: Revision, until: Revision) -> Chain<DecodedFrame> {
    let decoder = Decoder::within(Arc::clone(records), from);
    Chain::new(decoder.until(until), Links::containing(from))
}

impl Iterator for ResumedFrames {
    type Item = Result<DecodedFrame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.chain.advance() {
                Err(Error::Pruned(_)) if self.again < AGAIN_MAX => {
                    self.again += 1;
                    self.chain = chain(&self.records, self.next, self.until);
                }
                Ok(Some(frame)) => {
                    if frame.links.end > self.next {
                        self.next = frame.links.end;
                        self.again = 0;
                    }
                    return Some(Ok(frame));
                }
                ended => return ended.transpose(),
            }
        }
    }
}
