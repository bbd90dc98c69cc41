//! What the Kubernetes surface needs of the engine behind it.

#[cfg(test)]
pub(crate) mod fake;

use crate::body::ApiBody;
use crate::respond;
use crate::status::Failure;
use futures_util::future::BoxFuture;
use hindsight_core::{
    Change, Check, Command, Commit, Expired, FutureRevision, Pruned, PrunedTime, Revision, State,
    Submitted, Time, Unavailable,
};
use http::Response;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The engine. Implemented by the control plane; tests may put a fake here.
pub trait Backend: Send + Sync + 'static {
    /// The newest durable state.
    fn state(&self) -> Arc<State>;

    /// The revision at which a backup was last restored; zero if none ever was. Positions that clients hold
    /// from before it belong to another life of the log.
    fn restored(&self) -> Revision;

    /// Notifies whenever [`Self::state`] has advanced, with its revision.
    fn changed(&self) -> tokio::sync::watch::Receiver<Revision>;

    /// Changes after `revision`, oldest first, at most `limit`; empty when there are none yet.
    fn changes_after(&self, revision: Revision, limit: usize) -> Result<Vec<Arc<Change>>, Expired>;

    /// Has [`Self::changes_after`] reach back to `revision`, if that is before the engine was started and there is
    /// room for what happened since; whether it does now. Who asks while others do waits for them, and is polled
    /// meanwhile, whatever its client does.
    fn reach_back(&self, revision: Revision) -> BoxFuture<'_, bool>;

    /// Commits after `revision` from the log, oldest first: at most `limit`, and no more once they take
    /// `bytes` bytes.
    fn commits_after(
        &self,
        revision: Revision,
        limit: usize,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>>;

    /// The state at a point in the past. A revision that is not in memory is read from the log, for a few
    /// callers at a time; further ones wait, and after a while are refused.
    fn as_of(&self, point: AsOf) -> BoxFuture<'_, Result<StateAt, AsOfError>>;

    /// The time of the last commit up to this revision; `None` if it cannot be told.
    fn time_of(&self, revision: Revision) -> BoxFuture<'_, Option<Time>>;

    /// Has [`Self::as_of`] find this state in memory until nobody has asked for it for a while: a page of a list was of
    /// it, and others follow. It was the newest state when the request began, and shares with that what has not changed
    /// since.
    fn keep(&self, state: Arc<State>) {
        drop(state);
    }

    /// Decides commands and makes the outcome durable. All commands go into one batch; each has its own answer.
    fn submit(&self, commands: Vec<Command>) -> BoxFuture<'_, Submitted>;

    /// How the parts are that the engine depends on.
    fn checks(&self) -> Vec<Check>;

    /// The wall clock.
    fn now(&self) -> Time;

    /// Fresh randomness for one command.
    fn seed(&self) -> [u8; 16];
}

/// A point in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The state after this commit.
    Revision(Revision),
    /// The state before the first commit, or restore, that was later than this.
    Time(Time),
}

impl AsOf {
    /// Parses a revision or an RFC 3339 time; `None` if it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let revision = Revision::parse(text).map(Self::Revision);
        revision.or_else(|| Time::parse(text).map(Self::Time))
    }
}

/// The present of an answer about this point, or about now: what is as old as it was then has the age that it had
/// then. The state of the point is that of this revision.
pub(crate) async fn present(
    backend: &dyn Backend,
    point: Option<AsOf>,
    revision: Revision,
) -> Time {
    let then = match point {
        Some(AsOf::Time(time)) => Some(time),
        Some(AsOf::Revision(_)) => backend.time_of(revision).await,
        None => None,
    };
    then.unwrap_or_else(|| backend.now())
}

/// The right to be one of the few who hold states of the past; given back when the last clone is dropped.
pub type Seat = Arc<OwnedSemaphorePermit>;

/// The state at a point.
#[derive(Debug, Clone)]
pub struct StateAt {
    /// The state, which may be as large as the newest one and share nothing with it.
    pub state: Arc<State>,
    /// To be held for as long as any part of the state is. The newest state needs none, nor does one that was kept
    /// from when it was the newest: see [`Backend::keep`].
    pub seat: Option<Seat>,
    /// What a restore lost, if the point is in it: the state is that of the backup then.
    pub lost: Option<LostByRestore>,
}

impl StateAt {
    /// A state that is in memory anyway: the newest, or one that was kept.
    pub const fn in_memory(state: Arc<State>) -> Self {
        Self {
            state,
            seat: None,
            lost: None,
        }
    }
}

/// What a restore passed over: revisions that may have been issued, and times at which they were. The log does
/// not have when the backup was made, so of a time after its last commit it is not known whether anything was
/// lost until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a backup of revision {backup} was restored at {restored}; what happened between is not in this log"
)]
pub struct LostByRestore {
    /// The last revision before it.
    pub backup: Revision,
    /// The revision of the restore, from which the log continues.
    pub restored: Revision,
}

impl LostByRestore {
    /// Whether an answer about this point that is the state at the revision `answered` may be about what is
    /// missing: if what follows in the log is a restore, it is.
    pub fn may_hold(asked: AsOf, answered: Revision) -> bool {
        match asked {
            AsOf::Revision(asked) => asked > answered,
            AsOf::Time(_) => true,
        }
    }

    /// Tells whoever reads the answer of it, in a `Warning` header.
    pub fn warn(self, answer: &mut Response<ApiBody>) {
        respond::add_warning(answer, &self.to_string());
    }
}

/// Why a past state cannot be shown.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AsOfError {
    /// The revision has not happened yet.
    #[error(transparent)]
    Future(FutureRevision),
    /// The time has not come yet.
    #[error(
        "{} is in the future: it is now {}; name an earlier time, or none for the current state",
        .asked.to_rfc3339(),
        .now.to_rfc3339()
    )]
    NotCome {
        /// What was asked for.
        asked: Time,
        /// The time by the clock.
        now: Time,
    },
    /// The revision was pruned.
    #[error(transparent)]
    Pruned(Pruned),
    /// The state at the time was pruned.
    #[error(transparent)]
    PrunedTime(PrunedTime),
    /// The engine was closed.
    #[error(transparent)]
    Closed(Unavailable),
    /// Too many others hold states of the past.
    #[error("too many others are looking at the past; try again in a second")]
    Busy,
    /// The log could not be read.
    #[error("the log could not be read: {0}")]
    Unreadable(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl From<AsOfError> for Failure {
    fn from(error: AsOfError) -> Self {
        match error {
            AsOfError::Future(FutureRevision { asked, newest }) => {
                Self::too_large_version(asked.0, newest.0)
            }
            AsOfError::NotCome { .. } => Self::bad_request(error.to_string()),
            AsOfError::Pruned(_) | AsOfError::PrunedTime(_) => Self::expired(error.to_string()),
            AsOfError::Closed(unavailable) => unavailable.into(),
            AsOfError::Busy => Self::too_many(error.to_string()),
            AsOfError::Unreadable(_) => Self::new(500, "InternalError", error.to_string()),
        }
    }
}

impl Failure {
    /// The failure to read the log, or to show a point of the past that was named. A point in the future is not
    /// retryable, or clients would wait for it.
    pub fn of_past(error: AsOfError) -> Self {
        match error {
            AsOfError::Future(_) => Self::bad_request(error.to_string()),
            other => other.into(),
        }
    }
}
