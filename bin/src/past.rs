//! States of the past, folded from the log: a few points at a time, each for as long as somebody looks at it.
//! Any of them may be as large as the newest state and share nothing with it.

mod recent;
#[cfg(test)]
mod tests;

use hindsight_api::{AsOf, AsOfError, Gap, Past};
use hindsight_core::{Revision, State};
use recent::Recent;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// How many may look at the past at the same time.
const SEATS_MAX: usize = 4;
/// How many states are folded at the same time; each fold uses all cores.
const FOLDS_MAX: usize = 2;
/// How long a request waits for its turn before it is told to try again.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// A state, and what a restore lost if the point that was asked for is in it.
#[derive(Debug, Clone)]
struct Folded {
    state: Arc<State>,
    gap: Option<Gap>,
}

/// The seats for those who look and for folds, and what was folded last.
#[derive(Debug)]
pub(crate) struct Pasts {
    seats: Arc<Semaphore>,
    folds: Arc<Semaphore>,
    recent: Arc<Recent>,
}

impl Default for Pasts {
    fn default() -> Self {
        Self {
            seats: Arc::new(Semaphore::new(SEATS_MAX)),
            folds: Arc::new(Semaphore::new(FOLDS_MAX)),
            recent: Arc::default(),
        }
    }
}

impl Pasts {
    /// The turn to fold a state that nobody looks at, so that it takes no seat; `None` is never returned while this
    /// lives. Whoever has a turn gives it back once the fold is over, so this waits for as long as it takes.
    pub(crate) async fn turn_to_fold(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.folds).acquire_owned().await.ok()
    }

    /// The state at a point before the newest, kept or newly folded.
    pub(crate) async fn at(
        &self,
        point: AsOf,
        newest: Revision,
        fold: impl FnOnce() -> Result<(State, Option<Gap>), AsOfError> + Send + 'static,
    ) -> Result<Past, AsOfError> {
        let ends = Instant::now() + WAIT_MAX;
        let seat = Arc::new(acquire(&self.seats, ends).await?);
        let found = |Folded { state, gap }, permit| Past {
            state,
            permit: Some(permit),
            gap,
        };
        if let Some(kept) = self.recent.get(point) {
            return Ok(found(kept, seat));
        }
        let folding = acquire(&self.folds, ends).await?;
        // Another request may have folded it while this one waited.
        if let Some(kept) = self.recent.get(point) {
            return Ok(found(kept, seat));
        }
        // A fold runs to its end even if nobody waits for it any more; until then it holds its seat.
        let recent = Arc::clone(&self.recent);
        let run = move || {
            let folded = fold().map(|(state, gap)| Folded {
                state: Arc::new(state),
                gap,
            });
            // The state at a time may still change while no later commit is known.
            if let Ok(folded @ Folded { state, .. }) = folded.as_ref()
                && state.revision < newest
            {
                recent.keep(point, folded);
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
