//! What the Kubernetes surface needs of the engine behind it.

#[cfg(test)]
pub(crate) mod fake;

use futures_util::future::BoxFuture;
use hindsight_core::{
    Change, Command, Commit, Decision, Expired, Rejection, Revision, State, Time, Unavailable,
};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The engine. Implemented by the control plane; tests may put a fake here.
pub trait Backend: Send + Sync + 'static {
    /// The newest durable state.
    fn state(&self) -> Arc<State>;

    /// The revision at which a backup was last restored; zero where none ever was. Positions of
    /// clients from before it are of another life of the log.
    fn restored(&self) -> Revision;

    /// Tells whenever [`Self::state`] has moved, with its revision.
    fn changed(&self) -> tokio::sync::watch::Receiver<Revision>;

    /// Changes after `revision`, oldest first, at most `limit`; empty when there are none yet.
    fn changes_after(&self, revision: Revision, limit: usize) -> Result<Vec<Arc<Change>>, Expired>;

    /// Commits after `revision` from the log, oldest first: at most `limit`, and no more once their bodies
    /// have so many bytes.
    fn commits_after(
        &self,
        revision: Revision,
        limit: usize,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>>;

    /// The state as it was. For revisions that are not in memory the log is read, for a few at a time;
    /// who would be one too many waits, and is refused at last.
    fn as_of(&self, point: AsOf) -> BoxFuture<'_, Result<Past, AsOfError>>;

    /// Decides and makes durable. All commands go into one batch; each has its own answer.
    fn submit(
        &self,
        commands: Vec<Command>,
    ) -> BoxFuture<'_, Result<Vec<Result<Decision, Rejection>>, Unavailable>>;

    /// The parts that it needs to do what it is there for, each by its name, and what is wrong with it.
    fn checks(&self) -> Vec<(&'static str, Option<String>)>;

    /// The wall clock.
    fn now(&self) -> Time;

    /// Fresh randomness for one command.
    fn seed(&self) -> [u8; 16];
}

/// A point in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// After this commit.
    Revision(Revision),
    /// Before the first commit, or restore, that was later than this.
    Time(Time),
}

impl AsOf {
    /// Reads a revision, or an RFC 3339 time; none where it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let revision = text.parse().ok().map(Revision).map(Self::Revision);
        revision.or_else(|| Time::parse(text).map(Self::Time))
    }
}

/// Lets somebody be one of the few who look at states of the past; given back with its last clone.
pub type Permit = Arc<OwnedSemaphorePermit>;

/// A state as it was.
#[derive(Debug, Clone)]
pub struct Past {
    /// It may be as large as the newest one, and share nothing with it.
    pub state: Arc<State>,
    /// To be held for as long as anything of the state is. The newest state needs none.
    pub permit: Option<Permit>,
}

impl Past {
    /// What is in memory anyway.
    pub const fn newest(state: Arc<State>) -> Self {
        Self {
            state,
            permit: None,
        }
    }
}

/// Why a past state cannot be shown.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AsOfError {
    /// It has not happened yet.
    #[error(
        "revision {asked} has not happened yet; the newest is {newest}: ask for that one, or an earlier one"
    )]
    Future {
        /// What was asked for.
        asked: Revision,
        /// The newest one.
        newest: Revision,
    },
    /// Nor has the time come.
    #[error(
        "{} has not come yet; it is {}; name an earlier time, or none for what there is now",
        .asked.to_rfc3339(),
        .now.to_rfc3339()
    )]
    NotCome {
        /// What was asked for.
        asked: Time,
        /// The time by the clock.
        now: Time,
    },
    /// It was pruned.
    #[error(
        "history before revision {oldest} was pruned; ask for revision {oldest} or a later one"
    )]
    Pruned {
        /// The oldest one kept.
        oldest: Revision,
    },
    /// Too many look at the past.
    #[error("too many others are looking at the past; try again in a second")]
    Busy,
    /// The log could not be read.
    #[error("the log could not be read: {0}")]
    Unreadable(#[source] Arc<dyn std::error::Error + Send + Sync>),
}
