//! The trace of a schedule: what happened, one line per event, and how often each kind of event did.

use std::collections::BTreeMap;
use std::fmt::Display;

/// The trace of one schedule.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The lines in order; empty unless `is_verbose`.
    pub lines: Vec<String>,
    /// How often each kind of event happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// Whether lines are written at all. Writing them takes half of the time, and a failing schedule
    /// can be run again.
    pub is_verbose: bool,
}

impl Trace {
    /// Counts an event and writes a line about it.
    pub fn note(&mut self, kind: &'static str, detail: impl Display) {
        self.count(kind, 1);
        self.line(format_args!("{kind} {detail}"));
    }

    /// Writes a line.
    pub fn line(&mut self, line: impl Display) {
        if self.is_verbose {
            self.lines.push(line.to_string());
        }
    }

    /// Counts events without writing a line.
    pub fn count(&mut self, kind: &'static str, times: u64) {
        *self.counts.entry(kind).or_default() += times;
    }

    /// The last lines, for the message of a failure.
    pub fn tail(&self, lines: usize) -> String {
        let first = self.lines.len().saturating_sub(lines);
        self.lines[first..].join("\n")
    }
}
