//! Why a command or a log position could not be processed at all. Refusals of a command that was decided
//! are [`Rejection`](crate::Rejection)s.

use crate::{Decision, Rejection, Revision, Time};

/// The change window no longer reaches back that far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({oldest})")]
pub struct Expired {
    /// The revision that was asked for.
    pub asked: Revision,
    /// The oldest revision that can be resumed from.
    pub oldest: Revision,
}

/// A revision was asked for that has not happened yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "revision {asked} has not happened yet; the newest is {newest}: ask for that one, or an earlier one"
)]
pub struct FutureRevision {
    /// The revision that was asked for.
    pub asked: Revision,
    /// The newest revision.
    pub newest: Revision,
}

/// The log no longer holds everything that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "revision {asked} is no longer kept: everything from revision {floor} on is, and before that only \
     deletions and what the retention policy kept; ask for revision {floor} or a later one"
)]
pub struct Pruned {
    /// The first revision that was needed.
    pub asked: Revision,
    /// The first revision whose state can still be folded.
    pub floor: Revision,
}

/// The log no longer holds the state at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the state at {} is no longer kept: everything from revision {floor} on is, and before that only deletions \
     and what the retention policy kept; ask for revision {floor}, or for a later time",
    .asked.to_rfc3339_micros()
)]
pub struct PrunedTime {
    /// The time that was asked for.
    pub asked: Time,
    /// The first revision whose state can still be folded.
    pub floor: Revision,
}

/// The outcome of a submission: an answer for each command, or the reason why there is none. Nothing was written then,
/// unless the log failed ([`Unavailable::Poisoned`]).
pub type Submitted = Result<Vec<Result<Decision, Rejection>>, Unavailable>;

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
         once there is space; deleting objects frees none: remove other files, or enlarge the disk"
    )]
    Full,
    /// The log was closed: nothing was written.
    #[error("the log was closed, or is being closed; nothing was written")]
    Stopping,
}
