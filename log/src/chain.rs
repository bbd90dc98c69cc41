//! Walks the log forward. Frames are fetched one after the other, then checked, hashed and decoded on all
//! cores; finally each is compared with the one before. On a long walk a separate thread reads ahead of
//! the consumer, if one can be started.

mod decoder;
mod links;
#[cfg(test)]
mod tests;

use crate::frame::decoded::FrameLinks;
use crate::{Error, Records};
use crossbeam_channel::Receiver;
pub(crate) use decoder::Decoder;
use decoder::{Decoded, start_thread};
use hindsight_core::Revision;
pub(crate) use links::Links;
use std::collections::VecDeque;
use std::sync::Arc;

/// A walk over frames, or over the links of frames alone.
pub(crate) struct Chain<F> {
    records: Arc<dyn Records>,
    source: Source<F>,
    ready: VecDeque<Decoded<F>>,
    links: Links,
    /// How far the frames are wanted.
    until: Revision,
    is_over: bool,
}

/// The source of decoded frames.
enum Source<F> {
    Inline(Decoder<F>),
    /// The thread that reads ahead on a long walk.
    ReadAhead(Receiver<Vec<Decoded<F>>>),
    Ended,
}

impl<F: AsRef<FrameLinks> + Send + 'static> Chain<F> {
    /// Walks through the frames of this decoder, of which the first is expected to follow these links.
    pub(crate) fn new(decoder: Decoder<F>, links: Links) -> Self {
        Self {
            records: Arc::clone(&decoder.records),
            until: decoder.last,
            source: Source::Inline(decoder),
            ready: VecDeque::new(),
            links,
            is_over: false,
        }
    }

    /// The next frame; `None` at the end of the log, and after a failure.
    pub(crate) fn advance(&mut self) -> Result<Option<F>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.step();
        self.is_over = !matches!(next, Ok(Some(_)));
        next
    }

    fn step(&mut self) -> Result<Option<F>, Error> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        let Some(Decoded { first, frame }) = self.ready.pop_front() else {
            // The rest may have been thinned into a frame that was passed.
            return self.links.end(&*self.records, self.until).map(|()| None);
        };
        let checked = match frame {
            Ok(frame) => {
                let followed = self.links.follow(&*self.records, frame.as_ref());
                followed.map(|()| frame)
            }
            Err(error) => Err(self.links.reason(&*self.records, first, error)),
        };
        if checked.is_err() {
            self.source = Source::Ended;
            self.ready.clear();
        }
        checked.map(Some)
    }

    fn fill(&mut self) -> Result<(), Error> {
        // An error leaves `Ended` in its place: nothing is read after it.
        match std::mem::replace(&mut self.source, Source::Ended) {
            Source::Inline(mut decoder) => {
                self.ready.extend(decoder.batch());
                self.source = if decoder.is_long() {
                    let ahead = decoder.read_ahead(start_thread);
                    ahead.map_or_else(Source::Inline, Source::ReadAhead)
                } else {
                    Source::Inline(decoder)
                };
            }
            Source::ReadAhead(batches) => {
                let batch = batches.recv().map_err(|_| {
                    Error::defect("reading ahead", "the thread that does so ended in a panic")
                })?;
                if !batch.is_empty() {
                    self.ready.extend(batch);
                    self.source = Source::ReadAhead(batches);
                }
            }
            Source::Ended => {}
        }
        Ok(())
    }
}
