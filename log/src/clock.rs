//! The clock of a log and of what uses it: that of the system, or one of an embedding program.

use hindsight_core::Time;
use std::fmt::{Debug, Formatter, Result};
use std::sync::Arc;

/// Says what time it is.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    /// A clock that is read by calling this, from any thread and often. It must not panic or block: a panic in a
    /// thread of the log or of the collectors is a failure of that part, and whoever asks for the time waits. Times
    /// should be later than 1970, and are shown to the second or the microsecond.
    pub fn new(read: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        (self.0)()
    }
}

impl Debug for Clock {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        formatter.debug_tuple("Clock").field(&self.now()).finish()
    }
}
