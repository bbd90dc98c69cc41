//! How long somebody has waited for the log: a disk that stands still answers nobody and fails nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Writes that are not answered yet.
#[derive(Debug, Clone)]
pub(crate) struct Pending(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    start: Instant,
    waiting: AtomicUsize,
    /// When one was answered last, or began to wait alone, in milliseconds from the start.
    moved: AtomicU64,
}

/// One of them, until it is dropped.
pub(crate) struct Waiting(Pending);

impl Pending {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            start: Instant::now(),
            waiting: AtomicUsize::new(0),
            moved: AtomicU64::new(0),
        }))
    }

    pub(crate) fn begin(&self) -> Waiting {
        if self.0.waiting.fetch_add(1, Ordering::AcqRel) == 0 {
            self.note();
        }
        Waiting(self.clone())
    }

    /// How long nothing was answered though somebody waited.
    pub(crate) fn stuck(&self, now: Instant) -> Duration {
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            return Duration::ZERO;
        }
        let moved = Duration::from_millis(self.0.moved.load(Ordering::Acquire));
        now.saturating_duration_since(self.0.start)
            .saturating_sub(moved)
    }

    fn note(&self) {
        let millis = self.0.start.elapsed().as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        self.0.moved.store(millis, Ordering::Release);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.note();
        self.0.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stuck_while_somebody_waits_and_nobody_is_answered() {
        let pending = Pending::new();
        let later = Instant::now() + Duration::from_hours(1);
        let hour = Duration::from_secs(3590)..Duration::from_secs(3610);
        assert_eq!(pending.stuck(later), Duration::ZERO, "nobody waits");
        let (first, second) = (pending.begin(), pending.begin());
        assert!(hour.contains(&pending.stuck(later)));
        drop(first);
        assert!(
            hour.contains(&pending.stuck(later)),
            "the other still waits"
        );
        drop(second);
        assert_eq!(pending.stuck(later), Duration::ZERO, "all are answered");
    }
}
