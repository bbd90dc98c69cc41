//! Changes that have left the window, read back from the log: a watcher that was away, or a server
//! that was restarted, costs no new list.

use crate::backend::{AsOf, Expired, Place};
use crate::handler::Api;
use crate::lease::Lease;
use crate::status::Failure;
use hindsight_core::{Change, Commit, Revision, State, apply};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Watches that may read the log at one time; the others are told to list again, which is cheap.
pub(crate) const REPLAYS_MAX: usize = 2;
/// Whoever is further behind lists again.
const BEHIND_MAX: u64 = 100_000;

/// Reads the log for a watch, for as long as its client takes what it is sent.
pub(super) struct Replay(Lease<Reading>);

/// A state that follows the log, so that each commit is known with what it replaced.
struct Reading {
    state: State,
    _permit: OwnedSemaphorePermit,
    _held: Option<Place>,
}

impl Replay {
    /// Begins after a revision that the window does not reach any more.
    pub(super) async fn after(api: &Api, expired: Expired) -> Result<Self, Failure> {
        let refused = || Failure::expired(expired.to_string());
        let behind = expired.oldest.0.saturating_sub(expired.asked.0);
        let permit = Arc::clone(&api.replays).try_acquire_owned();
        let permit = permit.ok().filter(|_| behind <= BEHIND_MAX);
        let permit = permit.ok_or_else(refused)?;
        let point = AsOf::Revision(expired.asked);
        let past = api.backend.as_of(point).await.map_err(|_| refused())?;
        Ok(Self(Lease::new(Reading {
            state: State::clone(&past.state),
            _permit: permit,
            _held: past.place,
        })))
    }

    /// The next changes, oldest first.
    pub(super) async fn next(&self, api: &Api, limit: usize) -> Result<Vec<Arc<Change>>, Failure> {
        let stalled =
            || Failure::expired("too old resource version: nothing was read for too long");
        let after = self.0.with(|reading| reading.state.revision);
        let after = after.ok_or_else(stalled)?;
        let commits = api.backend.commits_after(after, limit).await?;
        let expected = |index: usize| Revision(after.0 + 1 + index as u64);
        let gap = (0..)
            .zip(&commits)
            .find(|(index, commit)| commit.revision != expected(*index));
        if gap.is_some() || commits.is_empty() {
            let message = format!("too old resource version: {after}");
            return Err(Failure::expired(message));
        }
        let changes = self.0.with(|reading| reading.follow(commits));
        changes.ok_or_else(stalled)
    }
}

impl Reading {
    fn follow(&mut self, commits: Vec<Arc<Commit>>) -> Vec<Arc<Change>> {
        let follow = |commit: Arc<Commit>| {
            let previous = apply(&mut self.state, &commit);
            Arc::new(Change { commit, previous })
        };
        commits.into_iter().map(follow).collect()
    }
}
