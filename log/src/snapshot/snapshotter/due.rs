//! When a snapshot is due. The log is thinned only up to one, so a policy that drops history needs snapshots as often as
//! there is something to drop.

use crate::{Base, Retention};
use hindsight_core::{Commit, Revision, Time};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// At a clean shutdown a snapshot is due after the usual number of commits divided by this.
const AT_END_DIVISOR: u64 = 10;
/// A policy makes none due after fewer bytes, or after a shorter time, in microseconds.
const BYTES_MIN: u64 = 8 << 20;
const MICROS_MIN: i64 = 3_600_000_000;

#[derive(Debug)]
pub(super) struct Due {
    /// Commits between two snapshots; `None` if there are to be none.
    every: Option<NonZeroU64>,
    bytes_max: Option<u64>,
    age_micros_max: Option<i64>,
    /// The revision of the last snapshot that was handed over.
    last: Revision,
    /// What was written since, by an earlier process too.
    since: Written,
    /// Of that, what was written since the start.
    since_start: Written,
    /// Roughly the bytes of the last snapshot.
    bytes_of_state: Arc<AtomicU64>,
}

/// What was written to the log since a snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    /// The bytes of the bodies.
    bytes: u64,
    /// The times of its first commit, and of its last. If the clock was set back behind the first, its age counts from
    /// there; a clock that was wrong for a commit makes one snapshot due too early.
    span: Option<[Time; 2]>,
}

impl Written {
    /// Notes what comes next.
    pub(crate) fn note<'a>(&mut self, commits: impl IntoIterator<Item = &'a Commit>) {
        for commit in commits {
            let (time, body) = (commit.time, commit.object().map(|object| object.body.len()));
            let bytes = u64::try_from(body.unwrap_or_default()).unwrap_or(u64::MAX);
            self.bytes = self.bytes.saturating_add(bytes);
            let [first, _] = self.span.unwrap_or([time; 2]);
            self.span = Some([first.min(time), time]);
        }
    }

    /// How long before its last commit its first was, in microseconds.
    fn micros(&self) -> i64 {
        self.span
            .map_or(0, |[first, last]| last.0.saturating_sub(first.0))
    }
}

impl Due {
    /// For a log whose newest snapshot is of the revision `last`, and what was written since.
    pub(super) fn new(
        every: Option<NonZeroU64>,
        policy: Option<&Retention>,
        (last, since): (Option<Revision>, Written),
        bytes_of_state: Arc<AtomicU64>,
    ) -> Self {
        Self {
            every,
            bytes_max: policy.and_then(|policy| policy.bytes),
            age_micros_max: policy.and_then(|policy| policy.age_micros),
            last: last.unwrap_or_default(),
            since,
            since_start: Written::default(),
            bytes_of_state,
        }
    }

    /// Whether a snapshot is due at a start with this end of the log, even if nothing more is written: a full disk
    /// lets nothing be written until something is dropped.
    pub(super) fn is_due_at_start(&self, end: &Base) -> bool {
        self.is_first_missing(end) || self.is_due(end)
    }

    /// Whether there is no snapshot yet up to which a policy could have anything dropped of a log that ends here.
    fn is_first_missing(&self, end: &Base) -> bool {
        let has_policy = self.bytes_max.is_some() || self.age_micros_max.is_some();
        has_policy && self.every.is_some() && self.last.0 == 0 && self.commits_since(end) > 0
    }

