//! Closes a storage engine. It writes and syncs its file then, and panics if it cannot: an error, and not the end
//! of whoever closes it.

use crate::Error;
use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

thread_local! {
    static IS_CLOSING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is closing a storage engine. A panic is caught then, and its message becomes an error or a
/// warning: a panic hook need not report it.
pub fn is_closing_engine() -> bool {
    IS_CLOSING.get()
}

/// Runs what closes an engine. A panic of that is an error.
pub(super) fn closed(close: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let was_closing = IS_CLOSING.replace(true);
    let closed = catch_unwind(AssertUnwindSafe(close));
    IS_CLOSING.set(was_closing);
    closed.unwrap_or_else(|panic| {
        let reason = std::io::Error::other(format!(
            "the storage engine's last write or sync failed ({})",
            message(&*panic)
        ));
        Err(Error::io("closing the event log")(reason))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason was given")
}

/// An engine of which every handle is another owner. It is closed when this is dropped, so every handle that was
/// made elsewhere must be dropped before.
#[derive(Debug)]
pub(super) struct Engine<T> {
    handle: T,
    /// Behind the other in the order of dropping.
    last: LastHandle<T>,
}

impl<T: Clone> Engine<T> {
    pub(super) fn new(handle: T) -> Self {
        Self {
            last: LastHandle {
                handle: Some(handle.clone()),
                failure: Arc::default(),
            },
            handle,
        }
    }

    /// Holds the first error of closing the engine, or of what is to be done before. While somebody has this, there is
    /// no warning.
    pub(super) fn failure(&self) -> Arc<OnceLock<Error>> {
        Arc::clone(&self.last.failure)
    }
}

impl<T> Deref for Engine<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.handle
    }
}

#[derive(Debug)]
struct LastHandle<T> {
    /// `None` once it is dropped.
    handle: Option<T>,
    failure: Arc<OnceLock<Error>>,
}

impl<T> Drop for LastHandle<T> {
    fn drop(&mut self) {
        let handle = self.handle.take();
        let closed = closed(|| {
            drop(handle);
            Ok(())
        });
        if let Err(error) = closed {
            self.failure.set(error).ok();
        }
        if let Some(error) = self.failure.get()
            && Arc::strong_count(&self.failure) == 1
        {
            tracing::warn!(
                %error,
                "the event log was not closed as it should be; the next start takes from the journal what the \
                 database lacks"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Fails when it is closed, as sled does, and notes whether a hook would have been silent.
    #[derive(Debug, Default)]
    struct Fails {
        was_closing: Arc<AtomicBool>,
    }

    impl Drop for Fails {
        fn drop(&mut self) {
            let is_closing = is_closing_engine();
            self.was_closing.store(is_closing, Ordering::Relaxed);
            panic!("the sync of its file failed");
        }
    }

    #[test]
    fn an_engine_that_fails_when_it_is_closed_gives_an_error_and_no_panic() {
        let fails = Fails::default();
        let was_closing = Arc::clone(&fails.was_closing);
        let engine = Engine::new(Arc::new(fails));
        let (failure, another) = (engine.failure(), Arc::clone(&engine));
        drop(another);
        assert!(!is_closing_engine());
        drop(engine);
        assert!(was_closing.load(Ordering::Relaxed));
        assert!(!is_closing_engine());
        let error = failure.get().expect("it failed").to_string();
        for told in ["closing the event log", "the sync of its file failed"] {
            assert!(error.contains(told), "{error}");
        }
    }

    /// As where an error is returned over another panic of the engine.
    #[test]
    fn an_engine_that_fails_while_a_panic_unwinds_does_not_abort_the_process() {
        let engine = Engine::new(Arc::new(Fails::default()));
        let failure = engine.failure();
        let unwound = catch_unwind(AssertUnwindSafe(move || {
            let _engine = engine;
            panic!("a defect");
        }));
        let panic = unwound.expect_err("it panicked");
        assert_eq!(message(&*panic), "a defect");
        assert!(failure.get().is_some());
    }
}
