//! Runs that have the same result in any order, and runs that do not.

mod services;

use super::{Orders, is_collectors};
use crate::testing::{empty, put, remove, world, write};
use hindsight_core::{Cause, Change, Commit, Revision, State, Time, apply};
use serde_json::{Value, json};
use std::sync::Arc;

const MAPS: (&str, &str) = ("", "configmaps");

/// A change that was made by hand, as a commit of a collector.
fn collected(change: Change) -> Commit {
    Commit {
        cause: Cause::Commit(Revision(1)),
        ..Arc::unwrap_or_clone(change.commit)
    }
}

/// The verdict on a log in which the collectors take these steps from this state on, and then a request
/// follows.
fn verdict(begin: &State, steps: impl FnOnce(&mut State) -> Vec<Change>) -> (Option<String>, u64) {
    let commits = steps(&mut begin.clone()).into_iter().map(collected);
    let (mut state, mut orders) = (begin.clone(), Orders::default());
    for commit in commits {
        assert!(is_collectors(&commit), "{commit:?}");
        orders
            .observe(&state, &commit)
            .expect("nothing is told before the end");
        apply(&mut state, &commit);
    }
    let told = orders.end(&state).err();
    (told.map(|told| told.to_string()), orders.repeated())
}

fn map(metadata: Value) -> Value {
    let mut document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    document["metadata"]["namespace"] = "n".into();
    document
}

#[test]
fn a_run_that_any_order_comes_to_is_found_to_be_one() {
    let begin = world(&[
        ("d", &["gone"]),
        ("e", &["d"]),
        ("f", &["e"]),
        ("live", &[]),
    ]);
    let all: &[&[&str]] = &[&["d"], &["d", "e"], &["d", "e", "f"], &["e", "f"]];
    for done in all {
        let steps = |state: &mut State| {
            let removed = done.iter().map(|name| remove(state, MAPS, ("n", name)));
            removed.collect()
        };
        assert_eq!(verdict(&begin, steps), (None, 1), "{done:?}");
    }
    let orphans = world(&[("o!orphan", &[]), ("d", &["o"]), ("e", &["o"])]);
    let lets_go = |state: &mut State| vec![write(state, MAPS, map(json!({"name": "e"})))];
    assert_eq!(verdict(&orphans, lets_go), (None, 1));
}

#[test]
fn what_no_order_comes_to_is_told() {
    let begin = world(&[
        ("o!orphan", &[]),
        ("d", &["o"]),
        ("held!x/y", &[]),
        ("live", &[]),
    ]);
    let going = |finalizers: Value| {
        json!({"name": "held", "finalizers": finalizers,
        "deletionTimestamp": "2024-01-01T00:00:00Z"})
    };
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "live", "uid": "live"});
    for (step, what) in [
        (
            None,
            "configmaps n/d is absent, and in another order uid d, live",
        ),
        (
            Some(map(json!({"name": "live", "finalizers": ["a/b"]}))),
            "uid live, live, with finalizers {\"a/b\"} and owners []",
        ),
        (
            Some(map(json!({"name": "live", "ownerReferences": [other]}))),
            "uid live, live, with finalizers {} and owners [\"live\"]",
        ),
        (
            Some(map(json!({"name": "live", "finalizers": ["a/b"],
                "deletionTimestamp": "2024-01-01T00:00:00Z"}))),
            "uid live, going",
        ),
        (
            Some(map(going(json!(["x/z"])))),
            "uid held, going, with finalizers {\"x/z\"}",
        ),
    ] {
        let wrong = |state: &mut State| match step {
            None => vec![remove(state, MAPS, ("n", "d"))],
            Some(document) => vec![write(state, MAPS, document)],
        };
        let (told, _) = verdict(&begin, wrong);
        let told = told.expect(what);
        assert!(told.contains(what), "{told}");
        assert!(told.contains("between revision 4 and revision 5"), "{told}");
    }
}

