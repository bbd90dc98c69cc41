//! Hints for the user at the terminal, and errors; or for whatever reads the log of a server, if that is JSON.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

/// What hints and errors are logged under.
const TARGET: &str = "hindsight::hint";
/// What is to be logged for hints and errors to be told, whatever else is.
pub(crate) const LOGGED: &str = "hindsight::hint=warn";

static IS_LOGGED: AtomicBool = AtomicBool::new(false);

/// From now on hints, errors and panics are entries of the log: each line of a log in JSON must be JSON.
pub(crate) fn log_hints() {
    IS_LOGGED.store(true, Ordering::SeqCst);
}

/// Whether hints and errors are entries of the log.
pub(crate) fn is_logged() -> bool {
    IS_LOGGED.load(Ordering::SeqCst)
}

/// Prints what to do next to standard error.
pub(crate) fn hint(text: &str) {
    if is_logged() {
        tracing::warn!(target: TARGET, "{text}");
    } else {
        print(text);
    }
}

/// Prints why the command failed to standard error.
pub(crate) fn error(text: &str) {
    if is_logged() {
        tracing::error!(target: TARGET, "{text}");
    } else {
        print(text);
    }
}

fn print(text: &str) {
    writeln!(stderr().lock(), "hindsight: {text}").ok();
}
