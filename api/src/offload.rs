//! Long computations, which run on a thread where they hold up no other request. A runtime whose only
//! waking worker computes for seconds does not even notice that there is something to read.

use crate::apart::{apart, ended_early};
use crate::status::Failure;
use crate::unpoisoned::unpoisoned;
use std::sync::{Arc, Mutex, Weak};
use tokio::runtime::{Handle, Id};
use tokio::sync::Semaphore;

/// What is longer than this is offloaded, a body or what webhooks make of it: to decode so much takes some milliseconds.
pub(crate) const LONG_BYTES: usize = 64 << 10;
/// How many computations run at one time in a runtime; others wait for their turn.
const SEATS_MAX: usize = 4;

/// The seats of each runtime in which somebody has one or waits. A runtime that nobody drives gives no seat back that
/// somebody in it was given, not even if the request was given up; in others they would be missing for ever.
static SEATS: Mutex<Vec<(Id, Weak<Semaphore>)>> = Mutex::new(Vec::new());

fn seats_of(runtime: &Handle) -> Arc<Semaphore> {
    let mut all = unpoisoned(SEATS.lock());
    all.retain(|(_, seats)| seats.strong_count() > 0);
    let known = all.iter().find(|(id, _)| *id == runtime.id());
    if let Some(seats) = known.and_then(|(_, seats)| seats.upgrade()) {
        return seats;
    }
    let seats = Arc::new(Semaphore::new(SEATS_MAX));
    all.push((runtime.id(), Arc::downgrade(&seats)));
    seats
}

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
    let seats = seats_of(&runtime);
    let queued = apart(async {
        let seat = seats.acquire_owned().await;
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
