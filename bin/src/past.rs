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
const PLACES_MAX: usize = 4;
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

/// The places for those who look and for folds, and what was folded last.
#[derive(Debug)]
pub(crate) struct Pasts {
    places: Arc<Semaphore>,
    folds: Arc<Semaphore>,
    recent: Arc<Recent>,
}

impl Default for Pasts {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES_MAX)),
            folds: Arc::new(Semaphore::new(FOLDS_MAX)),
            recent: Arc::default(),
        }
    }
}

impl Pasts {
    /// The state at a point before the newest, kept or newly folded.
    pub(crate) async fn at(
        &self,
        point: AsOf,
        newest: Revision,
        fold: impl FnOnce() -> Result<(State, Option<Gap>), AsOfError> + Send + 'static,
    ) -> Result<Past, AsOfError> {
        let ends = Instant::now() + WAIT_MAX;
        let place = Arc::new(acquire(&self.places, ends).await?);
        let found = |Folded { state, gap }, permit| Past {
            state,
            permit: Some(permit),
            gap,
        };
        if let Some(kept) = self.recent.get(point) {
            return Ok(found(kept, place));
        }
        let folding = acquire(&self.folds, ends).await?;
        // Another request may have folded it while this one waited.
        if let Some(kept) = self.recent.get(point) {
            return Ok(found(kept, place));
        }
        // A fold runs to its end even if nobody waits for it any more; until then it holds its place.
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
            (folded, place)
        };
        let folded = tokio::task::spawn_blocking(run).await;
        let (folded, place) = folded.map_err(|error| AsOfError::Unreadable(Arc::new(error)))?;
        Ok(found(folded?, place))
    }
}

async fn acquire(
    places: &Arc<Semaphore>,
    ends: Instant,
) -> Result<OwnedSemaphorePermit, AsOfError> {
    match timeout_at(ends, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => Ok(place),
        Ok(Err(_)) | Err(_) => Err(AsOfError::Busy),
    }
}
