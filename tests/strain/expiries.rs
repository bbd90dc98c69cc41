//! When a watch may be ended as expired: what its recorder notes of each such end, and the judgement once the log has
//! been read. Source: `docs/reliability.md`, "What a watcher that does not read holds". No backup is restored here.

use hindsight_core::{Change, Revision};
use hindsight_projector::Window;
use hindsight_tests::sim::history::History;
use hindsight_tests::wire::Wire;
use serde_json::Value;
use std::io::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the window holds.
pub(super) const WINDOW_BYTES: usize = 16 << 20;
/// How long a watch that needs the log waits for its turn before it is told to list again.
const SEAT_WAIT: Duration = Duration::from_secs(2);
/// How many watches read the log at a time: with fewer besides it, one has its turn at once.
const SEATS: usize = 2;
/// How long a client may read nothing while it has its turn.
const UNREAD: Duration = Duration::from_mins(1);

/// A stream, or a list in pages, that may read the log: from the revision after which it began.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// `None` for a list, whose later pages are of the past.
    from: Option<Revision>,
    /// Where the log ended when the server started.
    start: Revision,
    opened: Instant,
    closed: Option<Instant>,
}

/// The end of a stream as expired.
#[derive(Debug)]
struct Expiry {
    stream: Reading,
    /// How far the watch had come, as far as its client knows.
    position: Revision,
    message: String,
    at: Instant,
    /// How long its client had read nothing before that.
    unread: Duration,
    /// Whether what comes after the position had been dropped, when that was asked for next: `None` if its server
    /// was killed before that.
    is_dropped: Option<bool>,
}

/// What an informer notes for the judgement.
#[derive(Debug, Default)]
pub(super) struct Notes {
    readings: Vec<Reading>,
    expiries: Vec<Expiry>,
    read: Option<Instant>,
}

/// How many ends had each reason.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    pub(super) dropped: usize,
    pub(super) no_turn: usize,
    pub(super) unread: usize,
}

impl Notes {
    /// A stream begins, or with no position a list.
    pub(super) fn open(&mut self, from: Option<Revision>, start: Revision) {
        let opened = Instant::now();
        self.read = Some(opened);
        self.readings.push(Reading {
            from,
            start,
            opened,
            closed: None,
        });
    }

    pub(super) fn close(&mut self) {
        if let Some(reading) = self.readings.last_mut() {
            reading.closed.get_or_insert_with(Instant::now);
        }
    }

    /// A line was read.
    pub(super) fn read(&mut self) {
        self.read = Some(Instant::now());
    }

    /// The stream was ended as expired, with this message.
    pub(super) fn expire(&mut self, position: Revision, message: &str) {
        let at = Instant::now();
        self.expiries.push(Expiry {
            stream: *self.readings.last().expect("a stream"),
            position,
            message: message.to_owned(),
            at,
            unread: self.read.map_or(Duration::ZERO, |read| at - read),
            is_dropped: None,
        });
    }

    /// Asks the server why the last stream expired, before the next one begins.
    pub(super) fn ask(&mut self, wire: &mut Wire) -> Result<()> {
        if let Some(last) = self.expiries.last_mut()
            && last.is_dropped.is_none()
        {
            last.is_dropped = Some(is_dropped(wire, last.asked())?);
        }
        Ok(())
    }
}

/// Whether history up to this revision, or beyond it, was dropped. The log is asked, because a state that was read
/// before may be served from memory.
pub(super) fn is_dropped(wire: &mut Wire, at: Revision) -> Result<bool> {
    let path = format!("/hindsight/v1/log?from={at}");
    loop {
        let reply = wire.ask("GET", &path, "")?;
        match reply.code {
            410 => return Ok(true),
            // Others read the log.
            429 => continue,
            code => assert_eq!(code, 200, "{}", reply.body),
        }
        let page: Value = serde_json::from_str(&reply.body).expect("JSON");
        return Ok(page["floor"].as_u64().expect("a floor") > at.0);
    }
}

