//! Output: documents to standard output, errors to standard error.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::{BufWriter, Stdout, Write};

/// Prints a line; a closed pipe ends the output, not the process.
pub(super) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

pub(super) fn json(document: &Value) {
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

/// What to do next, on standard error.
pub(super) fn hint(text: &str) {
    writeln!(std::io::stderr().lock(), "hindsight: {text}").ok();
}

/// Documents, printed one by one: a line each, or as one JSON list with a line for each.
pub(super) struct List {
    out: BufWriter<Stdout>,
    json: bool,
    first: bool,
}

impl List {
    pub(super) fn new(json: bool) -> Self {
        Self {
            out: BufWriter::new(std::io::stdout()),
            json,
            first: true,
        }
    }

    /// Prints one; false once nobody reads.
    pub(super) fn add(&mut self, document: &Value, line: impl Fn(&Value) -> String) -> bool {
        let written = match (self.json, self.first) {
            (false, _) => writeln!(self.out, "{}", line(document)),
            (true, true) => write!(self.out, "[\n{document}"),
            (true, false) => write!(self.out, ",\n{document}"),
        };
        self.first = false;
        written.is_ok()
    }

    pub(super) fn end(mut self) {
        let end = match (self.json, self.first) {
            (false, _) => "",
            (true, true) => "[]\n",
            (true, false) => "\n]\n",
        };
        write!(self.out, "{end}")
            .and_then(|()| self.out.flush())
            .ok();
    }
}
