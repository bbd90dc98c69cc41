//! Waits for a data directory that another process is about to give back: a question that is being answered, or
//! a server that was told to stop.

use hindsight_log::Error;
use std::time::{Duration, Instant};

/// How long a start or a restore waits: most questions take less, and so does the end of a server.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// The pause between two attempts.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Waits for the lock of a data directory: what is left of the time.
#[derive(Debug)]
pub(crate) struct LockWait {
    ends: Instant,
    /// Reports what is waited for; `None` once it has.
    tell: Option<fn(&str)>,
}

impl LockWait {
    pub(crate) fn begin(tell: fn(&str)) -> Self {
        Self {
            ends: Instant::now() + WAIT_MAX,
            tell: Some(tell),
        }
    }

    /// Whether to try again after this error, once the caller has paused. The first time, what is waited for is told.
    pub(crate) fn covers(&mut self, error: &Error) -> bool {
        let Error::Locked { directory, holder } = error else {
            return false;
        };
        if Instant::now() >= self.ends {
            return false;
        }
        if let Some(tell) = self.tell.take() {
            tell(&format!(
                "{} is in use by {holder}; waiting up to {} s for it to end",
                directory.display(),
                WAIT_MAX.as_secs()
            ));
        }
        true
    }
}
