//! Walks the log forward. Frames are fetched one after the other and checked, hashed and decoded by
//! all cores; then each is held against the one before. On a long walk that happens in a thread of
//! its own, ahead of whoever folds.

#[cfg(test)]
mod tests;

use crate::frame::{self, Hash};
use crate::reader::{Holds, Read, read, weight};
use crate::storage::Stored;
use crate::{Error, Storage, Tail};
use crossbeam_channel::{Receiver, bounded};
use hindsight_core::Revision;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::VecDeque;
use std::sync::Arc;

/// Frames that are decoded together at most; a walk that ends early has not read far ahead.
const BATCH_FRAMES_MAX: usize = 64;
/// And bytes, as they are when they are decoded; a single larger frame is a batch of its own.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Batches that are read where they are asked for: most walks are short.
const BATCHES_HERE: usize = 16;
/// Batches that a long walk reads ahead.
const BATCHES_AHEAD: usize = 2;

pub(crate) struct Chain {
    storage: Arc<dyn Storage>,
    decoded: Decoded,
    ready: VecDeque<Item>,
    links: Links,
}

type Item = (Revision, Result<Read, Error>);

/// Where decoded frames come from.
enum Decoded {
    Here(Decoder),
    /// A long walk has a thread that reads ahead; it ends when nobody receives any more. An empty batch
    /// is the end of the log, and nothing at all is a panic.
    Ahead(Receiver<Vec<Item>>),
    Nowhere,
}

impl Chain {
    /// Of the frame that holds this revision, and those after it.
    pub(crate) fn new(storage: Arc<dyn Storage>, from: Revision) -> Self {
        Self {
            decoded: Decoded::Here(Decoder::within(Arc::clone(&storage), from)),
            storage,
            ready: VecDeque::new(),
            links: Links::default(),
        }
    }

    /// No further than one frame that begins behind this.
    pub(crate) fn until(mut self, last: Revision) -> Self {
        if let Decoded::Here(decoder) = &mut self.decoded {
            decoder.last = last;
        }
        self
    }

    /// Of the frames after this one.
    pub(crate) fn after(storage: Arc<dyn Storage>, tail: Tail) -> Self {
        let next = tail.revision.next();
        Self {
            decoded: Decoded::Here(Decoder::new(Arc::clone(&storage), next)),
            storage,
            ready: VecDeque::new(),
            links: Links::after(tail),
        }
    }

    /// The next frame; nothing at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<Read>, Error> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        let Some((first, decoded)) = self.ready.pop_front() else {
            return Ok(None);
        };
        let checked = match decoded {
            Ok(frame) => self.links.follow(&*self.storage, first, frame),
            Err(error) => self.links.unread(&*self.storage, first, error),
        };
        if checked.is_err() {
            self.decoded = Decoded::Nowhere;
            self.ready.clear();
        }
        checked.map(Some)
    }

    fn fill(&mut self) -> Result<(), Error> {
        // After an error there is nothing.
        match std::mem::replace(&mut self.decoded, Decoded::Nowhere) {
            Decoded::Here(mut decoder) => {
                self.ready.extend(decoder.batch()?);
                self.decoded = if decoder.batches > BATCHES_HERE {
                    decoder.ahead()?
                } else {
                    Decoded::Here(decoder)
                };
            }
            Decoded::Ahead(batches) => {
                let batch = batches.recv().map_err(|_| {
                    Error::engine("reading ahead", "the thread that does ended in a panic")
                })?;
                if !batch.is_empty() {
                    self.ready.extend(batch);
                    self.decoded = Decoded::Ahead(batches);
                }
            }
            Decoded::Nowhere => {}
        }
        Ok(())
    }
}

/// Starts the threads that decode. Who decodes first would start them otherwise, and panic where there are
/// none to be had.
pub(crate) fn start_threads() -> Result<(), Error> {
    let started = ThreadPoolBuilder::new().build_global();
    let source = started.err().and_then(|error| {
        // Nothing where they run already.
        let source = std::error::Error::source(&error)?;
        let kind = source.downcast_ref::<std::io::Error>()?.kind();
        Some(std::io::Error::new(kind, source.to_string()))
    });
    source.map_or(Ok(()), |source| {
        Err(Error::io("starting the threads that read the log")(source))
    })
}

/// Holds each frame against the one before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    expected: Option<(Revision, Hash)>,
}

impl Links {
    /// Of what comes after this.
    pub(crate) const fn after(tail: Tail) -> Self {
        Self {
            expected: Some((tail.revision.next(), tail.hash)),
        }
    }

