//! States of the past. Those of which lists are read page by page are kept from when they were the newest; others are
//! folded from the log: a few points at a time, each for as long as somebody looks at it. Any folded state may be as
//! large as the newest and share nothing with it.

mod kept;
mod shelf;
#[cfg(test)]
mod tests;

use crate::unpoisoned::unpoisoned;
use hindsight_api::{AsOf, AsOfError, LostByRestore, StateAt};
use hindsight_core::{Revision, State};
pub(crate) use kept::{Kept, replaced_by};
use shelf::Shelf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

/// How many may look at the past at the same time.
const SEATS_MAX: usize = 4;
/// The most folded states that are kept. They are likely to be asked for again: a list continues page by page, and a
/// client that looks at the past asks more than once. Any that is not kept is folded from the log again.
const RECENT_MAX: usize = 2;
/// How many states are folded at the same time; each fold uses all cores.
const FOLDS_MAX: usize = 2;
/// How long a request waits for its seat before it is told to try again.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// How long a state is kept that nobody uses.
const UNUSED_MAX: Duration = Duration::from_mins(5);
/// How often such states are looked for.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

/// A state, and what a restore lost if the point that was asked for is in it.
#[derive(Debug, Clone)]
struct Folded {
    state: Arc<State>,
    lost: Option<LostByRestore>,
}

/// The seats for those who look and for folds, and what is kept for the next request.
#[derive(Debug)]
pub(crate) struct Pasts {
    seats: Arc<Semaphore>,
    folds: Arc<Semaphore>,
    recent: Arc<Shelf<AsOf, Folded>>,
    kept: Arc<Kept>,
    /// The task that drops what nobody uses.
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

impl Pasts {
    /// Whoever publishes the newest state tells `kept` what it replaced.
    pub(crate) fn new(kept: Arc<Kept>) -> Self {
        Self {
            seats: Arc::new(Semaphore::new(SEATS_MAX)),
            folds: Arc::new(Semaphore::new(FOLDS_MAX)),
            recent: Arc::new(Shelf::new(RECENT_MAX)),
            kept,
            sweeper: Mutex::default(),
        }
    }

    /// Keeps what was the newest state when a page of a list began, for the next page.
    pub(crate) fn keep(&self, state: Arc<State>) {
        self.kept.keep(state, Instant::now());
        self.start_sweeper();
    }

    /// The state at this revision, if it is kept for a list.
    pub(crate) fn kept(&self, revision: Revision) -> Option<Arc<State>> {
        self.kept.get(revision, Instant::now())
    }

    /// Drops what is kept, and keeps no more.
    pub(crate) fn close(&self) {
        self.recent.close();
        self.kept.close();
    }

    /// Begins to drop what nobody uses. One task does, for as long as there is something that may be kept; after the
    /// end of its runtime another one follows.
    fn start_sweeper(&self) {
        let mut sweeper = unpoisoned(self.sweeper.lock());
        if sweeper.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let (recent, kept) = (Arc::downgrade(&self.recent), Arc::downgrade(&self.kept));
        *sweeper = Some(tokio::spawn(async move {
            loop {
                sleep(SWEEP_EVERY).await;
                let Some((recent, kept)) = recent.upgrade().zip(kept.upgrade()) else {
                    return;
                };
                recent.sweep(Instant::now(), |_| false);
                kept.drop_unused(Instant::now());
            }
        }));
    }

    /// The seat of a fold whose state nobody looks at, so that it takes none of theirs; `None` is never returned while
    /// this lives. Whoever has one gives it back once the fold is over, so this waits for as long as it takes.
    pub(crate) async fn fold_seat(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.folds).acquire_owned().await.ok()
    }

    /// The state at a point before the newest, kept or newly folded.
    pub(crate) async fn at(
        &self,
        point: AsOf,
        newest: Revision,
        fold: impl FnOnce() -> Result<(State, Option<LostByRestore>), AsOfError> + Send + 'static,
    ) -> Result<StateAt, AsOfError> {
        let ends = Instant::now() + WAIT_MAX;
        let seat = Arc::new(acquire(&self.seats, ends).await?);
        let found = |Folded { state, lost }, seat| StateAt {
            state,
            seat: Some(seat),
            lost,
        };
        if let Some(kept) = self.recent.get(point, Instant::now()) {
            return Ok(found(kept, seat));
        }
        let folding = acquire(&self.folds, ends).await?;
        // Another request may have folded it while this one waited.
        if let Some(kept) = self.recent.get(point, Instant::now()) {
            return Ok(found(kept, seat));
        }
        self.start_sweeper();
        // A fold runs to its end even if nobody waits for it any more; until then it holds its seat.
        let recent = Arc::clone(&self.recent);
        let run = move || {
            let folded = fold().map(|(state, lost)| Folded {
                state: Arc::new(state),
                lost,
            });
            // The state at a time may still change while no later commit is known.
            if let Ok(folded @ Folded { state, .. }) = folded.as_ref()
                && state.revision < newest
            {
                recent.keep(point, Instant::now(), |_| folded.clone());
            }
            drop(folding);
            (folded, seat)
        };
        let folded = tokio::task::spawn_blocking(run).await;
        let (folded, seat) = folded.map_err(|error| AsOfError::Unreadable(Arc::new(error)))?;
        Ok(found(folded?, seat))
    }
}

async fn acquire(seats: &Arc<Semaphore>, ends: Instant) -> Result<OwnedSemaphorePermit, AsOfError> {
    match timeout_at(ends, Arc::clone(seats).acquire_owned()).await {
        Ok(Ok(seat)) => Ok(seat),
        Ok(Err(_)) | Err(_) => Err(AsOfError::Busy),
    }
}
