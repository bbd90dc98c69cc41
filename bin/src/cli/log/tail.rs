//! What is printed of the log: all entries, the first of them once it is known how wide they are; or only the newest
//! ones, once it is known which these are.

use crate::answer::LogEntry;
use crate::cli::parse::number;
use crate::cli::show::{self, List, ListFormat};
use anyhow::Result;
use std::collections::VecDeque;

/// The most entries that may be asked for, since they are held until the end.
const TAIL_MAX: usize = 10_000;

/// How many entries decide on the width of a revision. Later ones that are wider shift what follows.
const FIRST: usize = 1_000;
/// The least width of a revision, wide enough for most logs that were never restored.
const WIDTH_MIN: usize = 10;

/// Parses the number of entries.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let count = number(text).ok();
    let count = count.and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| (1..=TAIL_MAX).contains(count));
    count.ok_or_else(|| {
        format!(
            "expected a number from 1 to {TAIL_MAX}; for more, use --since, which has no such limit"
        )
    })
}

pub(super) struct Printed {
    list: List,
    is_text: bool,
    /// Entries that were read and are not printed yet.
    held: VecDeque<LogEntry>,
    /// How many of the newest are wanted; `None` if all are, or once these are printed.
    tail: Option<usize>,
    /// The width of a revision; zero until some are known.
    width: usize,
}

impl Printed {
    pub(super) fn new(format: ListFormat, tail: Option<usize>) -> Self {
        Self {
            list: List::new(format),
            is_text: format == ListFormat::Text,
            held: VecDeque::new(),
            tail,
            width: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.held.is_empty()
    }

    pub(super) fn add(&mut self, entry: &LogEntry) -> Result<()> {
        self.held.push_back(entry.clone());
        if let Some(wanted) = self.tail {
            if self.held.len() > wanted {
                self.held.pop_front();
            }
            return Ok(());
        }
        let decides = self.is_text && self.width == 0;
        if decides && self.held.len() < FIRST {
            return Ok(());
        }
        self.print()
    }

    fn print(&mut self) -> Result<()> {
        // Revisions ascend.
        let newest = self.held.back().map(|entry| entry.revision.to_string());
        let newest = newest.map_or(0, |revision| revision.len());
        let width = self.width.max(newest).max(WIDTH_MIN);
        self.width = width;
        for entry in self.held.drain(..) {
            self.list.add(&entry, |entry| line(entry, width))?;
        }
        Ok(())
    }

    /// Prints what is held. Everything that comes after this is printed at once.
    pub(super) fn show(&mut self) -> Result<()> {
        self.tail = None;
        self.print()?;
        self.list.flush()
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.show()?;
        self.list.end()
    }
}

fn line(entry: &LogEntry, width: usize) -> String {
    let (revision, time, user) = (entry.revision.0, &entry.time, &entry.user);
    let (object, events) = (
        &entry.object,
        show::join_bounded(&entry.events, entry.more_events),
    );
    if object.is_empty() {
        return format!("{revision:>width$}  {time}  {events}");
    }
    let mut told = events;
    if let Some(changed) = entry.changed.as_deref() {
        let paths = show::join_bounded(changed, entry.more_changed);
        if !paths.is_empty() {
            told = format!("{told} {paths}");
        }
        // What the server does by itself has no verb.
        if !entry.verb.is_empty() {
            let verb = format!("{} {}", entry.verb, entry.request.subresource);
            told = format!("{told} ({})", verb.trim());
        }
    }
    format!("{revision:>width$}  {time}  {user}  {object}: {told}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn an_update_shows_its_verb_whatever_it_changed() {
        let told = |verb: &str, changed: serde_json::Value| {
            let entry = json!({"revision": 7, "time": "T", "user": "u", "verb": verb, "object": "configmaps n/a",
                "uid": "i", "events": ["finalizer x/y set", "updated"], "changed": changed});
            let entry: LogEntry = from_value(entry).expect("an entry");
            let line = line(&entry, 1);
            line.split_once(": ").expect("events").1.to_owned()
        };
        for (verb, changed, expected) in [
            (
                "patch",
                json!(["data.k"]),
                "finalizer x/y set, updated data.k (patch)",
            ),
            ("patch", json!([]), "finalizer x/y set, updated (patch)"),
            ("", json!([]), "finalizer x/y set, updated"),
            ("", json!(["status"]), "finalizer x/y set, updated status"),
            ("patch", json!(null), "finalizer x/y set, updated"),
        ] {
            assert_eq!(told(verb, changed), expected);
        }
    }
}
