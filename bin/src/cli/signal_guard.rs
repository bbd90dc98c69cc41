//! Ends the process on SIGINT, SIGTERM or SIGHUP only after a half-written file has been removed: such a file holds
//! every Secret.

use crate::hangup;
use crate::unpoisoned::unpoisoned;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Added to the number of a signal in the exit code, as shells do.
const BY_SIGNAL: i32 = 128;

/// Whether a signal came, after which the process ends with its code.
#[derive(Debug, Clone)]
pub(super) struct SignalGuard(Arc<Mutex<bool>>);

impl SignalGuard {
    /// From now on `clean_up` runs before a signal ends the process.
    pub(super) fn after(clean_up: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let guard = Self(Arc::default());
        let signalled = guard.clone();
        let signal = first_signal()?;
        let watch = move || {
            let kind = signal();
            *signalled.lock() = true;
            clean_up();
            end(kind);
        };
        let thread = std::thread::Builder::new().name("signals".into());
        thread.spawn(watch)?;
        Ok(guard)
    }

    pub(super) fn is_signalled(&self) -> bool {
        *self.lock()
    }

    /// Runs `make`, unless a signal came: what it creates is then either found by the clean-up, or never
    /// created.
    pub(super) fn unless_signalled<T>(&self, make: impl FnOnce() -> T) -> T {
        let signalled = self.lock();
        if *signalled {
            park_forever();
        }
        make()
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        unpoisoned(self.0.lock())
    }
}

fn park_forever() -> ! {
    loop {
        std::thread::park();
    }
}

/// Returns a function that waits for the first signal.
fn first_signal() -> io::Result<impl FnOnce() -> SignalKind + Send> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let entered = runtime.enter();
    let [mut interrupt, mut terminate] = kinds.map(|kind| signal(kind).map(|one| (one, kind)));
    let mut hung_up = hangup::watch().unwrap_or_default();
    drop(entered);
    let wait = async move {
        tokio::select! {
            kind = next(&mut interrupt) => kind,
            kind = next(&mut terminate) => kind,
            () = hangup::next(&mut hung_up) => SignalKind::hangup(),
        }
    };
    Ok(move || runtime.block_on(wait))
}

#[expect(clippy::exit, reason = "whoever is ended by a signal ends")]
fn end(kind: SignalKind) {
    std::process::exit(BY_SIGNAL + kind.as_raw_value());
}

async fn next(signal: &mut io::Result<(Signal, SignalKind)>) -> SignalKind {
    if let Ok((signal, kind)) = signal
        && signal.recv().await.is_some()
    {
        return *kind;
    }
    std::future::pending().await
}
