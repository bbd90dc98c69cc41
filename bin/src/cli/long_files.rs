//! The limit on the length of a file.

use tokio::signal::unix::{SignalKind, signal};

/// The signal number of `SIGXFSZ`.
const FILE_TOO_LONG: i32 = 25;

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
