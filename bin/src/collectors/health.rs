//! The health of the collectors: a defect must not stop them silently.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The pause before the collectors first begin anew; it doubles each time, up to the maximum.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// The number of panics since the collectors were last sound.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<AtomicU32>);

impl Health {
    /// Notes a panic; returns how long to wait before beginning anew.
    pub(super) fn record_panic(&self) -> Duration {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        PAUSE_MIN
            .saturating_mul(2_u32.saturating_pow(before))
            .min(PAUSE_MAX)
    }

    /// Notes that the collectors are sound: nothing is left to do, or much was done.
    pub(super) fn mark_healthy(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn complaint(&self) -> Option<String> {
        let panics = self.0.load(Ordering::Relaxed);
        (panics > 0).then(|| {
            format!(
                "the collectors panicked and started over, {panics} times so far: objects due for collection stay \
                 until they succeed; the process's own log shows where they panicked"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_panic_is_waited_for_longer_until_all_is_done() {
        let health = Health::default();
        assert_eq!(health.complaint(), None);
        let pauses: Vec<Duration> = (0..40).map(|_| health.record_panic()).collect();
        assert_eq!(pauses[..3], [100, 200, 400].map(Duration::from_millis));
        assert_eq!(pauses[39], PAUSE_MAX);
        assert!(health.complaint().expect("one").contains("40 times"));
        health.mark_healthy();
        assert_eq!(health.complaint(), None);
        assert_eq!(health.record_panic(), PAUSE_MIN);
    }
}
