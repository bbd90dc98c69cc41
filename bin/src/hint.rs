//! Hints for the user at the terminal, and errors; or for whatever reads the log of a server, if that is JSON.

use crate::cli::legible::legible;
use std::borrow::Cow;
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
        print(&legible(text));
    }
}

/// Prints why the command failed to standard error.
pub(crate) fn error(text: &str) {
    if is_logged() {
        tracing::error!(target: TARGET, "{text}");
    } else {
        print(&legible_lines(text));
    }
}

/// Line by line: what is wrong in a file may be shown in several.
fn legible_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(legible).collect();
    lines.join("\n")
}

fn print(text: &str) {
    writeln!(stderr().lock(), "hindsight: {text}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_lines_and_steers_no_terminal() {
        assert_eq!(legible_lines("a\u{1b}[2K\nb"), "a\\u{1b}[2K\nb");
    }
}
