//! The rate and the latency percentiles of many operations.

use std::fmt;
use std::time::Duration;

/// Rate and latency of one measured phase.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Number of operations.
    pub count: usize,
    /// How long the whole phase took.
    pub elapsed: Duration,
    latencies: Vec<Duration>,
}

impl Figures {
    /// The figures of a phase, from the latency of every operation.
    pub fn new(mut latencies: Vec<Duration>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self {
            count: latencies.len(),
            elapsed,
            latencies,
        }
    }

    /// Operations per second.
    pub fn rate(&self) -> f64 {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        f64::from(count) / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The latency that `percent` per cent of the operations did not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let last = self.count.saturating_sub(1);
        let index = (self.count * percent / 100).min(last);
        self.latencies.get(index).copied().unwrap_or_default()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        write!(
            f,
            "{:>8.0}/s  p50 {:>7.2} ms  p99 {:>7.2} ms  ({} in {:.2} s)",
            self.rate(),
            ms(self.percentile(50)),
            ms(self.percentile(99)),
            self.count,
            self.elapsed.as_secs_f64()
        )
    }
}
