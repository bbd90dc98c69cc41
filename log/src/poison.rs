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
        // Logged only once it is set, and whatever becomes of the log.
        if self.0.set(reason).is_ok() {
            let reason = self.reason();
            // Whoever logs for an embedding program may panic. Then this is not logged, and nothing else is lost.
            catch_unwind(|| {
                tracing::error!(
                    reason,
                    "the event log is poisoned and accepts no more writes"
                );
            })
            .ok();
        }
    }

    /// Runs `run`. If it panics, the log is poisoned, and later submissions are refused.
    pub(crate) fn guard(&self, who: &str, run: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            self.set(format!("its {who} ended in a panic"));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// Counts what is logged on a thread.
    #[derive(Clone, Default)]
    pub(crate) struct Broken {
        tried: Arc<AtomicUsize>,
        /// Whether it can be written.
        is_sound: bool,
    }

    impl Broken {
        /// Runs this while nothing can be logged, which must have been tried.
        pub(crate) fn while_in_use<T>(run: impl FnOnce() -> T) -> T {
            let (done, tried) = Self::default().during(run);
            assert!(tried > 0, "the test shows nothing");
            done
        }

        fn during<T>(self, run: impl FnOnce() -> T) -> (T, usize) {
            let tried = Arc::clone(&self.tried);
            let done = tracing::subscriber::with_default(self, run);
            (done, tried.load(Ordering::Relaxed))
        }
    }

    /// How many times something is logged meanwhile.
    pub(crate) fn logged<T>(run: impl FnOnce() -> T) -> (T, usize) {
        let counting = Broken {
            is_sound: true,
            ..Broken::default()
        };
        counting.during(run)
    }

    impl Subscriber for Broken {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {
            self.tried.fetch_add(1, Ordering::Relaxed);
            assert!(self.is_sound, "it cannot be written to");
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// Otherwise whoever submits next waits for ever for a thread that has ended.
    #[test]
    fn a_log_is_poisoned_even_if_that_cannot_be_told() {
        let poison = Poison::default();
        Broken::while_in_use(|| poison.set("a reason".into()));
        assert_eq!(poison.reason(), Some("a reason"));
    }

    /// What the thread does after its work, such as answering whoever waits, is done all the same.
    #[test]
    fn a_thread_that_panics_where_that_cannot_be_told_goes_on_to_its_end() {
        let poison = Poison::default();
        Broken::while_in_use(|| poison.guard("decider", || panic!("a defect")));
        assert_eq!(poison.reason(), Some("its decider ended in a panic"));
    }
}
