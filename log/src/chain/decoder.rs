//! Fetches frames one after the other, and decodes them on all cores.

use crate::frame;
use crate::frame::decoded::{DecodedFrame, FrameLinks, read, read_links, weight};
use crate::storage::Stored;
use crate::{Error, Records, parallel};
use crossbeam_channel::{Receiver, SendError, bounded};
use hindsight_core::Revision;
use std::io;
use std::sync::Arc;

/// The most frames that are decoded together; a walk that ends early has not read far ahead.
const BATCH_FRAMES_MAX: usize = 64;
/// The most bytes that are decoded together, counted uncompressed; a single larger frame is a batch of
/// its own.
pub(super) const BATCH_BYTES_MAX: usize = 4 << 20;
/// Batches that are read on the caller's thread first: most walks are short.
const BATCHES_INLINE: usize = 16;
/// Batches that a long walk reads ahead.
pub(super) const BATCHES_AHEAD: usize = 2;

/// What is stored under a revision, once it was decoded.
pub(super) struct Decoded<F> {
    pub(super) first: Revision,
    pub(super) frame: Result<F, Error>,
}

/// Fetches one frame after the other; they are checked, hashed and decoded on all cores.
pub(crate) struct Decoder<F> {
    pub(super) records: Arc<dyn Records>,
    /// Where to fetch next; `None` at the end or after a failure.
    next: Option<Revision>,
    /// Only one frame that begins behind this revision is fetched: a fold may need to see what it
    /// replaces.
    pub(super) last: Revision,
    /// Whether the first frame may begin before `next` and only contain it.
    within: bool,
    read: fn(Revision, &[u8]) -> Result<F, Error>,
    size: usize,
    batches: usize,
}

impl Decoder<DecodedFrame> {
    /// Begins with the first frame that does not begin before this revision.
    pub(crate) fn new(records: Arc<dyn Records>, from: Revision) -> Self {
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
    pub(crate) fn within(records: Arc<dyn Records>, from: Revision) -> Self {
        Self {
            within: true,
            ..Self::new(records, from)
        }
    }

    /// Gives the links of the frames alone.
    pub(crate) fn links_only(self) -> Decoder<FrameLinks> {
        Decoder {
            read: read_links,
            records: self.records,
            next: self.next,
            last: self.last,
            within: self.within,
            size: self.size,
            batches: self.batches,
        }
    }
}

impl<F: Send + 'static> Decoder<F> {
    /// Stops after the first frame that begins behind `last`.
    pub(crate) fn until(self, last: Revision) -> Self {
        Self { last, ..self }
    }

    /// Whether a thread should read ahead from here on. One would wait for the pool, and a thread of that for it.
    pub(super) fn is_long(&self) -> bool {
        self.batches > BATCHES_INLINE && !parallel::is_in_pool()
    }

    /// The next frames, of which the last may be one that could not be fetched; empty at the end of the log.
    pub(super) fn batch(&mut self) -> Vec<Decoded<F>> {
        let mut fetched = Vec::with_capacity(self.size);
        let (mut bytes_held, mut failed) = (0, None);
        while fetched.len() < self.size && bytes_held < BATCH_BYTES_MAX {
            let Some(from) = self.next.take() else { break };
            let (first, bytes) = match self.fetch(from) {
                Ok(Some(stored)) => stored,
                Ok(None) => break,
                Err(error) => {
                    failed = Some(Decoded {
                        first: from,
                        frame: Err(error),
                    });
                    break;
                }
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
        let mut batch = parallel::map(fetched, decode);
        batch.extend(failed);
        batch
    }

    /// Fetches the next frame: the first may contain `from`, or is the first of all; every other begins where the
    /// one before ended.
    fn fetch(&mut self, from: Revision) -> Result<Option<Stored>, Error> {
        if !std::mem::take(&mut self.within) {
            return self.records.at_or_after(from);
        }
        match self.records.at_or_before(from)? {
            Some(found) => Ok(Some(found)),
            None => self.records.at_or_after(Revision(1)),
        }
    }

    /// Moves the rest of the walk to a thread of its own, which ends once the receiver is dropped. An empty batch
    /// means the end of the log, a disconnect means that the thread panicked. If none can be started, the walk goes on
    /// here, and is not long again before some batches.
    pub(super) fn read_ahead(
        self,
        start: impl FnOnce(Run) -> io::Result<()>,
    ) -> Result<Receiver<Vec<Decoded<F>>>, Self> {
        let (sender, batches) = bounded(BATCHES_AHEAD);
        let (hand_over, handed_over) = bounded::<Self>(1);
        let run = move || {
            let Ok(mut decoder) = handed_over.recv() else {
                return;
            };
            drop(handed_over);
            loop {
                let batch = decoder.batch();
                let is_end = batch.is_empty();
                if sender.send(batch).is_err() || is_end {
                    return;
                }
            }
        };
        let left = match start(Box::new(run)) {
            Ok(()) => hand_over.send(self).err().map(SendError::into_inner),
            Err(_no_thread) => Some(self),
        };
        left.map_or(Ok(batches), |left| Err(Self { batches: 0, ..left }))
    }
}

/// What a thread does.
pub(super) type Run = Box<dyn FnOnce() + Send>;

pub(super) fn start_thread(run: Run) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("read-ahead".into());
    thread.spawn(run).map(drop)
}
