//! What happened, a line a step, and how often each thing did.

use std::collections::BTreeMap;

/// The lines of one schedule.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// In order.
    pub lines: Vec<String>,
    /// How often each kind of thing happened.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Trace {
    /// Counts and writes down.
    pub fn note(&mut self, kind: &'static str, detail: impl std::fmt::Display) {
        self.count(kind, 1);
        self.lines.push(format!("{kind} {detail}"));
    }

    /// Counts.
    pub fn count(&mut self, kind: &'static str, times: u64) {
        *self.counts.entry(kind).or_default() += times;
    }

    /// The last lines, for the message of a failure.
    pub fn tail(&self, lines: usize) -> String {
        let first = self.lines.len().saturating_sub(lines);
        self.lines[first..].join("\n")
    }
}
