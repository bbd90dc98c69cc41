//! Why a command or a position could not be looked at at all, by whichever side says so. What was decided
//! against is a [`Rejection`](crate::Rejection).

use crate::Revision;

/// The newest changes no longer reach so far back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Expired {
    /// What was asked for.
    pub asked: Revision,
    /// The oldest revision that can be resumed from.
    pub oldest: Revision,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Too many submissions wait, or too large ones.
    #[error("too many writes are waiting; try again in a second")]
    Overloaded,
    /// The log failed. What was under way has an unknown outcome; opening the log again decides.
    #[error("the event log failed and takes no more writes: {0}")]
    Poisoned(String),
    /// There is no room for it on the disk.
    #[error(
        "the disk is full: nothing was written; reads, watches and deletions go on, and writes do as \
         soon as there is room"
    )]
    Full,
    /// The writer was stopped.
    #[error("the server is stopping")]
    Stopping,
}
