//! Format 2: the frames that replace commits after thinning, and those that mark a restore.

use crate::Error;
use crate::frame::Hash;
use hindsight_core::{Revision, Time};
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;

/// The payload of a frame of format 2. This is a stored format: variants are added and never changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Placeholder<'a> {
    /// What is kept of one or more frames. The next frame is still chained to the hash of the last of
    /// them.
    Thinned {
        /// The hash of the last of those frames.
        hash: Hash,
        /// The revision whose state can be folded from what is kept; no earlier state can.
        floor: u64,
        /// The latest time of any commit that it replaces, in microseconds since the Unix epoch.
        latest_micros: i64,
        /// The revisions of the commits that are kept.
        revisions: Vec<u64>,
        /// The commits that are kept, as a payload of format 1, compressed.
        #[serde(borrow)]
        kept: &'a Bytes,
    },
    /// A backup was restored here. Revisions continue with the revision of this frame, which is later
    /// than any that the backed-up log has assigned.
    Restored {
        /// When it was restored, in microseconds since the Unix epoch.
        time_micros: i64,
    },
}

impl<'a> Placeholder<'a> {
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

    /// The commits that are kept, compressed; empty for a restore.
    pub(crate) fn kept(&self) -> &[u8] {
        match self {
            Self::Thinned { kept, .. } => kept,
            Self::Restored { .. } => &[],
        }
    }

    /// Appends the encoded payload to `payload`.
    pub(crate) fn encode(&self, payload: &mut Vec<u8>) -> Result<(), Error> {
        super::write(self, payload).map_err(|error| Error::defect("encoding a record", error))
    }

    /// Decodes a payload. Every byte must be used.
    pub(crate) fn decode(first: Revision, payload: &'a [u8]) -> Result<Self, Error> {
        super::read(payload).map_err(|error| Error::corrupt(first, error))
    }
}
