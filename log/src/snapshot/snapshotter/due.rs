//! When a snapshot is due. The log is thinned only up to one, so a policy that drops history needs snapshots as often as
//! there is something to drop.

use crate::{Base, Retention};
use hindsight_core::{Change, Revision, Time};
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
    every: Option<u64>,
    bytes_max: Option<u64>,
    age_micros_max: Option<i64>,
    /// The revision of the last snapshot that was handed over, and the time of the log then.
    last: (Revision, Time),
    /// The bytes of the bodies that were written since.
    bytes: u64,
    /// Roughly the bytes of the last snapshot.
    bytes_of_state: Arc<AtomicU64>,
}

impl Due {
    /// For a log that ends here, and whose newest snapshot is of the revision `last`. `every` may be zero: then none is
    /// ever due.
    pub(super) fn new(
        every: u64,
        policy: Option<&Retention>,
        last: Option<Revision>,
        end: &Base,
        bytes_of_state: Arc<AtomicU64>,
    ) -> Self {
        Self {
            every: (every > 0).then_some(every),
            bytes_max: policy.and_then(|policy| policy.bytes),
            age_micros_max: policy.and_then(|policy| policy.age_micros),
            last: (last.unwrap_or_default(), end.latest),
            bytes: 0,
            bytes_of_state,
        }
    }

    /// Whether there is no snapshot yet up to which a policy could have anything dropped of a log that ends here.
    pub(super) fn is_first_missing(&self, end: &Base) -> bool {
        let has_policy = self.bytes_max.is_some() || self.age_micros_max.is_some();
        has_policy && self.every.is_some() && self.last.0.0 == 0 && self.since(end) > 0
    }

    /// Notes what was written.
    pub(super) fn note(&mut self, changes: &[Arc<Change>]) {
        // The age of a new log counts from its first commit.
        if let (Time(i64::MIN), Some(first)) = (self.last.1, changes.first()) {
            self.last.1 = first.commit.time;
        }
        let objects = changes.iter().filter_map(|change| change.commit.object());
        let bytes: usize = objects.map(|object| object.body.len()).sum();
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Whether a snapshot is due at this end of the log.
    pub(super) fn is_due(&self, end: &Base) -> bool {
        let since = self.since(end);
        self.after(end).is_some_and(|after| since >= after)
            || (self.every.is_some() && since > 0 && (self.is_much() || self.is_old(end)))
    }

    /// Whether one is due if nothing more is written.
    pub(super) fn is_due_at_end(&self, end: &Base) -> bool {
        let after = self.after(end);
        let is_near = after.is_some_and(|after| self.since(end) >= after.div_ceil(AT_END_DIVISOR));
        is_near || self.is_due(end)
    }

    pub(super) fn handed_over(&mut self, end: &Base) {
        self.last = (end.state.revision, end.latest);
        self.bytes = 0;
    }

    /// Commits between two snapshots. A snapshot costs in proportion to its objects, so more objects mean
    /// fewer snapshots.
    fn after(&self, end: &Base) -> Option<u64> {
        let objects = u64::try_from(end.state.len()).unwrap_or(u64::MAX);
        self.every.map(|every| every.max(objects - objects / 4))
    }

    /// Commits since the last snapshot.
    const fn since(&self, end: &Base) -> u64 {
        end.state.revision.0.saturating_sub(self.last.0.0)
    }

    /// Whether as much was written as is to be kept, and no less than a snapshot takes.
    fn is_much(&self) -> bool {
        let of_state = self.bytes_of_state.load(Ordering::Relaxed);
        let enough = |bytes: u64| self.bytes >= bytes.max(of_state).max(BYTES_MIN);
        self.bytes_max.is_some_and(enough)
    }

    /// Whether the last snapshot is as old as what is to be dropped.
    fn is_old(&self, end: &Base) -> bool {
        let passed = end.latest.0.saturating_sub(self.last.1.0);
        let is_past = |age: i64| passed >= age.max(MICROS_MIN);
        self.age_micros_max.is_some_and(is_past)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::kind::BuiltinKinds;
    use hindsight_core::{State, builtin};

    fn end(revision: u64, time: i64) -> Base {
        let mut base = Base::empty(State::new(Arc::new(BuiltinKinds::new(
            builtin::kinds(),
            None,
        ))));
        base.state.revision = Revision(revision);
        base.latest = Time(time);
        base
    }

    fn due(every: u64, age_micros: Option<i64>, bytes: Option<u64>) -> Due {
        let policy = Retention {
            age_micros,
            bytes,
            kinds: Vec::new(),
        };
        Due::new(every, Some(&policy), None, &end(0, 0), Arc::default())
    }

    #[test]
    fn a_policy_needs_a_first_one() {
        for (every, age, bytes, is_missing) in [
            (9, None, None, false),
            (9, Some(1), None, true),
            (9, None, Some(1), true),
            (0, Some(1), Some(1), false),
        ] {
            let mut due = due(every, age, bytes);
            let told = [0, 1].map(|revision| due.is_first_missing(&end(revision, 0)));
            assert_eq!(told, [false, is_missing], "{every} {age:?} {bytes:?}");
            due.handed_over(&end(1, 0));
            assert!(!due.is_first_missing(&end(2, 0)));
        }
    }

    #[test]
    fn one_is_due_after_so_many_commits_and_earlier_at_the_end() {
        let mut due = due(100, None, None);
        for (revision, is_due, is_due_at_end) in [
            (9, false, false),
            (10, false, true),
            (99, false, true),
            (100, true, true),
        ] {
            let end = end(revision, i64::MAX);
            assert_eq!(
                (due.is_due(&end), due.is_due_at_end(&end)),
                (is_due, is_due_at_end)
            );
        }
        due.handed_over(&end(100, 0));
        assert!(!due.is_due_at_end(&end(109, 0)) && due.is_due(&end(200, 0)));
    }

    #[test]
    fn one_is_due_as_often_as_there_is_something_to_drop() {
        let (much, more) = (BYTES_MIN, 100 * BYTES_MIN);
        let mut by_bytes = due(100, None, Some(much));
        for (written, of_state, is_due) in [
            (much - 1, 0, false),
            (much, 0, true),
            (more - 1, more, false),
            (more, more, true),
        ] {
            by_bytes.bytes = written;
            by_bytes.bytes_of_state.store(of_state, Ordering::Relaxed);
            assert_eq!(by_bytes.is_due(&end(5, 0)), is_due, "{written} {of_state}");
            assert_eq!(by_bytes.is_due_at_end(&end(5, 0)), is_due);
        }
        by_bytes.handed_over(&end(5, 0));
        assert!(!by_bytes.is_due(&end(6, 0)));
        let mut by_age = due(100, Some(1), None);
        assert!(!by_age.is_due(&end(5, MICROS_MIN - 1)) && by_age.is_due(&end(5, MICROS_MIN)));
        by_age.handed_over(&end(5, MICROS_MIN));
        assert!(!by_age.is_due(&end(6, MICROS_MIN)));
        assert!(
            !by_age.is_due(&end(5, i64::MAX)),
            "nothing was written since"
        );
        assert!(!due(100, None, None).is_due(&end(5, i64::MAX)));
        assert!(!due(0, Some(1), Some(1)).is_due(&end(5, i64::MAX)));
    }
}
