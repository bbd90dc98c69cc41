//! The interfaces to a storage engine: frames by their first revision, read, appended and synced.

mod blocks;
mod closing;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod counting;
pub(crate) mod memory;
pub(crate) mod page_cache;
mod reserve;
pub(crate) mod sled;
mod space;
pub(crate) mod synced;
mod witness;

pub use closing::is_closing_engine;
#[cfg(test)]
pub(crate) use counting::Counting;
#[cfg(test)]
pub(crate) use sled::{JOURNAL_FORMAT, TREE_FORMAT};
#[cfg(test)]
pub(crate) use witness::{FORMAT as WITNESS_FORMAT, WitnessFile};

use crate::{Error, Tail};
use hindsight_core::Revision;
use std::fmt::Debug;
use std::sync::Arc;

/// A frame as stored: its first revision and its bytes.
pub type Stored = (Revision, Vec<u8>);

/// A frame that replaces others must be smaller than this.
pub(crate) const REPLACING_BYTES: usize = 64 << 10;

/// That a note of this revision or a later one is durable, if there is any, so that what is up to there may be
/// replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witnessed(Revision);

impl Witnessed {
    /// For a storage that has made sure of it.
    pub const fn up_to(last: Revision) -> Self {
        Self(last)
    }

    /// The last revision that may be replaced.
    pub const fn last(self) -> Revision {
        self.0
    }
}

/// What disk space is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Any append.
    Writes,
    /// Deletions: these may use the space that is reserved for them.
    Deletions,
    /// A snapshot: a file beside the records that can be done without, so no space is allocated for it.
    /// It must leave the space that writes will need soon, unless the log is thinned after it, which
    /// frees more.
    Snapshot {
        /// Whether the log is thinned afterwards.
        thins: bool,
    },
}

/// The frames of a log, for its readers: any number of them read what was appended.
pub trait Records: Send + Sync + Debug {
    /// The frame with the smallest first revision that is not below `from`.
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error>;

    /// The frame with the largest first revision that is not above `until`.
    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error>;

    /// The newest note of an acknowledged end that was found when the storage was opened.
    fn witnessed(&self) -> Result<Option<Tail>, Error>;
}

/// Stores frames, for one writer who appends. After a crash it returns everything up to the last sync and,
/// of what was appended since, nothing or the first frames, each of them whole.
pub trait Storage: Records {
    /// Appends a frame. It is durable only after [`Self::sync`].
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error>;

    /// Makes durable a note of a revision from `last` on, if there is one, because a note of what is replaced could
    /// not be compared any more. An error means that nothing up to `last` may be replaced; everything else goes on.
    fn ensure_witnessed(&self, last: Revision) -> Result<Witnessed, Error> {
        Ok(Witnessed::up_to(last))
    }

    /// Replaces the frames whose first revisions are from `first` to the last that is witnessed by one of less than
    /// 64 KiB.
    /// This is durable after some later [`Self::sync`]; after a crash before that there are either the
    /// old frames, or the new one and any of the old ones behind it.
    fn replace(&self, first: Revision, witnessed: Witnessed, frame: &[u8]) -> Result<(), Error>;

    /// Does one step of the work that lets the space of replaced frames be reused, and makes it durable.
    /// False if nothing is left to do. Others may write between two steps.
    fn tidy(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Makes everything that was appended durable. After a failure nothing may be appended.
    fn sync(&self) -> Result<(), Error>;

    /// Notes that everything up to `tail` is synced and about to be acknowledged. A power cut may lose
    /// the note, so that an older one is found; a note is never ahead of what was synced.
    fn witness(&self, tail: &Tail);

    /// Makes sure that records of this many bytes can be appended, or that there is space for such a
    /// snapshot. It is called before every batch and every snapshot; if it returns false, nothing is
    /// written.
    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool;

    /// Closes it, unless somebody else holds it too. An error says that closing it failed: what was synced before
    /// is durable all the same.
    fn release(self: Arc<Self>) -> Result<(), Error> {
        drop(self);
        Ok(())
    }
}
