//! Reads changes that have left the window back from the log, so that a watcher that was away needs no new list.

use super::stalled;
use crate::api::Api;
use crate::backend::{AsOf, AsOfError, Seat};
use crate::body::PIECE_BYTES;
use crate::lease::Lease;
use crate::status::Failure;
use hindsight_core::{Change, Commit, Expired, Pruned, Revision, State, apply};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// How long another waits for its seat, holding nothing, before it is told to list again, which is cheap.
const SEAT_WAIT_MAX: Duration = Duration::from_secs(2);
/// The most commits that are read at one time, and the most bytes: a watch whose client does not read holds
/// them.
const READ_COMMITS_MAX: usize = 512;
const READ_BYTES_MAX: usize = 4 * PIECE_BYTES;
/// A watch that is further behind must list again.
const BEHIND_MAX: u64 = 100_000;

/// Reads the log for a watch, for as long as its client reads what it is sent.
pub(super) struct Replay(Lease<Follower>);

/// A state that follows the log, so that for each commit the object that it replaced is known.
struct Follower {
    state: State,
    /// Commits that were read and not followed yet.
    coming: VecDeque<Arc<Commit>>,
    /// What was followed last, of which the watch may not have looked at everything.
    followed: Vec<Arc<Change>>,
    _seat: OwnedSemaphorePermit,
    _of_past: Option<Seat>,
}

impl Replay {
    /// Begins after a revision that the window no longer reaches.
    pub(super) async fn after(api: Api, expired: Expired) -> Result<Self, Failure> {
        let refused = || Failure::expired(expired.to_string());
        let behind = expired.oldest.0.saturating_sub(expired.asked.0);
        if behind > BEHIND_MAX {
            return Err(refused());
        }
        let waited = timeout(SEAT_WAIT_MAX, Arc::clone(&api.replays).acquire_owned());
        let Ok(Ok(seat)) = waited.await else {
            return Err(refused());
        };
        let point = AsOf::Revision(expired.asked);
        let past = api.backend.as_of(point).await;
        let past = past.map_err(|error| match error {
            AsOfError::Pruned(Pruned { floor, .. }) => {
                let oldest = floor;
                Failure::expired(Expired { oldest, ..expired }.to_string())
            }
            _ => refused(),
        })?;
        Ok(Self(Lease::new(Follower {
            state: State::clone(&past.state),
            coming: VecDeque::new(),
            followed: Vec::new(),
            _seat: seat,
            _of_past: past.seat,
        })))
    }

    /// Notes that the client reads more of what was returned.
    pub(super) fn renew(&self) {
        self.0.renew();
    }

    /// Notes that the watch has looked at a change, and made so many bytes of it for its client.
    pub(super) fn record(&self, change: &Change, made: usize) {
        self.0.record_bytes(made.max(stored_bytes(change)));
    }

    /// Changes after the position of the watch, oldest first: what it has not looked at yet or, if that is nothing,
    /// about a piece of the next ones but at least one.
    pub(super) async fn changes_after(
        &self,
        position: Revision,
        api: &Api,
    ) -> Result<Vec<Arc<Change>>, Failure> {
        let left = self.0.with(|follower| follower.left_after(position));
        let left = left.ok_or_else(stalled)?;
        if !left.is_empty() {
            return Ok(left);
        }
        let read = |follower: &mut Follower| (follower.state.revision, follower.coming.is_empty());
        let (after, needs_more) = self.0.with(read).ok_or_else(stalled)?;
        if needs_more {
            let (limit, bytes) = (READ_COMMITS_MAX, READ_BYTES_MAX);
            let commits = api.backend.commits_after(after, limit, bytes).await?;
            let expected = |index: usize| Revision(after.0 + 1 + index as u64);
            let mut places = (0..).zip(&commits);
            let has_gap = places.any(|(index, commit)| commit.revision != expected(index));
            if has_gap || commits.is_empty() {
                let message = format!("too old resource version: {after}");
                return Err(Failure::expired(message));
            }
            let coming = |follower: &mut Follower| follower.coming = commits.into();
            self.0.with(coming).ok_or_else(stalled)?;
        }
        self.0.with(Follower::follow).ok_or_else(stalled)
    }
}

impl Follower {
    fn left_after(&mut self, position: Revision) -> Vec<Arc<Change>> {
        self.followed
            .retain(|change| change.commit.revision > position);
        self.followed.clone()
    }

    /// The next changes. What was found about the owners of a removal is not sent, but held.
    fn follow(&mut self) -> Vec<Arc<Change>> {
        let mut held = 0;
        while held < PIECE_BYTES {
            let Some(commit) = self.coming.pop_front() else {
                break;
            };
            let previous = apply(&mut self.state, &commit);
            let change = Change { commit, previous };
            held += change.commit.estimated_bytes().max(stored_bytes(&change));
            self.followed.push(Arc::new(change));
        }
        self.followed.clone()
    }
}

/// How long the object of a change is, as it is stored.
fn stored_bytes(change: &Change) -> usize {
    let object = change.commit.object().or(change.previous.as_ref());
    object.map_or(0, |object| object.body.len())
}
