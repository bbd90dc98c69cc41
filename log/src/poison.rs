//! Whether a log has failed. The outcome of what was in progress is unknown then; reopening the log
//! settles it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

/// Why a log takes no more writes, if it has failed. Set once, by whichever thread fails first.
#[derive(Debug, Clone, Default)]
pub struct Poison(Arc<OnceLock<String>>);

impl Poison {
    /// The reason; `None` while the log is sound.
    pub fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Blocks until there is a reason, possibly for ever.
    pub fn wait(&self) -> &str {
        self.0.wait()
    }

    pub(crate) fn set(&self, reason: String) {
        self.0.get_or_init(|| {
            tracing::error!(
                reason,
                "the event log is poisoned and accepts no more writes"
            );
            reason
        });
    }

    /// Runs `run`. If it panics, the log is poisoned, and later submissions are refused.
    pub(crate) fn guard(&self, who: &str, run: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            self.set(format!("its {who} ended in a panic"));
        }
    }
}
