//! Whether a log has failed. What was under way then has an unknown outcome; opening it again decides.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// Why a log takes no more writes, if it does not. Set once, by whichever thread fails first.
#[derive(Debug, Clone, Default)]
pub struct Poison(Arc<OnceLock<String>>);

impl Poison {
    /// The reason; nothing while all is well.
    pub fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Sleeps until there is a reason, which may be for ever.
    pub fn wait(&self) -> &str {
        self.0.wait()
    }

    pub(crate) fn set(&self, reason: String) {
        self.0.get_or_init(|| {
            tracing::error!(reason, "the event log is poisoned; it takes no more writes");
            reason
        });
    }

    /// A panic takes the log with it: whoever comes later is refused.
    pub(crate) fn guard(&self, who: &str, run: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            self.set(format!("its {who} ended in a panic"));
        }
    }
}
