//! How long writes have waited for the log: a disk that stands still answers nobody and fails nobody.

use hindsight_core::Unavailable;
use hindsight_log::Reply;
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
    /// When a write was last answered, or began to wait alone, in milliseconds from the start.
    last_progress: AtomicU64,
}

/// A waiting write, until it is dropped.
struct Waiting(Pending);

impl Pending {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            start: Instant::now(),
            waiting: AtomicUsize::new(0),
            last_progress: AtomicU64::new(0),
        }))
    }

    /// Counts a write as waiting until it is answered. One that is turned away is not answered by the log, so
    /// it says nothing about those that wait.
    pub(crate) fn until_answered(&self, reply: Reply) -> Reply {
        let waiting = self.begin();
        Box::new(move |outcome| {
            if !matches!(outcome, Err(Unavailable::Overloaded)) {
                waiting.0.record_progress();
            }
            drop(waiting);
            reply(outcome);
        })
    }

    /// How long no write was answered although some waited.
    pub(crate) fn stalled_for(&self, now: Instant) -> Duration {
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            return Duration::ZERO;
        }
        let last_progress = Duration::from_millis(self.0.last_progress.load(Ordering::Acquire));
        now.saturating_duration_since(self.0.start)
            .saturating_sub(last_progress)
    }

    fn begin(&self) -> Waiting {
        // The time is noted before, or a check in between would see a write that has waited since the last
        // answer; and after, since those that waited before may have been answered in between.
        if self.0.waiting.load(Ordering::Acquire) == 0 {
            self.record_progress();
        }
        if self.0.waiting.fetch_add(1, Ordering::AcqRel) == 0 {
            self.record_progress();
        }
        Waiting(self.clone())
    }

    fn record_progress(&self) {
        let millis = self.0.start.elapsed().as_millis();
        let millis = u64::try_from(millis).unwrap_or(u64::MAX);
        self.0.last_progress.fetch_max(millis, Ordering::AcqRel);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pending: &Pending) -> Reply {
        pending.until_answered(Box::new(|_| {}))
    }

    #[test]
    fn writes_are_stuck_while_some_wait_and_none_is_answered() {
        let pending = Pending::new();
        let later = Instant::now() + Duration::from_hours(1);
        let hour = Duration::from_secs(3590)..Duration::from_secs(3610);
        assert_eq!(pending.stalled_for(later), Duration::ZERO, "nobody waits");
        let (first, second) = (wait(&pending), wait(&pending));
        assert!(hour.contains(&pending.stalled_for(later)));
        first(Ok(Vec::new()));
        assert!(
            hour.contains(&pending.stalled_for(later)),
            "the other still waits"
        );
        second(Err(Unavailable::Full));
        assert_eq!(
            pending.stalled_for(later),
            Duration::ZERO,
            "all are answered"
        );
        drop(wait(&pending));
        assert_eq!(pending.stalled_for(later), Duration::ZERO, "one has gone");
    }

    #[test]
    fn a_write_that_is_turned_away_does_not_count_as_answered() {
        let begun = Instant::now().checked_sub(Duration::from_secs(1));
        let pending = Pending(Arc::new(Inner {
            start: begun.expect("a machine that has run for a second"),
            waiting: AtomicUsize::new(0),
            last_progress: AtomicU64::new(0),
        }));
        let _stuck = wait(&pending);
        let last_progress = || pending.0.last_progress.load(Ordering::Acquire);
        assert!(last_progress() >= 1_000);
        pending.0.last_progress.store(0, Ordering::Release);
        let turned_away = wait(&pending);
        turned_away(Err(Unavailable::Overloaded));
        assert_eq!(last_progress(), 0);
        let written = wait(&pending);
        written(Ok(Vec::new()));
        assert!(last_progress() >= 1_000);
    }
}
