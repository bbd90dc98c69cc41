//! Hints for the user at the terminal.

use std::io::{Write, stderr};

/// Prints what to do next to standard error.
pub(crate) fn hint(text: &str) {
    writeln!(stderr().lock(), "hindsight: {text}").ok();
}
