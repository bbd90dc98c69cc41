//! Format 2: what stands where commits were, or where none ever were.

use crate::Error;
use crate::frame::Hash;
use hindsight_core::{Revision, Time};
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;

/// The payload of a frame of format 2. Stored: variants are added and never changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Stands<'a> {
    /// What is kept of one or more frames. The chain goes on from the hash that they had.
    Thinned {
        /// Of the last of those frames.
        hash: Hash,
        /// What is kept was chosen so that the state at this revision can be folded, and no state
        /// before it.
        floor: u64,
        /// The latest time of any commit that it stands for, in microseconds since the Unix epoch.
        latest_micros: i64,
        /// Of the commits that are kept.
        revisions: Vec<u64>,
        /// The commits, as a payload of format 1.
        #[serde(borrow)]
        kept: &'a Bytes,
    },
    /// A backup was restored here: revisions go on with that of this frame, later than any that was
    /// given out by the log that the backup was made of.
    Restored {
        /// When, in microseconds since the Unix epoch.
        time_micros: i64,
    },
}

impl<'a> Stands<'a> {
    pub(crate) fn thinned(
        hash: Hash,
        floor: Revision,
        latest: Time,
        revisions: &[Revision],
        kept: &'a [u8],
    ) -> Self {
        Self::Thinned {
            hash,
            floor: floor.0,
            latest_micros: latest.0,
            revisions: revisions.iter().map(|one| one.0).collect(),
            kept: Bytes::new(kept),
        }
    }

    pub(crate) const fn restored(time: Time) -> Self {
        Self::Restored {
            time_micros: time.0,
        }
    }

    /// The commits that are kept, compressed.
    pub(crate) fn kept(&self) -> &[u8] {
        match self {
            Self::Thinned { kept, .. } => kept,
            Self::Restored { .. } => &[],
        }
    }

    /// Appends the payload.
    pub(crate) fn encode(&self, payload: &mut Vec<u8>) -> Result<(), Error> {
        super::write(self, payload).map_err(|error| Error::engine("encoding a record", error))
    }

    /// Reads a payload; every byte must be used.
    pub(crate) fn decode(first: Revision, payload: &'a [u8]) -> Result<Self, Error> {
        super::read(payload).map_err(|error| Error::corrupt(first, error))
    }
}
