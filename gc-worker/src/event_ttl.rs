//! Deletes `Event` objects some time after they were last written. Upstream gives them a lease of etcd
//! that each write renews (`--event-ttl` of kube-apiserver).

use crate::deadlines::Deadlines;
use crate::identity::Identity;
use crate::steps::{Step, deletion, target};
use hindsight_core::command::Target;
use hindsight_core::object::Object;
use hindsight_core::{Cause, GroupResource, Intent, ObjectKey, Rule, State, Time};
use std::sync::Arc;
use std::time::Duration;

/// The cause of these deletions.
const POLICY: &str = "event-ttl";

/// The deadlines of events; none has one until a time to live is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventDeadlines {
    ttl: Option<Duration>,
    /// For events that were written before now.
    deadlines: Deadlines,
    /// For events from the future: the clock was ahead when they were written, or is behind now.
    ahead: Deadlines,
    /// When events from the future are deleted, unless the clock catches up before that.
    cut: Deadlines,
}

impl EventDeadlines {
    /// The deadlines of the events of a state; `written` tells when each was last written.
    pub(crate) fn of(
        state: &State,
        ttl: Duration,
        mut written: impl FnMut(&Object) -> Time,
    ) -> Self {
        let mut events = Self {
            ttl: Some(ttl),
            ..Self::default()
        };
        for event in state.list(&GroupResource::new("", "events"), None) {
            events.note(&event.key, Some(event), written(event));
        }
        events
    }

    /// Notes the newest version of an object, which was written at this time.
    pub(crate) fn note(&mut self, key: &ObjectKey, object: Option<&Object>, written: Time) {
        let Some(ttl) = self.ttl.filter(|_| key.resource.is_event()) else {
            return;
        };
        let live = object.filter(|object| !object.is_deleting());
        self.deadlines.set(key, live.map(|_| after(written, ttl)));
        self.ahead.set(key, None);
        self.cut.set(key, None);
    }

    /// When an event was last written, if that is known.
    pub(crate) fn written(&self, key: &ObjectKey) -> Option<Time> {
        let ttl = self.ttl?;
        let deadline = self.deadlines.of(key).or_else(|| self.ahead.of(key))?;
        Some(Time(deadline.0.saturating_sub(micros(ttl))))
    }

    /// Deletions of the events that are due. None stays for longer than its time to live from now on, also if
    /// the clock was ahead when it was written. If the clock is behind for a moment, none goes early for that.
    pub(crate) fn due(&mut self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        if let Some(ttl) = self.ttl {
            self.note_time(after(now, ttl));
        }
        let delete = |event: &Arc<Object>| {
            // A write since then is its last write.
            let target = Target {
                revision: Some(event.revision),
                ..target(&event.key, &event.meta.uid)
            };
            let delete = deletion(state, target, Rule::Policy);
            Identity::ApiServer.step(Intent::Delete(delete), Cause::Policy(POLICY.into()))
        };
        let due = self.deadlines.due(state, now, limit);
        let cut = self.cut.due(state, now, limit);
        due.chain(cut).take(limit).map(delete).collect()
    }

    /// Sorts out which events are from the future, if one that is written now has the deadline `latest`.
    fn note_time(&mut self, latest: Time) {
        let reached: Vec<ObjectKey> = self.ahead.up_to(latest).cloned().collect();
        for key in reached {
            self.deadlines.set(&key, self.ahead.of(&key));
            self.ahead.set(&key, None);
            self.cut.set(&key, None);
        }
        let later: Vec<ObjectKey> = self.deadlines.after(latest).cloned().collect();
        for key in later {
            self.ahead.set(&key, self.deadlines.of(&key));
            self.deadlines.set(&key, None);
            self.cut.set(&key, Some(latest));
        }
    }
}

fn after(time: Time, ttl: Duration) -> Time {
    Time(time.0.saturating_add(micros(ttl)))
}

