//! Why a command or a log position could not be processed at all. Refusals of a command that was decided
//! are [`Rejection`](crate::Rejection)s.

use crate::Revision;

/// The change window no longer reaches back that far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Expired {
    /// The revision that was asked for.
    pub asked: Revision,
    /// The oldest revision that can be resumed from.
    pub oldest: Revision,
}

/// Why a write was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Too many submissions wait, or too large ones.
    #[error("too many writes are waiting; try again in a second")]
    Overloaded,
    /// The log failed. Writes that were under way have an unknown outcome, which is settled when the log is
    /// opened again.
    #[error(
        "the event log failed and accepts no more writes: {0}; check the disk, then open the log again, which \
         settles the writes that were under way"
    )]
    Poisoned(String),
    /// The disk has no room for the write.
    #[error(
        "the disk is full: nothing was written; reads, watches and deletions continue, and so will writes \
         once there is space"
    )]
    Full,
    /// The writer was stopped.
    #[error("the server is stopping")]
    Stopping,
}
