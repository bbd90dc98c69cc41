//! Long computations, which run on a thread where they hold up no other request. A runtime whose only
//! waking worker computes for seconds does not even notice that there is something to read.

use crate::apart::{apart, ended_early};
use crate::status::Failure;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// What is longer than this is offloaded, a body or what webhooks make of it: to decode so much takes some milliseconds.
pub(crate) const LONG_BYTES: usize = 64 << 10;
/// How many computations run at one time; others wait for their turn.
const SEATS_MAX: usize = 4;

static SEATS: Semaphore = Semaphore::const_new(SEATS_MAX);

/// Runs a computation, on another thread if it is about more than [`LONG_BYTES`]. It goes on to its end even if
/// its request is given up, and keeps its seat until then.
pub(crate) async fn offload<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    if bytes <= LONG_BYTES {
        return Ok(work());
    }
    if Handle::try_current().is_err() {
        return Ok(work());
    }
    let queued = apart(async {
        let seat = SEATS.acquire().await;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(seat);
            done
        });
        done.await
    });
    queued.await?.map_err(|failed| ended_early(&failed))
}

#[cfg(test)]
mod tests;
