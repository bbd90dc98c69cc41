//! The limit on the length of a file.

use std::os::fd::AsFd;
use tokio::signal::unix::{SignalKind, signal};

/// The signal number of `SIGXFSZ`.
const FILE_TOO_LONG: i32 = 25;

/// Descriptors that the listener takes, or more. tokio panics if it finds too few.
const DESCRIPTORS: usize = 8;

/// Checks that as many files can be open at once.
pub(super) fn has_descriptors() -> std::io::Result<()> {
    let errors = std::io::stderr();
    let opened = (0..DESCRIPTORS).map(|_| errors.as_fd().try_clone_to_owned());
    opened.collect::<std::io::Result<Vec<_>>>().map(drop)
}

/// Makes a write beyond the limit on a file's size fail like any other. Without a listener for the signal it
/// would end the process without a message.
pub(super) fn outlive() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _inside = runtime.enter();
    let listener = signal(SignalKind::from_raw(FILE_TOO_LONG))?;
    // The handler remains for as long as the process.
    drop(listener);
    Ok(())
}
