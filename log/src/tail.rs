//! The acknowledged end of the log, and the walk that compares a log with it.

use crate::frame::Hash;
use crate::frame::decoded::{self, Coverage, FrameLinks};
use crate::storage::Stored;
use crate::{Error, Records};
use hindsight_core::Revision;

/// The end of a log: its last frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// The last revision in that frame.
    pub revision: Revision,
    /// The hash of that frame, which stands for everything before it.
    pub hash: Hash,
}

impl Tail {
    /// The end before the first frame.
    pub(crate) const START: Self = Self {
        revision: Revision::ZERO,
        hash: [0; 32],
    };

    /// Checks that the log once ended with exactly this.
    pub(crate) fn check_in(self, records: &dyn Records) -> Result<(), Error> {
        let Self { revision, hash } = self;
        if revision == Revision::ZERO {
            return Ok(());
        }
        let Some(found) = links_at_or_before(records, revision)? else {
            return Err(Error::Lost {
                acknowledged: revision,
                newest: Revision::ZERO,
            });
        };
        let newest = found.last();
        if newest < revision && records.at_or_after(found.end)?.is_none() {
            return Err(Error::Lost {
                acknowledged: revision,
                newest,
            });
        }
        if newest == revision && found.hash == hash {
            return Ok(());
        }
        Err(Error::Diverged { revision })
    }

    /// As [`Self::check_in`], but accepts a tail that a thinned frame covers: of the frames that it replaces, only
    /// the hash of the last is known.
    pub(crate) fn check_passed_by(self, records: &dyn Records) -> Result<(), Error> {
        match self.check_in(records) {
            Err(Error::Diverged { .. }) if is_thinned_over(records, self.revision)? => Ok(()),
            held => held,
        }
    }
}

/// Whether a thinned frame covers this revision and later ones, so that no frame ends at it any more.
pub(crate) fn is_thinned_over(records: &dyn Records, revision: Revision) -> Result<bool, Error> {
    let found = links_at_or_before(records, revision)?;
    Ok(found.is_some_and(|found| found.is_thinned() && found.last() > revision))
}

/// The links of the last frame that begins at this revision or before it.
fn links_at_or_before(
    records: &dyn Records,
    revision: Revision,
) -> Result<Option<FrameLinks>, Error> {
    let found = records.at_or_before(revision)?;
    let read = |(first, bytes): Stored| Ok(decoded::read(first, &bytes)?.links);
    found.map(read).transpose()
}

/// A walk over a whole log. Fails if a frame is missing, or if the walk does not pass through the
/// witnessed tail.
pub(crate) struct VerifiedFrames<I> {
    frames: I,
    witness: Option<Tail>,
    newest: Tail,
    /// The highest floor that a thinned frame states.
    floor: Revision,
    is_done: bool,
}

impl<F: AsRef<FrameLinks>, I: Iterator<Item = Result<F, Error>>> VerifiedFrames<I> {
    pub(crate) fn new(after: Tail, frames: I, records: &dyn Records) -> Result<Self, Error> {
        Ok(Self {
            frames,
            witness: records.witnessed()?,
            newest: after,
            floor: Revision::ZERO,
            is_done: false,
        })
    }

    fn follow(&mut self, frame: &FrameLinks) -> Result<(), Error> {
        let wanted = self.newest.revision.next();
        if frame.coverage == Coverage::Whole && frame.first != wanted {
            return Err(Error::absent_record(wanted));
        }
        self.newest = frame.tail();
        self.floor = self.floor.max(frame.stated_floor());
        let passed = wanted..=self.newest.revision;
        let Some(witness) = self.witness.filter(|one| passed.contains(&one.revision)) else {
            return Ok(());
        };
        // Of the frames that a thinned one replaces, only the hash of the last is known.
        let is_unknown = frame.is_thinned() && witness.revision < self.newest.revision;
        if is_unknown || witness == self.newest {
            return Ok(());
        }
        Err(Error::Diverged {
            revision: witness.revision,
        })
    }

    fn end(&self) -> Result<(), Error> {
        match self.witness {
            Some(witness) if witness.revision > self.newest.revision => Err(Error::Lost {
                acknowledged: witness.revision,
                newest: self.newest.revision,
            }),
            _ if self.floor > self.newest.revision => Err(Error::corrupt(
                self.floor,
                "the history before it was thinned up to a revision that the log does not reach",
            )),
            _ => Ok(()),
        }
    }

    fn annotate(&self, error: Error) -> Error {
        annotate(error, self.witness)
    }
}

/// Adds to the error for a damaged record whether that record was acknowledged.
pub(crate) fn annotate(error: Error, witness: Option<Tail>) -> Error {
    let Error::Corrupt { revision, source } = error else {
        return error;
    };
    let status = match witness {
        Some(witness) if revision <= witness.revision => "it was acknowledged",
        _ => "whether it was acknowledged is unknown",
    };
    Error::corrupt(revision, Damage { source, status })
}

/// Damage, and whether the damaged record was acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{source}; {status}")]
struct Damage {
    source: Box<dyn std::error::Error + Send + Sync>,
    status: &'static str,
}

impl<F: AsRef<FrameLinks>, I: Iterator<Item = Result<F, Error>>> Iterator for VerifiedFrames<I> {
    type Item = Result<F, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let Some(frame) = self.frames.next() else {
            self.is_done = true;
            return self.end().err().map(|error| Err(self.annotate(error)));
        };
        let step = frame.and_then(|frame| self.follow(frame.as_ref()).map(|()| frame));
        self.is_done = step.is_err();
        Some(step.map_err(|error| self.annotate(error)))
    }
}
