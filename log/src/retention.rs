//! Thins the oldest part of the log by a retention policy: commits that nothing needs any more are
//! dropped. See `docs/decisions/0014-retention.md`.

mod aging;
mod commit_clock;
mod group;
mod index;
mod revisions;
mod thinning;

pub use thinning::thin;
#[cfg(test)]
pub(crate) use thinning::{TURN_BYTES, TURN_FRAMES};
pub(crate) use thinning::{state_floor, tidy};

use crate::{Clock, Error, Poison, Reader, Snapshots, Storage};
use aging::Aging;
use hindsight_core::{Commit, GroupResource, Revision, State};
use std::sync::Arc;
use thinning::Thinning;

/// How much history is kept. Deletions, and everything that the newest state needs, are always kept.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Commits older than this may be dropped, in microseconds; `None` if age is no reason to drop any. By
    /// a negative age everything is old; `ControlPlane::open` refuses an age below a millisecond.
    pub age_micros: Option<i64>,
    /// While the frames that are still whole take more than this, in bytes, the oldest of their commits
    /// may be dropped; what is left of thinned ones does not count. `None` if size is no reason.
    pub bytes: Option<u64>,
    /// Every commit to objects of these kinds is kept.
    pub kinds: Vec<GroupResource>,
}

/// A policy, and what applying it takes.
#[derive(Debug)]
pub struct Keeping {
    /// How much history is kept.
    pub policy: Retention,
    /// What age is measured by. With a clock that stands still nothing ever becomes old.
    pub clock: Clock,
    /// The empty state, into which the log is folded.
    pub empty: State,
}

/// The commits of some frames that are kept, and the revisions of those that are dropped.
#[derive(Debug, Default)]
struct Retained {
    commits: Vec<Commit>,
    dropped: Vec<Revision>,
}

/// Applies a policy now and then, in rounds; a round consists of short turns.
#[derive(Debug)]
pub(crate) struct Thinner {
    storage: Arc<dyn Storage>,
    reader: Reader,
    snapshots: Snapshots,
    keeping: Keeping,
    /// The poison of the log: after any failure, nothing is thinned any more.
    poison: Poison,
    /// What is known about the log; `None` before the first round and after a failure.
    known: Option<(Thinning, Aging)>,
    /// The floor that was found first or reported last: the log is known to be thinned up to here.
    reported_floor: Option<Revision>,
    /// How far the current round may thin, `None` between rounds. Not beyond the oldest snapshot, because
    /// a start from a snapshot needs the frame that ends at its revision.
    limit: Option<Revision>,
}

impl Thinner {
    /// For the log in this storage.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        snapshots: Snapshots,
        keeping: Keeping,
        poison: Poison,
    ) -> Self {
        Self {
            reader: Reader::new(Arc::clone(&storage) as _),
            storage,
            snapshots,
            keeping,
            poison,
            known: None,
            reported_floor: None,
            limit: None,
        }
    }

    /// What is applied.
    pub(crate) const fn policy(&self) -> &Retention {
        &self.keeping.policy
    }

    /// Begins a round. One that is in progress continues, with the limit of now.
    pub(crate) fn begin(&mut self) {
        let newest = self.reader.newest();
        let kept = newest.and_then(|newest| self.snapshots.revisions_up_to(newest));
        if let Err(error) = &kept {
            tracing::warn!(%error, "cannot determine how far the log may be thinned; the next round tries again");
        }
        self.limit = kept.ok().map(|mut kept| kept.pop().unwrap_or_default());
    }

    /// Does one turn of the round. False at its end, and between rounds.
    pub(crate) fn turn(&mut self) -> bool {
        // A failure of the writer concerns everybody.
        let is_sound = self.poison.reason().is_none();
        let Some(limit) = self.limit.filter(|_| is_sound) else {
            return false;
        };
        let turned = self.try_turn(limit);
        if !matches!(turned, Ok(true)) {
            self.limit = None;
        }
        // A failed write has poisoned the log already. A failed read, or a note that is not synced, has changed
        // nothing.
        turned.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot thin the log; unless it is poisoned, the next round tries again");
            false
        })
    }

    fn try_turn(&mut self, limit: Revision) -> Result<bool, Error> {
        let (mut thinning, mut aging) = match self.known.take() {
            Some(known) => known,
            None => (self.thinning()?, Aging::new(&self.keeping.policy)),
        };
        let before = *self.reported_floor.get_or_insert(thinning.floor());
        let turned = self.thin_some(limit, &mut thinning, &mut aging)?;
        let floor = thinning.floor();
        if !turned && floor > before {
            tracing::info!(%floor, "history was dropped; everything from this revision on is kept");
            self.reported_floor = Some(floor);
        }
        self.known = Some((thinning, aging));
        Ok(turned)
    }

    fn thinning(&self) -> Result<Thinning, Error> {
        let floor = self.reader.floor()?;
        let kinds = self.keeping.policy.kinds.clone();
        Ok(Thinning::new(floor, self.keeping.empty.clone(), kinds))
    }

    /// Reads, thins or rewrites some frames. False once nothing is left to do up to the limit.
    fn thin_some(
        &self,
        limit: Revision,
        thinning: &mut Thinning,
        aging: &mut Aging,
    ) -> Result<bool, Error> {
        let storage = &*self.storage;
        if tidy(storage)? || thinning.walk(storage, |frame| aging.push(frame))? {
            return Ok(true);
        }
        let cut = aging.cut(self.keeping.clock.now(), limit);
        let is_thinned = thinning.advance(storage, cut, |frame| {
            aging.pop(frame.links.last(), frame.links.stored_bytes);
        })?;
        if is_thinned || thinning.renew(storage)? {
            return Ok(true);
        }
        thinning.sync(storage)?;
        Ok(false)
    }
}