    /// Gives the frame back where it follows; says so where what comes before it was thinned meanwhile.
    pub(crate) fn follow(
        &mut self,
        storage: &dyn Storage,
        first: Revision,
        frame: Read,
    ) -> Result<Read, Error> {
        let followed = self.check(first, frame);
        if followed.is_err() {
            self.was_thinned(storage)?;
        }
        followed
    }

    /// Why this one could not be read: it is damaged, or was thinned meanwhile.
    fn unread<T>(&self, storage: &dyn Storage, first: Revision, error: Error) -> Result<T, Error> {
        let wanted = self.expected.map_or(first, |(wanted, _)| wanted);
        stands_within(storage, wanted)?;
        Err(error)
    }

    fn check(&mut self, first: Revision, frame: Read) -> Result<Read, Error> {
        let (wanted, hash) = self.expected.unwrap_or((first, frame.previous));
        let skips = matches!(frame.holds, Holds::Restored(_)) && wanted < first;
        if wanted != first && !skips {
            let reason = format!("the next record is {first}");
            return Err(Error::corrupt(wanted, reason));
        }
        if hash != frame.previous || (first == Revision(1) && hash != Hash::default()) {
            let reason = "it does not follow the record before it";
            return Err(Error::corrupt(first, reason));
        }
        self.expected = Some((frame.end, frame.hash));
        Ok(frame)
    }

    /// Nothing was found up to here, where the next frame should be: what it was may have been thinned.
    pub(crate) fn end(&self, storage: &dyn Storage, until: Revision) -> Result<(), Error> {
        match self.expected {
            Some((wanted, _)) if wanted <= until => self.was_thinned(storage),
            _ => Ok(()),
        }
    }

    /// What could not be followed may have been thinned while it was being read.
    fn was_thinned(&self, storage: &dyn Storage) -> Result<(), Error> {
        let wanted = self.expected.map(|(wanted, _)| wanted);
        wanted.map_or(Ok(()), |wanted| stands_within(storage, wanted))
    }
}

/// Refuses a revision for which a thinned frame stands.
fn stands_within(storage: &dyn Storage, wanted: Revision) -> Result<(), Error> {
    let Some((first, bytes)) = storage.at_or_before(wanted)? else {
        return Ok(());
    };
    match read(&bytes, first)? {
        Read {
            holds: Holds::Some(floor, _),
            end,
            ..
        } if wanted < end => Err(Error::Pruned {
            asked: wanted,
            floor,
        }),
        _ => Ok(()),
    }
}

/// Whether all cores decode so many frames. Threads to wake take their time; and whoever is of the pool would
/// do others' work while it waits for its own, and may hold what that needs.
fn are_shared(frames: usize) -> bool {
    frames > 1 && rayon::current_thread_index().is_none()
}

/// Fetches one frame after the other; all cores check, hash and decode them.
struct Decoder {
    storage: Arc<dyn Storage>,
    /// Where to fetch next; `None` at the end or after a failure.
    next: Option<Revision>,
    /// Of what is behind this, one frame is fetched: whoever folds may have to see what it stands for.
    last: Revision,
    /// Whether the first frame may begin before.
    within: bool,
    size: usize,
    batches: usize,
}

impl Decoder {
    fn new(storage: Arc<dyn Storage>, from: Revision) -> Self {
        Self {
            storage,
            next: Some(from),
            last: Revision(u64::MAX),
            within: false,
            size: 1,
            batches: 0,
        }
    }

    /// The same, from the frame that holds the revision.
    fn within(storage: Arc<dyn Storage>, from: Revision) -> Self {
        Self {
            within: true,
            ..Self::new(storage, from)
        }
    }

    /// The next frames; none at the end.
    fn batch(&mut self) -> Result<Vec<Item>, Error> {
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
        let decode = |(first, bytes): Stored| (first, read(&bytes, first));
        Ok(if are_shared(fetched.len()) {
            fetched.into_par_iter().map(decode).collect()
        } else {
            fetched.into_iter().map(decode).collect()
        })
    }

    /// The first frame is the one that holds the revision; every other begins where one ended.
    fn fetch(&mut self, from: Revision) -> Result<Option<Stored>, Error> {
        if std::mem::take(&mut self.within)
            && let Some(found) = self.storage.at_or_before(from)?
        {
            return Ok(Some(found));
        }
        self.storage.at_or_after(from)
    }

    /// Goes on in a thread of its own.
    fn ahead(mut self) -> Result<Decoded, Error> {
        let (sender, batches) = bounded(BATCHES_AHEAD);
        let run = move || {
            loop {
                let from = self.next.unwrap_or_default();
                let batch = self
                    .batch()
                    .unwrap_or_else(|error| vec![(from, Err(error))]);
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
        Ok(Decoded::Ahead(batches))
    }
}
