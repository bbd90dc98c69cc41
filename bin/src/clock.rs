//! The clock of a control plane: that of the system, or one of an embedding program.

#[cfg(test)]
mod tests;

use crate::effects;
use hindsight_core::Time;
use std::fmt::{Debug, Formatter, Result};
use std::sync::Arc;

/// Says what time it is: [`crate::system_clock`] by default. With a clock of its own, a test waits for no
/// deadline:
///
/// ```
/// use hindsight::core::Time;
/// use hindsight::{Clock, Config, ControlPlane};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicI64, Ordering};
///
/// let micros = Arc::new(AtomicI64::new(1_800_000_000_000_000));
/// let read = Arc::clone(&micros);
/// let plane = ControlPlane::open(Config {
///     clock: Clock::new(move || Time(read.load(Ordering::SeqCst))),
///     ..Config::default()
/// })?;
/// micros.fetch_add(3_600_000_000, Ordering::SeqCst);
/// plane.clock_changed(); // the collectors look at once, not within a second
/// assert_eq!(plane.now(), Time(1_800_003_600_000_000));
/// plane.close();
/// # Ok::<(), hindsight::OpenError>(())
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    /// A clock that is read by calling this, from any thread and often. Times should be later than 1970, and
    /// are shown to the second or the microsecond.
    pub fn new(read: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        (self.0)()
    }
}

impl Default for Clock {
    /// The clock of the system.
    fn default() -> Self {
        Self::new(effects::now)
    }
}

impl Debug for Clock {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        formatter.debug_tuple("Clock").field(&self.now()).finish()
    }
}
