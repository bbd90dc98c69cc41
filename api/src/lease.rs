//! A lease on something scarce that a stream holds. It lasts while the client reads what it is sent, and reads
//! at some pace. A stream that is not read is not polled either, so a task of its own must check.

use crate::reading::{GRACE, STALLED, earned};
use crate::unpoisoned::unpoisoned;
use std::sync::{Arc, Mutex, Weak};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};

/// Something that is taken back from a client that does not use it, or uses it too little.
pub(crate) struct Lease<T> {
    held: Arc<Mutex<Leased<T>>>,
    /// The task that checks whether the value is used, for as long as the lease exists.
    watched: Option<AbortHandle>,
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        if let Some(watched) = &self.watched {
            watched.abort();
        }
    }
}

struct Leased<T> {
    value: Option<T>,
    begun: Instant,
    used: Instant,
    taken: u64,
}

impl<T> Leased<T> {
    fn due(&self) -> Instant {
        (self.used + STALLED).min(self.begun + GRACE + earned(self.taken))
    }
}

impl<T: Send + 'static> Lease<T> {
    /// Leases a value.
    pub(crate) fn new(value: T) -> Self {
        let mut lease = Self::unlimited(value);
        lease.limit();
        lease
    }

    /// From now on the value is taken back if it is not used. Without a runtime nobody checks, and the lease
    /// lasts.
    pub(crate) fn limit(&mut self) {
        if let Ok(runtime) = Handle::try_current() {
            let looking = runtime.spawn(reclaim(Arc::downgrade(&self.held)));
            self.watched = Some(looking.abort_handle());
        }
    }

    /// A lease that is not taken back before it is limited.
    pub(crate) fn unlimited(value: T) -> Self {
        let now = Instant::now();
        let held = Leased {
            value: Some(value),
            begun: now,
            used: now,
            taken: 0,
        };
        Self {
            held: Arc::new(Mutex::new(held)),
            watched: None,
        }
    }

    /// Uses the value; `None` once it was taken back.
    pub(crate) fn with<R>(&self, make_use: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut held = unpoisoned(self.held.lock());
        held.used = Instant::now();
        held.value.as_mut().map(make_use)
    }

    /// Notes that the client reads more of what was made from the value before.
    pub(crate) fn renew(&self) {
        unpoisoned(self.held.lock()).used = Instant::now();
    }

    /// Notes how many bytes were made from the value for the client.
    pub(crate) fn record_bytes(&self, bytes: usize) {
        unpoisoned(self.held.lock()).taken += bytes as u64;
    }
}

async fn reclaim<T>(held: Weak<Mutex<Leased<T>>>) {
    while let Some(due) = due(&held) {
        sleep_until(due).await;
    }
}

/// When to look again. Takes the value back if it is due, and returns `None` then, or if the lease is gone.
fn due<T>(held: &Weak<Mutex<Leased<T>>>) -> Option<Instant> {
    let held = held.upgrade()?;
    let mut held = unpoisoned(held.lock());
    let due = held.due();
    if due > Instant::now() {
        return Some(due);
    }
    let value = held.value.take();
    drop(held);
    // Freed without the lock: it may be a whole state, and a concurrent use need not wait for that.
    drop(value);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::sleep;

    #[test]
    fn an_unused_lease_is_taken_back_and_a_used_one_stays() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let scarce = Arc::new(());
            let [used, idle] = [(), ()].map(|()| Lease::new(Arc::clone(&scarce)));
            let unlimited = Lease::unlimited(Arc::clone(&scarce));
            for _ in 0..4 {
                sleep(STALLED / 2).await;
                assert!(used.with(|_| ()).is_some());
            }
            assert_eq!(Arc::strong_count(&scarce), 3, "one was taken back");
            assert!(idle.with(|_| ()).is_none());
            assert!(unlimited.with(|_| ()).is_some());
            drop(used);
            assert_eq!(
                Arc::strong_count(&scarce),
                2,
                "what is dropped is free at once"
            );
        });
    }

    #[test]
    fn a_lease_that_is_used_too_slowly_is_taken_back() {
        const PIECE: usize = 64 << 10;
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let [slow, steady] = [(), ()].map(|()| Lease::new(()));
            let begun = Instant::now();
            while slow.with(|()| ()).is_some() {
                slow.record_bytes(PIECE);
                for _ in 0..15 {
                    sleep(slow_pause() / 15).await;
                    assert!(steady.with(|()| ()).is_some());
                    steady.record_bytes(PIECE);
                }
                assert!(begun.elapsed() < Duration::from_hours(1), "it has an end");
            }
            assert!(begun.elapsed() >= GRACE);
            for _ in 0..600 {
                sleep(slow_pause() / 15).await;
                assert!(steady.with(|()| ()).is_some());
                steady.record_bytes(PIECE);
            }
        });
    }

    /// Just in time, each time; a fifteenth of it is fast enough.
    const fn slow_pause() -> Duration {
        Duration::from_secs(59)
    }
}
