//! Walks the log forward. Frames are fetched one after the other, then checked, hashed and decoded on all
//! cores; finally each is compared with the one before. On a long walk a separate thread reads ahead of
//! the consumer.

#[cfg(test)]
mod tests;

use crate::frame::decoded::{Coverage, DecodedFrame, read, read_links, weight};
use crate::frame::{self, Hash};
use crate::storage::Stored;
use crate::{Error, Records, Tail, parallel};
use crossbeam_channel::{Receiver, bounded};
use hindsight_core::{Pruned, Revision};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most frames that are decoded together; a walk that ends early has not read far ahead.
const BATCH_FRAMES_MAX: usize = 64;
/// The most bytes that are decoded together, counted uncompressed; a single larger frame is a batch of
/// its own.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Batches that are read on the caller's thread first: most walks are short.
const BATCHES_INLINE: usize = 16;
/// Batches that a long walk reads ahead.
const BATCHES_AHEAD: usize = 2;

pub(crate) struct Chain {
    records: Arc<dyn Records>,
    source: Source,
    ready: VecDeque<Decoded>,
    links: Links,
}

/// What is stored under a revision, once it was decoded.
struct Decoded {
    first: Revision,
    frame: Result<DecodedFrame, Error>,
}

/// The source of decoded frames.
enum Source {
    Inline(Decoder),
    /// The thread that reads ahead on a long walk; it ends once the receiver is dropped. An empty batch
    /// means the end of the log, a disconnect means that the thread panicked.
    ReadAhead(Receiver<Vec<Decoded>>),
    Ended,
}

impl Chain {
    /// Walks from the frame that holds this revision.
    pub(crate) fn new(records: Arc<dyn Records>, from: Revision) -> Self {
        Self {
            source: Source::Inline(Decoder::within(Arc::clone(&records), from)),
            records,
            ready: VecDeque::new(),
            links: Links::default(),
        }
    }

    /// Stops after the first frame that begins behind `last`.
    pub(crate) fn until(mut self, last: Revision) -> Self {
        if let Source::Inline(decoder) = &mut self.source {
            decoder.last = last;
        }
        self
    }

    /// Walks the frames after `tail`.
    pub(crate) fn after(records: Arc<dyn Records>, tail: Tail) -> Self {
        let next = tail.revision.next();
        Self {
            source: Source::Inline(Decoder::new(Arc::clone(&records), next)),
            records,
            ready: VecDeque::new(),
            links: Links::after(tail),
        }
    }

    /// Leaves out the commits of whole frames.
    pub(crate) fn links_only(mut self) -> Self {
        if let Source::Inline(decoder) = &mut self.source {
            decoder.read = read_links;
        }
        self
    }

