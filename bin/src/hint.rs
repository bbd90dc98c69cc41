//! A word to whoever sits at the terminal.

use std::io::{Write, stderr};

/// What to do next, on standard error.
pub(crate) fn hint(text: &str) {
    writeln!(stderr().lock(), "hindsight: {text}").ok();
}