    /// Notes what was written.
    pub(super) fn note<'a>(&mut self, commits: impl IntoIterator<Item = &'a Commit>) {
        for commit in commits {
            self.since.note([commit]);
            self.since_start.note([commit]);
        }
    }

    /// Whether a snapshot is due at this end of the log.
    pub(super) fn is_due(&self, end: &Base) -> bool {
        let since = self.commits_since(end);
        self.interval(end).is_some_and(|after| since >= after)
            || (self.every.is_some() && since > 0 && (self.is_much() || self.is_old()))
    }

    /// Whether one is due if nothing more is written.
    pub(super) fn is_due_at_end(&self, end: &Base) -> bool {
        let after = self.interval(end);
        let is_near =
            after.is_some_and(|after| self.commits_since(end) >= after.div_ceil(AT_END_DIVISOR));
        is_near || self.is_due(end)
    }

    pub(super) fn handed_over(&mut self, end: &Base) {
        self.last = end.state.revision;
        (self.since, self.since_start) = Default::default();
    }

    /// Notes that there is a snapshot of this revision: that of the start, or the one handed over last, which counts
    /// already.
    pub(super) fn note_written_while_idle(&mut self, revision: Revision) {
        if revision > self.last {
            self.last = revision;
            self.since = self.since_start;
        }
    }

    /// Commits between two snapshots. A snapshot costs in proportion to its objects, so more objects mean
    /// fewer snapshots.
    fn interval(&self, end: &Base) -> Option<u64> {
        let objects = u64::try_from(end.state.len()).unwrap_or(u64::MAX);
        self.every
            .map(|every| every.get().max(objects - objects / 4))
    }

    /// Commits since the last snapshot.
    const fn commits_since(&self, end: &Base) -> u64 {
        end.state.revision.0.saturating_sub(self.last.0)
    }

    /// Whether as much was written as is to be kept, and no less than a snapshot takes.
    fn is_much(&self) -> bool {
        let of_state = self.bytes_of_state.load(Ordering::Relaxed);
        let enough = |bytes: u64| self.since.bytes >= bytes.max(of_state).max(BYTES_MIN);
        self.bytes_max.is_some_and(enough)
    }

    /// Whether what was written since is as old as what is to be dropped.
    fn is_old(&self) -> bool {
        let is_past = |age: i64| self.since.micros() >= age.max(MICROS_MIN);
        self.age_micros_max.is_some_and(is_past)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{COMMITS, logged};
    use super::*;
    use crate::{Log, Reader, Snapshots};
    use hindsight_core::kind::BuiltinKinds;
    use hindsight_core::{Actor, Cause, Event, Object, ObjectKey, Request, State, Uid, builtin};
    use serde_json::json;

    fn empty() -> State {
        State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
    }

    fn end(revision: u64) -> Base {
        let mut base = Base::empty(empty());
        base.state.revision = Revision(revision);
        base
    }

    fn due(every: u64, age_micros: Option<i64>, bytes: Option<u64>, since: Written) -> Due {
        let policy = Retention {
            age_micros,
            bytes,
            kinds: Vec::new(),
        };
        let every = NonZeroU64::new(every);
        Due::new(every, Some(&policy), (None, since), Arc::default())
    }

    fn new(every: u64, age_micros: Option<i64>, bytes: Option<u64>) -> Due {
        due(every, age_micros, bytes, Written::default())
    }

    #[test]
    fn a_policy_needs_a_first_one() {
        for (every, age, bytes, is_missing) in [
            (9, None, None, false),
            (9, Some(1), None, true),
            (9, None, Some(1), true),
            (0, Some(1), Some(1), false),
        ] {
            let mut due = new(every, age, bytes);
            let told = [0, 1].map(|revision| due.is_due_at_start(&end(revision)));
            assert_eq!(told, [false, is_missing], "{every} {age:?} {bytes:?}");
            due.handed_over(&end(1));
            assert!(!due.is_due_at_start(&end(2)));
        }
    }

    #[test]
    fn one_is_due_after_so_many_commits_and_earlier_at_the_end() {
        let mut due = new(100, None, None);
        for (revision, is_due, is_due_at_end) in [
            (9, false, false),
            (10, false, true),
            (99, false, true),
            (100, true, true),
        ] {
            let end = end(revision);
            assert_eq!(
                (due.is_due(&end), due.is_due_at_end(&end)),
                (is_due, is_due_at_end)
            );
        }
        due.handed_over(&end(100));
        assert!(!due.is_due_at_end(&end(109)) && due.is_due(&end(200)));
    }

    /// A snapshot takes longer, the more objects there are.
    #[test]
    fn of_many_objects_one_is_due_after_three_quarters_as_many_commits() {
        let directory = tempfile::tempdir().expect("a directory");
        let storage = logged(&Snapshots::at(directory.path().to_owned()), &empty());
        let end = Reader::new(storage as _).base(empty()).expect("folded");
        assert_eq!((end.state.len(), end.state.revision.0), (40, 40));
        for (every, last, is_due) in [(9, 10, true), (9, 11, false), (35, 5, true), (35, 6, false)]
        {
            let newest = (Some(Revision(last)), Written::default());
            let due = Due::new(NonZeroU64::new(every), None, newest, Arc::default());
            assert_eq!(due.is_due(&end), is_due, "{every} {last}");
        }
    }

    #[test]
    fn one_is_due_as_often_as_there_is_something_to_drop() {
        let (much, more) = (BYTES_MIN, 100 * BYTES_MIN);
        let mut by_bytes = new(100, None, Some(much));
        for (written, of_state, is_due) in [
            (much - 1, 0, false),
            (much, 0, true),
            (more - 1, more, false),
            (more, more, true),
        ] {
            by_bytes.since.bytes = written;
            by_bytes.bytes_of_state.store(of_state, Ordering::Relaxed);
            assert_eq!(by_bytes.is_due(&end(5)), is_due, "{written} {of_state}");
            assert_eq!(by_bytes.is_due_at_end(&end(5)), is_due);
        }
        by_bytes.handed_over(&end(5));
        assert!(!by_bytes.is_due(&end(6)));
        let mut by_age = new(100, Some(1), None);
        for (micros, is_due) in [(MICROS_MIN - 1, false), (MICROS_MIN, true)] {
            by_age.since.span = Some([5, 5 + micros].map(Time));
            assert_eq!(by_age.is_due(&end(5)), is_due);
        }
        assert!(!by_age.is_due(&end(0)), "nothing was written");
        by_age.handed_over(&end(5));
        assert!(!by_age.is_due(&end(6)));
        let long_ago = Written {
            bytes: u64::MAX,
            span: Some([Time(0), Time(i64::MAX)]),
        };
        assert!(!due(100, None, None, long_ago).is_due(&end(5)));
        assert!(!due(0, Some(1), Some(1), long_ago).is_due(&end(5)));
    }

    /// While the thread writes it the log goes on, and that is still to be dropped.
    #[test]
    fn a_snapshot_of_the_start_holds_nothing_that_was_written_since() {
        let mut earlier = Written::default();
        earlier.note([&at(0)]);
        let mut due = due(100, Some(1), None, earlier);
        due.note([&at(5), &at(5 + MICROS_MIN)]);
        due.note_written_while_idle(Revision(1));
        assert!(due.is_due(&end(3)));
        assert_eq!(due.since.bytes, 2 * earlier.bytes);
        assert_eq!(due.since.micros(), MICROS_MIN);
        due.note_written_while_idle(Revision(1));
        assert!(due.is_due(&end(3)), "it is known");
        due.handed_over(&end(3));
        due.note_written_while_idle(Revision(1));
        assert_eq!((due.last, due.since.bytes), (Revision(3), 0));
    }

    fn at(time: i64) -> Commit {
        let (key, revision) = (ObjectKey::namespace("n"), Revision(1));
        let document =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "uid": "u"}});
        let object = Object::from_value(key.clone(), document, revision, None);
        let object = Arc::new(object.expect("readable"));
        Commit {
            revision,
            time: Time(time),
            actor: Arc::new(Actor::new("a")),
            request: Arc::new(Request::default()),
            cause: Cause::Request,
            key,
            uid: Uid::from("u"),
            events: vec![Event::ObjectCreated { object }],
        }
    }

    /// A process may end, or the disk be full, before it writes as much as a policy drops.
    #[test]
    fn what_an_earlier_process_wrote_counts() {
        let mut written = Written::default();
        written.note([&at(3), &at(3 + MICROS_MIN)]);
        let body = at(0).object().map(|object| object.body.len() as u64);
        assert_eq!(Some(written.bytes), body.map(|bytes| 2 * bytes));
        let by_age = due(100, Some(1), None, written);
        assert!(by_age.is_due_at_start(&end(2)) && by_age.is_due_at_end(&end(2)));

        let directory = tempfile::tempdir().expect("a directory");
        let snapshots = Snapshots::at(directory.path().to_owned());
        let storage = logged(&snapshots, &empty());
        let all = Log::open(Arc::clone(&storage), empty()).expect("opened");
        let bodies = all.state().objects().map(|object| object.body.len() as u64);
        assert_eq!(all.since.bytes, bodies.sum::<u64>());
        let base = snapshots.newest(&empty()).expect("one");
        assert_eq!(base.state.revision, Revision(COMMITS));
        let none = Log::open_from(storage, base).expect("opened");
        assert_eq!((none.since.bytes, none.since.span), (0, None));
    }

    /// A commit that was dated years ahead by mistake makes one snapshot due, and holds up none.
    #[test]
    fn a_clock_that_was_wrong_for_a_commit_holds_nothing_up() {
        const MINUTE: i64 = 60_000_000;
        let handed_over = |ahead: Option<i64>| {
            let mut due = new(1_000_000, Some(1), None);
            let is_handed_over = |minute: &i64| {
                let is_wrong = *minute == 10;
                let time = ahead.filter(|_| is_wrong).unwrap_or_default() + minute * MINUTE;
                due.note([&at(time)]);
                let end = end(minute.unsigned_abs());
                let is_due = due.is_due(&end);
                if is_due {
                    due.handed_over(&end);
                }
                is_due
            };
            (1..600).filter(is_handed_over).count()
        };
        let usual = handed_over(None);
        assert!(usual >= 9, "{usual}");
        let years = 10 * 366 * 24 * 60 * MINUTE;
        assert!((usual..=usual + 1).contains(&handed_over(Some(years))));
        assert!((usual - 1..=usual + 1).contains(&handed_over(Some(-years))));
    }
}