    /// The next frame; `None` at the end of the log.
    pub(crate) fn advance(&mut self) -> Result<Option<DecodedFrame>, Error> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        let Some(Decoded { first, frame }) = self.ready.pop_front() else {
            return Ok(None);
        };
        let checked = match frame {
            Ok(frame) => self.links.follow(&*self.records, first, frame),
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
                self.ready.extend(decoder.batch()?);
                let is_long = decoder.batches > BATCHES_INLINE;
                // The thread that reads ahead would wait for the pool, and this one for it.
                self.source = if is_long && !parallel::is_in_pool() {
                    decoder.read_ahead()?
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

/// Checks that each frame follows the one before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// The end of the frame before; `None` if any frame may come first.
    before: Option<Tail>,
}

impl Links {
    /// Expects the frame after `tail`.
    pub(crate) const fn after(tail: Tail) -> Self {
        Self { before: Some(tail) }
    }

    /// The first revision of the frame that is expected.
    fn wanted(&self) -> Option<Revision> {
        self.before.map(|before| before.revision.next())
    }

    /// Returns the frame if it follows the previous one. If the frame that was expected has been thinned
    /// meanwhile, the error says so.
    pub(crate) fn follow(
        &mut self,
        records: &dyn Records,
        first: Revision,
        frame: DecodedFrame,
    ) -> Result<DecodedFrame, Error> {
        let followed = self.check(first, frame);
        if followed.is_err() {
            self.check_not_thinned(records)?;
        }
        followed
    }

    /// The error for a frame that could not be read: it is damaged, or it has been thinned meanwhile.
    fn reason(&self, records: &dyn Records, first: Revision, error: Error) -> Error {
        check_not_covered(records, self.wanted().unwrap_or(first))
            .err()
            .unwrap_or(error)
    }

    /// As [`Self::follow`], for a log that nobody thins meanwhile.
    pub(crate) fn check(
        &mut self,
        first: Revision,
        frame: DecodedFrame,
    ) -> Result<DecodedFrame, Error> {
        let wanted = self.wanted().unwrap_or(first);
        let hash = self.before.map_or(frame.previous, |before| before.hash);
        let skips = matches!(frame.coverage, Coverage::Restored(_)) && wanted < first;
        if wanted != first && !skips {
            let reason = format!("it is missing, and the next one is at revision {first}");
            return Err(Error::corrupt(wanted, reason));
        }
        if hash != frame.previous || (first == Revision(1) && hash != Hash::default()) {
            return Err(Error::unchained(first));
        }
        self.before = Some(frame.tail());
        Ok(frame)
    }

    /// Checks, where no frame was found up to `until` although one was expected, whether it has been
    /// thinned meanwhile.
    pub(crate) fn end(&self, records: &dyn Records, until: Revision) -> Result<(), Error> {
        match self.wanted() {
            Some(wanted) if wanted <= until => self.check_not_thinned(records),
            Some(_) | None => Ok(()),
        }
    }

    /// Fails with [`Error::Pruned`] if the expected frame was thinned while the log was being read.
    fn check_not_thinned(&self, records: &dyn Records) -> Result<(), Error> {
        self.wanted()
            .map_or(Ok(()), |wanted| check_not_covered(records, wanted))
    }
}

/// Fails with [`Error::Pruned`] if a thinned frame has replaced the one that held this revision.
fn check_not_covered(records: &dyn Records, wanted: Revision) -> Result<(), Error> {
    let Some((first, bytes)) = records.at_or_before(wanted)? else {
        return Ok(());
    };
    let frame = read(first, &bytes)?;
    if frame.is_thinned() && wanted < frame.end {
        return Err(Error::Pruned(Pruned {
            asked: wanted,
            floor: frame.stated_floor(),
        }));
    }
    Ok(())
}

/// Fetches one frame after the other; they are checked, hashed and decoded on all cores.
struct Decoder {
    records: Arc<dyn Records>,
    /// Where to fetch next; `None` at the end or after a failure.
    next: Option<Revision>,
    /// Only one frame that begins behind this revision is fetched: a fold may need to see what it
    /// replaces.
    last: Revision,
    /// Whether the first frame may begin before `next` and only contain it.
    within: bool,
    read: fn(Revision, &[u8]) -> Result<DecodedFrame, Error>,
    size: usize,
    batches: usize,
}

impl Decoder {
    fn new(records: Arc<dyn Records>, from: Revision) -> Self {
        Self {
            records,
            next: Some(from),
            last: Revision::MAX,
            within: false,
            read,
            size: 1,
            batches: 0,
        }
    }

    /// As [`Self::new`], but begins with the frame that contains the revision.
    fn within(records: Arc<dyn Records>, from: Revision) -> Self {
        Self {
            within: true,
            ..Self::new(records, from)
        }
    }

    /// The next frames; empty at the end of the log.
    fn batch(&mut self) -> Result<Vec<Decoded>, Error> {
        let mut fetched = Vec::with_capacity(self.size);
        let mut bytes_held = 0;
        while fetched.len() < self.size && bytes_held < BATCH_BYTES_MAX {
            let Some(from) = self.next.take() else { break };
            let Some((first, bytes)) = self.fetch(from)? else {
                break;
            };
            self.next = frame::end(first, &bytes).filter(|_| first <= self.last);
            bytes_held += weight(first, &bytes);
            fetched.push((first, bytes));
        }
        self.size = (self.size * 2).min(BATCH_FRAMES_MAX);
        self.batches += 1;
        let read = self.read;
        let decode = |(first, bytes): Stored| Decoded {
            first,
            frame: read(first, &bytes),
        };
        Ok(parallel::map(fetched, decode))
    }

    /// Fetches the next frame: the first may contain `from`, every other begins where the one before
    /// ended.
    fn fetch(&mut self, from: Revision) -> Result<Option<Stored>, Error> {
        if std::mem::take(&mut self.within)
            && let Some(found) = self.records.at_or_before(from)?
        {
            return Ok(Some(found));
        }
        self.records.at_or_after(from)
    }

    /// Moves the rest of the walk to a thread of its own.
    fn read_ahead(mut self) -> Result<Source, Error> {
        let (sender, batches) = bounded(BATCHES_AHEAD);
        let run = move || {
            loop {
                let first = self.next.unwrap_or_default();
                let batch = self.batch().unwrap_or_else(|error| {
                    let frame = Err(error);
                    vec![Decoded { first, frame }]
                });
                let is_end = batch.is_empty();
                if sender.send(batch).is_err() || is_end {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("read-ahead".into())
            .spawn(run)
            .map_err(Error::io("starting a thread that reads the log"))?;
        Ok(Source::ReadAhead(batches))
    }
}
