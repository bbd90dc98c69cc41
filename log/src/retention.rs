//! Thins the beginning of the log, as far as a policy says: `docs/decisions/0014-retention.md`.

mod group;
mod index;
mod order;
mod revisions;
mod thinning;
mod window;

pub use thinning::thin;
#[cfg(test)]
pub(crate) use thinning::{TURN_BYTES, TURN_FRAMES};

use crate::{Error, Poison, Reader, Snapshots, Storage};
use hindsight_core::{Commit, GroupResource, Revision, State, Time};
use std::sync::Arc;
use thinning::Thinning;
use window::Aging;

/// How much history is kept. Deletions always are, and everything that the newest state needs.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Commits that are older may be dropped, in microseconds; without it age is no reason.
    pub age_micros: Option<i64>,
    /// The oldest commits may be dropped while the log has more bytes; without it size is no reason.
    pub bytes: Option<u64>,
    /// Every commit of these is kept.
    pub kinds: Vec<GroupResource>,
    /// What time it is.
    pub clock: fn() -> Time,
}

/// What becomes of the commits of some frames.
#[derive(Debug, Default)]
struct Retained {
    commits: Vec<Commit>,
    dropped: Vec<Revision>,
}

/// Applies a policy now and then: a round, in turns of which each takes a moment.
#[derive(Debug)]
pub(crate) struct Pruner {
    storage: Arc<dyn Storage>,
    reader: Reader,
    snapshots: Snapshots,
    empty: State,
    policy: Retention,
    /// Of the log: where anything failed, nothing is thinned any more.
    poison: Poison,
    /// What is known of the log; nothing before the first round, and after a failure.
    known: Option<(Thinning, Aging)>,
    /// Up to where the log is known to have been thinned.
    told: Option<Revision>,
    /// Of the round that is under way: nothing after any of the snapshots, for a start from one needs the
    /// frame that ends there.
    limit: Option<Revision>,
}

impl Pruner {
    /// For the log in this storage; `empty` is what it is folded into.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        snapshots: Snapshots,
        empty: State,
        policy: Retention,
        poison: Poison,
    ) -> Self {
        Self {
            reader: Reader::new(Arc::clone(&storage)),
            storage,
            snapshots,
            empty,
            policy,
            poison,
            known: None,
            told: None,
            limit: None,
        }
    }

    /// Begins a round; one that is under way goes on with what may be thinned now.
    pub(crate) fn begin(&mut self) {
        let newest = self.reader.newest();
        let kept = newest.and_then(|newest| self.snapshots.up_to(newest));
        if let Err(error) = &kept {
            tracing::warn!(%error, "up to where the log may be thinned is not known; the next round asks again");
        }
        self.limit = kept.ok().map(|mut kept| kept.pop().unwrap_or_default());
    }

    /// Does a piece of it. False at its end, and where none is under way.
    pub(crate) fn turn(&mut self) -> bool {
        // What failed for the writer has failed for everybody.
        let is_sound = self.poison.reason().is_none();
        let Some(limit) = self.limit.filter(|_| is_sound) else {
            return false;
        };
        let turned = self.try_turn(limit);
        if !matches!(turned, Ok(true)) {
            self.limit = None;
        }
        // What failed to be written has poisoned the log where it failed. What was not read is as it was.
        turned.unwrap_or_else(|error| {
            tracing::warn!(%error, "the log was not thinned; unless it is poisoned, the next round tries again");
            false
        })
    }

    fn try_turn(&mut self, limit: Revision) -> Result<bool, Error> {
        let (mut thinning, mut window) = match self.known.take() {
            Some(known) => known,
            None => (self.thinning()?, Aging::new(self.policy.clone())),
        };
        let before = *self.told.get_or_insert(thinning.floor());
        let turned = self.piece(limit, &mut thinning, &mut window)?;
        let floor = thinning.floor();
        if !turned && floor > before {
            tracing::info!(%floor, "history was dropped; everything from this revision on is kept");
            self.told = Some(floor);
        }
        self.known = Some((thinning, window));
        Ok(turned)
    }

    fn thinning(&self) -> Result<Thinning, Error> {
        let floor = self.reader.floor()?;
        let kinds = self.policy.kinds.clone();
        Ok(Thinning::new(floor, self.empty.clone(), kinds))
    }

    fn piece(
        &self,
        limit: Revision,
        thinning: &mut Thinning,
        window: &mut Aging,
    ) -> Result<bool, Error> {
        let storage = &*self.storage;
        if Thinning::tidy(storage)? || thinning.walk(storage, |frame| window.push(frame))? {
            return Ok(true);
        }
        let cut = window.cut(limit);
        let is_thinned = thinning.advance(storage, cut, |frame| {
            window.pop(frame.end.previous(), frame.bytes);
        })?;
        if is_thinned || thinning.renew(storage)? {
            return Ok(true);
        }
        thinning.settle(storage)?;
        Ok(false)
    }
}
