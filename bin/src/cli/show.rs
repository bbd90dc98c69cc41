//! Output: documents to standard output, errors to standard error.

use indicatif::{ProgressBar, ProgressStyle};
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

/// A bar on standard error while a log of this many commits is read; nothing without a terminal.
pub(super) fn progress(commits: u64) -> ProgressBar {
    let template = "{bar:40} {human_pos} of {human_len} commits, {eta} left";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(commits).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
