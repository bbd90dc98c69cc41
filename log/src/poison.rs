//! Whether a log has failed. What was under way then has an unknown outcome; opening it again decides.

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
        tracing::error!(reason, "the event log is poisoned; it takes no more writes");
        self.0.get_or_init(|| reason);
    }
}
