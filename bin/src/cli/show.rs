//! Output: documents to standard output, errors to standard error.

use std::io::Write;

/// Prints a line; a closed pipe ends the output, not the process.
pub(super) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

pub(super) fn json(document: &serde_json::Value) {
    line(&serde_json::to_string_pretty(document).unwrap_or_default());
}

/// The whole chain of causes, in one line.
pub(super) fn error(error: &anyhow::Error) {
    writeln!(std::io::stderr().lock(), "hindsight: {error:#}").ok();
}
