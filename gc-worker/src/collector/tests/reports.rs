//! How often a namespace reports what remains in it.

use super::super::Collector;
use super::CONFIG_MAPS;
use crate::testing::{empty, put, remove};
use crate::trial::{anonymous_command, carry_out};
use hindsight_core::{State, Time};
use serde_json::json;

const HELD: usize = 100;
/// Between two removals. So all of them take somewhat less than two seconds.
const MICROSECONDS: i64 = 19_000;

/// A namespace in deletion with objects that are held.
fn namespace_that_is_held() -> State {
    let mut state = empty();
    let since = "2024-01-01T00:00:00Z";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "deletionTimestamp": since},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}});
    put(&mut state, ("", "namespaces"), namespace);
    for at in 0..HELD {
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("held{at}"),
            "namespace": "n", "deletionTimestamp": since, "finalizers": ["x/y"]}});
        put(&mut state, CONFIG_MAPS, held);
    }
    state
}

/// Carries out what is due; how many steps that were.
fn turn(collector: &mut Collector, state: &mut State, now: Time) -> usize {
    let batch = collector.next_batch(state, now, 10);
    let count = batch.len();
    for step in batch {
        let done = carry_out(state, anonymous_command(step, now));
        let (_, changes) = done.expect("accepted");
        collector.settle([Ok(())].into_iter());
        changes.iter().for_each(|change| collector.observe(change));
    }
    count
}

#[test]
fn while_contents_go_one_by_one_a_namespace_reports_once_a_second() {
    for (pause, expected) in [(0, HELD), (1, 2)] {
        let mut state = namespace_that_is_held();
        let mut collector = Collector::new(&state);
        collector.set_report_pause(pause);
        let mut now = Time(0);
        let mut reports = turn(&mut collector, &mut state, now);
        for at in 1..HELD {
            now = Time(now.0 + MICROSECONDS);
            let removed = remove(&mut state, CONFIG_MAPS, ("n", &format!("held{at}")));
            collector.observe(&removed);
            reports += turn(&mut collector, &mut state, now);
        }
        assert_eq!(reports, expected, "{pause}");
        now = now.plus_seconds(pause);
        let last = turn(&mut collector, &mut state, now);
        assert_eq!(last, usize::from(pause > 0));
        let namespace = state.namespace("n").expect("the namespace");
        let told = namespace.document().to_string();
        assert!(told.contains("configmaps. has 1 resource"), "{told}");
        now = now.plus_seconds(pause);
        assert_eq!(turn(&mut collector, &mut state, now), 0);
    }
}

/// Only reports wait for each other, and none if the clock stands still or is set back.
#[test]
fn a_report_that_waits_keeps_nothing_else_waiting() {
    for (passed, expected) in [(MICROSECONDS, 0), (0, 1), (-MICROSECONDS, 1)] {
        let mut state = namespace_that_is_held();
        let mut collector = Collector::new(&state);
        collector.set_report_pause(1);
        let begin = Time(10 * MICROSECONDS);
        assert_eq!(turn(&mut collector, &mut state, begin), 1);
        let now = Time(begin.0 + passed);
        let removed = remove(&mut state, CONFIG_MAPS, ("n", "held0"));
        collector.observe(&removed);
        assert_eq!(turn(&mut collector, &mut state, now), expected, "{passed}");
        for at in 1..HELD {
            let removed = remove(&mut state, CONFIG_MAPS, ("n", &format!("held{at}")));
            collector.observe(&removed);
        }
        assert_eq!(turn(&mut collector, &mut state, now), 1, "{passed}");
        assert!(state.namespace("n").is_none(), "{passed}");
    }
}
