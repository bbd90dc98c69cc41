//! The seam to a storage engine: frames by their first revision, appended and synced.

mod blocks;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod counting;
pub(crate) mod memory;
mod reserve;
mod room;
pub(crate) mod sled;
pub(crate) mod synced;
mod witness;

pub(crate) use blocks::is_without_descriptors;
#[cfg(test)]
pub(crate) use counting::Counting;
#[cfg(test)]
pub(crate) use sled::{JOURNAL_FORMAT, TREE_FORMAT};
#[cfg(test)]
pub(crate) use witness::FORMAT as WITNESS_FORMAT;

use crate::{Error, Tail};
use hindsight_core::Revision;

/// A frame as stored: its first revision and its bytes.
pub type Stored = (Revision, Vec<u8>);

/// What a frame that replaces others is smaller than.
pub(crate) const REPLACING_BYTES: usize = 64 << 10;

/// What room on the disk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Anything.
    Writes,
    /// Deletions: they may use what is kept back from all else.
    Deletions,
    /// A snapshot: a file beside the records that can be done without, and for which nothing is taken.
    /// It leaves what writes are about to want, unless the log is thinned behind it, which gives
    /// more back.
    Snapshot {
        /// Whether it is.
        thins: bool,
    },
}

/// Where frames are kept. One writer appends; any number of readers read what was appended. After a
/// crash it shows everything up to the last sync and, of what was appended since, the first frames or
/// none, each of them whole.
pub trait Storage: Send + Sync + std::fmt::Debug {
    /// Adds a frame. It is durable only after [`Self::sync`].
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error>;

    /// Puts a frame of less than 64 KiB in the place of those whose first revisions are from
    /// its own to `last`. It is durable after some later [`Self::sync`]; after a crash before that the
    /// old ones are there, or it is, with any of the others behind it.
    fn replace(&self, first: Revision, last: Revision, frame: &[u8]) -> Result<(), Error>;

    /// Does a piece of what is needed for the room of what was replaced to be used again, and makes it durable.
    /// False where nothing is left to do. Others may write between two pieces.
    fn tidy(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Makes everything that was appended durable. After a failure nothing may be appended.
    fn sync(&self) -> Result<(), Error>;

    /// The frame with the smallest first revision that is not below `from`.
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error>;

    /// The frame with the largest first revision that is not above `until`.
    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error>;

    /// Notes that everything up to here is synced and is about to be acknowledged. The note may be
    /// lost with the power, and an older one be found; it is never ahead of what was synced.
    fn witness(&self, tail: &Tail);

    /// The newest note that was found when the storage was opened.
    fn witnessed(&self) -> Result<Option<Tail>, Error>;

    /// Makes sure that records of so many bytes can be appended, or that there is room for a snapshot of
    /// so many. It is asked before every batch and every snapshot, and nothing is written where it says no.
    fn has_room(&self, bytes: usize, purpose: Purpose) -> bool;
}