fn micros(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collector;
    use crate::testing::{empty, write};
    use hindsight_core::{Change, Revision};
    use serde_json::json;

    const TTL: Duration = Duration::from_mins(1);
    const FIRST: Time = Time(1_000_000);

    fn at(change: Change, time: Time) -> Change {
        let commit = hindsight_core::Commit {
            time,
            ..(*change.commit).clone()
        };
        Change {
            commit: Arc::new(commit),
            ..change
        }
    }

    fn event(message: &str) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "Event", "message": message,
            "metadata": {"name": "e", "namespace": "n"}})
    }

    /// A state without events, and its collector, which gives each that comes its time to live.
    fn begun() -> (State, Collector) {
        let state = empty();
        let mut collector = Collector::new(&state);
        collector.set_event_ttl(&state, TTL, |_| Time(0));
        (state, collector)
    }

    /// The revisions of the versions that are to be deleted.
    fn due(collector: &mut Collector, state: &State, now: Time) -> Vec<Revision> {
        let steps = collector.next_batch(state, now, 9);
        let revision = |step: &Step| {
            let Intent::Delete(delete) = &step.intent else {
                panic!("no deletion: {step:?}");
            };
            assert!(!step.intent.advances_deletion(), "it waits on a full disk");
            delete.target.revision
        };
        steps.iter().filter_map(revision).collect()
    }

    #[test]
    fn an_event_goes_when_its_last_write_is_long_enough_ago() {
        let (mut state, mut collector) = begun();
        let end = FIRST.plus_seconds(60);
        collector.observe(&at(write(&mut state, ("", "events"), event("one")), FIRST));
        assert_eq!(due(&mut collector, &state, Time(end.0 - 1)), []);
        assert_eq!(due(&mut collector, &state, end), [Revision(1)]);
        let again = Time(end.0 - 1);
        collector.observe(&at(write(&mut state, ("", "events"), event("two")), again));
        assert_eq!(due(&mut collector, &state, end), []);
        assert_eq!(
            due(&mut collector, &state, again.plus_seconds(60)),
            [Revision(2)]
        );
    }

    #[test]
    fn an_event_from_the_future_stays_no_longer_than_others() {
        let (mut state, mut collector) = begun();
        let change = at(write(&mut state, ("", "events"), event("")), Time::MAX);
        collector.observe(&change);
        assert_eq!(due(&mut collector, &state, FIRST), []);
        assert_eq!(collector.event_written(&change.commit.key), Some(Time::MAX));
        let end = FIRST.plus_seconds(60);
        assert_eq!(due(&mut collector, &state, Time(end.0 - 1)), []);
        assert_eq!(due(&mut collector, &state, end), [Revision(1)]);
        // It is written anew, and is from the future no longer.
        collector.observe(&at(write(&mut state, ("", "events"), event("again")), end));
        assert_eq!(due(&mut collector, &state, end), []);
    }

    /// The clock is behind for a moment: what it says then is forgotten when it has caught up.
    #[test]
    fn a_clock_that_is_behind_for_a_moment_takes_no_event_early() {
        let (mut state, mut collector) = begun();
        let written = FIRST.plus_seconds(3600);
        let change = at(write(&mut state, ("", "events"), event("")), written);
        collector.observe(&change);
        assert_eq!(due(&mut collector, &state, FIRST), []);
        let end = written.plus_seconds(60);
        for now in [written, Time(end.0 - 1)] {
            assert_eq!(due(&mut collector, &state, now), []);
        }
        assert_eq!(due(&mut collector, &state, end), [Revision(1)]);
    }

    #[test]
    fn nothing_else_goes_and_no_event_without_a_time_to_live() {
        let mut state = empty();
        let mut with = Collector::new(&state);
        let mut without = with.clone();
        with.set_event_ttl(&state, TTL, |_| Time(0));
        let written = [
            write(&mut state, ("", "configmaps"), event("")),
            write(&mut state, ("", "events"), event("")),
        ];
        for change in written {
            with.observe(&change);
            without.observe(&change);
        }
        assert_eq!(due(&mut with, &state, Time::MAX), [Revision(2)]);
        assert_eq!(due(&mut without, &state, Time::MAX), []);
    }

    #[test]
    fn after_a_restart_the_time_counts_from_the_last_write() {
        let mut state = empty();
        write(&mut state, ("", "events"), event(""));
        let mut collector = Collector::new(&state);
        collector.set_event_ttl(&state, TTL, |event| {
            assert_eq!(event.revision, Revision(1));
            FIRST
        });
        let end = FIRST.plus_seconds(60);
        assert_eq!(due(&mut collector, &state, Time(end.0 - 1)), []);
        assert_eq!(due(&mut collector, &state, end), [Revision(1)]);
    }
}