impl Expiry {
    /// The revisions in the message: how far the watch had come, which may be further than what its client was sent,
    /// and from where the server could have gone on.
    fn told(&self) -> Option<(Revision, Revision)> {
        let rest = self.message.strip_prefix("too old resource version: ")?;
        let (asked, oldest) = rest.strip_suffix(')')?.split_once(" (")?;
        Revision::parse(asked).zip(Revision::parse(oldest))
    }

    fn asked(&self) -> Revision {
        self.told().map_or(self.position, |(asked, _)| asked)
    }
}

impl Reading {
    /// Whether the window may not have reached this revision: it is empty when a server starts.
    fn window_may_miss(&self, from: Revision, written: &Written) -> bool {
        from < self.start || written.after(from) > WINDOW_BYTES
    }

    /// Whether it may have read the log while that stream was open.
    fn may_read_beside(&self, stream: &Self, until: Instant, written: &Written) -> bool {
        let overlaps =
            self.opened <= until && self.closed.is_none_or(|closed| closed >= stream.opened);
        let reads = self
            .from
            .is_none_or(|from| self.window_may_miss(from, written));
        self.start == stream.start && overlaps && reads
    }
}

/// What a life wrote: up to each of its revisions, how many bytes the window would hold of all before.
struct Written(Vec<(Revision, usize)>);

impl Written {
    /// Of the life that began and ended at these revisions, and before.
    fn of(history: &History, end: Revision) -> Self {
        let mut bytes = 0;
        let until = |(commit, state): (&Arc<hindsight_core::Commit>, &hindsight_core::State)| {
            let previous = state.get(&commit.key).cloned();
            let (commit, revision) = (Arc::clone(commit), commit.revision);
            bytes += Window::bytes_of(&Change { commit, previous });
            (revision, bytes)
        };
        let commits = history.with_states();
        let commits = commits.take_while(|(commit, _)| commit.revision <= end);
        Self(commits.map(until).collect())
    }

    /// The bytes of all that was written after this revision.
    fn after(&self, from: Revision) -> usize {
        let all = self.0.last().map_or(0, |last| last.1);
        let before = self.0.partition_point(|(revision, _)| *revision <= from);
        let before = before.checked_sub(1).and_then(|last| self.0.get(last));
        all - before.map_or(0, |last| last.1)
    }
}

/// Judges every end as expired. A life of the server goes from one of these ends of the log to the next.
pub(super) fn judge(history: &History, ends: &[Revision], all: &[&Notes]) -> Reasons {
    let mut reasons = Reasons::default();
    let lives: Vec<Written> = ends.iter().map(|end| Written::of(history, *end)).collect();
    for (index, notes) in all.iter().enumerate() {
        for expiry in &notes.expiries {
            let life = ends.iter().position(|end| *end == expiry.stream.start);
            let life = life.expect("a start");
            let written = lives.get(life + 1).expect("an end");
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            let reads =
                |reading: &&Reading| reading.may_read_beside(&expiry.stream, expiry.at, written);
            let others = others.filter(|(_, other)| other.readings.iter().any(|one| reads(&one)));
            let others = others.count();
            let reason = expiry.reason(written, others, &mut reasons);
            assert!(
                reason,
                "a watch was ended for no reason, beside {others}: {expiry:?}"
            );
        }
    }
    reasons
}

impl Expiry {
    /// Finds the reason; false if there is none. `others` may have read the log at the same time.
    fn reason(&self, written: &Written, others: usize, reasons: &mut Reasons) -> bool {
        if let Some((asked, oldest)) = self.told() {
            assert!(self.position <= asked && asked < oldest, "{self:?}");
        }
        let may_miss = self.stream.window_may_miss(self.asked(), written);
        let waited = self.at - self.stream.opened;
        // What nobody could ask for is taken as dropped.
        let count = if self.is_dropped != Some(false) {
            &mut reasons.dropped
        } else if may_miss && self.message.ends_with("read nothing for too long") {
            if self.unread < UNREAD {
                return false;
            }
            &mut reasons.unread
        } else if may_miss && waited >= SEAT_WAIT && others >= SEATS {
            &mut reasons.no_turn
        } else {
            return false;
        };
        *count += 1;
        true
    }
}
