//! What a frame spans.

use crate::storage::Stored;
use crate::{Error, frame};
use hindsight_core::Revision;

/// The revisions of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FrameSpan {
    pub(super) first: Revision,
    /// The same as the first if the frame is damaged.
    pub(super) last: Revision,
}

impl FrameSpan {
    pub(super) fn of(first: Revision, frame: &[u8]) -> Self {
        let read = frame::open(first, frame);
        let is_whole = matches!(read, Ok(_) | Err(Error::NewerFormat { .. }));
        let end = frame::end(first, frame).filter(|_| is_whole);
        let last = end.map_or(first, Revision::previous);
        Self { first, last }
    }

    /// That of a frame that was read from the database; of none, that of a frame before all others.
    pub(super) fn of_stored(found: Option<&Stored>) -> Self {
        found.map_or_else(Self::default, |(first, bytes)| Self::of(*first, bytes))
    }
}