#[test]
fn of_many_runs_few_are_taken_again_and_requests_end_them() {
    let mut state = empty();
    let mut orders = Orders::default();
    let mut counts = Vec::new();
    for number in 0..20 {
        let name = format!("m{number}");
        for document in [map(json!({"name": name})), map(json!({"name": name}))] {
            let step = write(&mut state.clone(), MAPS, document);
            let is_first = step.previous.is_none();
            let step = if is_first {
                Arc::unwrap_or_clone(step.commit)
            } else {
                collected(step)
            };
            assert_eq!(is_collectors(&step), !is_first);
            orders.observe(&state, &step).expect("nothing comes of it");
            apply(&mut state, &step);
        }
        orders.end(&state).expect("nothing comes of it");
        counts.push(orders.repeated());
    }
    assert_eq!(counts[..5], [1, 1, 1, 2, 2]);
    assert_eq!(counts[14..17], [2, 3, 3]);
}

#[test]
fn what_is_reported_belongs_to_a_run_and_is_not_compared() {
    let mut begin = world(&[("d", &["gone"])]);
    let event = json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": "told", "namespace": "n"}});
    let tells = |state: &mut State| vec![write(state, ("", "events"), event)];
    assert_eq!(verdict(&begin, tells), (None, 1));
    let made = write(&mut begin, MAPS, map(json!({"name": "new"})));
    assert!(
        !is_collectors(&collected(made)),
        "a bootstrap makes namespaces"
    );
}

const JOBS: (&str, &str) = ("batch", "jobs");

fn finished_job(metadata: Value) -> Value {
    let mut document = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
        "spec": {"ttlSecondsAfterFinished": 10},
        "status": {"conditions": [{"type": "Complete", "status": "True",
            "lastTransitionTime": "2024-01-01T00:00:00Z"}]}});
    document["metadata"]["namespace"] = "n".into();
    document
}

/// A finished job with an owner that is gone, and a dependent that a finalizer holds: its time to live would
/// delete the job in the foreground.
fn job_that_is_garbage() -> State {
    let mut state = empty();
    let owner = |kind: &str, version: &str, name: &str| {
        json!([{"apiVersion": version, "kind": kind, "name": name, "uid": name,
            "blockOwnerDeletion": true}])
    };
    let gone = owner("ConfigMap", "v1", "gone");
    let job = finished_job(json!({"name": "j", "ownerReferences": gone}));
    put(&mut state, JOBS, job);
    let held = json!({"name": "held", "finalizers": ["x/y"],
        "ownerReferences": owner("Job", "batch/v1", "j")});
    put(&mut state, MAPS, map(held));
    state
}

#[test]
fn a_job_that_is_collected_before_its_time_may_come_due_in_the_same_run() {
    let begin = job_that_is_garbage();
    let late = Time::parse("2024-01-01T00:00:11Z").expect("a time");
    let mut state = begin.clone();
    let gone = collected(remove(&mut state, JOBS, ("n", "j")));
    let held = json!({"name": "held", "finalizers": ["x/y"],
        "deletionTimestamp": "2024-01-01T00:00:11Z"});
    let marked = Commit {
        time: late,
        ..collected(write(&mut state, MAPS, map(held)))
    };
    let (mut state, mut orders) = (begin, Orders::default());
    for commit in [gone, marked] {
        orders.observe(&state, &commit).expect("no end yet");
        apply(&mut state, &commit);
    }
    assert_eq!(orders.end(&state), Ok(()));
    assert_eq!(orders.repeated(), 1);
}

#[test]
fn the_end_of_a_jobs_time_ends_a_run() {
    let mut state = job_that_is_garbage();
    let marked = finished_job(json!({"name": "j", "finalizers": ["foregroundDeletion"],
        "deletionTimestamp": "2024-01-01T00:00:11Z"}));
    let due = Commit {
        cause: Cause::Policy("ttlSecondsAfterFinished".into()),
        ..Arc::unwrap_or_clone(write(&mut state, JOBS, marked).commit)
    };
    assert!(!is_collectors(&due));
}
