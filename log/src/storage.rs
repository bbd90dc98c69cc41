//! The seam to a storage engine: frames by their first revision, appended and synced.

#[cfg(test)]
pub(crate) mod conformance;
pub(crate) mod memory;
pub(crate) mod sled;

use crate::Error;
use hindsight_core::Revision;

/// A frame as stored: its first revision and its bytes.
pub type Stored = (Revision, Vec<u8>);

/// Where frames are kept. One writer appends; any number of readers read what was appended.
pub trait Storage: Send + Sync + std::fmt::Debug {
    /// Adds a frame. It is durable only after [`Self::sync`].
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error>;

    /// Makes everything that was appended durable. After a failure nothing may be appended.
    fn sync(&self) -> Result<(), Error>;

    /// The frame with the smallest first revision that is not below `from`.
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error>;

    /// The frame with the largest first revision that is not above `until`.
    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error>;
}
