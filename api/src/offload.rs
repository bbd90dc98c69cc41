//! Long computations, which run on a thread where they hold up no other request. A runtime whose only
//! waking worker computes for seconds does not even notice that there is something to read.

use crate::status::Failure;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// A request whose body is longer than this is offloaded: to decode so much takes some milliseconds.
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
    let Ok(runtime) = Handle::try_current() else {
        return Ok(work());
    };
    // In a task of its own: a stream whose client does not read is not polled, and would keep a seat that it was
    // given while it waits.
    let queued = runtime.spawn(async {
        let seat = SEATS.acquire().await;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(seat);
            done
        });
        done.await
    });
    let given_up = GivenUp(queued.abort_handle());
    let done = queued.await.and_then(|done| done);
    drop(given_up);
    done.map_err(|failed| Failure::internal(format!("computing the answer ended early: {failed}")))
}

/// Takes a computation that has no seat yet out of the queue once nobody waits for it.
struct GivenUp(AbortHandle);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
