//! Counts what the collectors have left to do at the end of a log, where a process may have stopped.

use crate::trial::{anonymous_command, carry_out};
use crate::{Collector, Step};
use hindsight_core::{State, Time};

/// The number of deletions, releases and dropped references that this state calls for at this time. What
/// follows from them is not counted, nor are mere reports. Of an owner with many dependents, only as many
/// are counted as one look takes.
pub fn steps_left(state: &State, now: Time) -> usize {
    let batch = Collector::new(state).next_batch(state, now, usize::MAX);
    let mut state = state.clone();
    // Two origins may ask for the same step: each is decided on the state that the others leave.
    let changes = |step: Step| {
        let done = carry_out(&mut state, anonymous_command(step, now));
        done.is_ok_and(|(_, changes)| !changes.is_empty())
    };
    let steps = batch
        .into_iter()
        .filter(|step| step.intent.advances_deletion());
    steps.map(changes).filter(|changes| *changes).count()
}

#[cfg(test)]
mod tests {
    use super::steps_left;
    use crate::testing::{empty, put, world};
    use hindsight_core::{State, Time};
    use serde_json::{Value, json};

    fn end() -> Time {
        Time::parse("2024-01-01T00:00:10Z").expect("a time")
    }

    fn namespace(metadata: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]}})
    }

    fn going_namespace(live: bool) -> State {
        let mut state = empty();
        let going = json!({"name": "n", "deletionTimestamp": "2024-01-01T00:00:00Z"});
        let mut namespace = namespace(going);
        namespace["status"] = json!({"phase": "Terminating"});
        put(&mut state, ("", "namespaces"), namespace);
        let contents = [
            json!({"name": "b", "namespace": "n", "finalizers": ["x/y"],
                "deletionTimestamp": "2024-01-01T00:00:00Z"}),
            json!({"name": "a", "namespace": "n"}),
        ];
        for metadata in contents.into_iter().take(1 + usize::from(live)) {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            put(&mut state, ("", "configmaps"), map);
        }
        state
    }

    fn finished_job() -> State {
        let mut state = empty();
        let ended = json!({"type": "Complete", "status": "True",
            "lastTransitionTime": "2024-01-01T00:00:09Z"});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "n"},
            "spec": {"ttlSecondsAfterFinished": 1}, "status": {"conditions": [ended]}});
        put(&mut state, ("batch", "jobs"), job);
        state
    }

    /// A job whose time to live is over, and whose owner is gone.
    fn finished_job_without_owner() -> State {
        let mut state = finished_job();
        let mut job = state.objects().next().expect("the job").document();
        job["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]);
        put(&mut state, ("batch", "jobs"), job);
        state
    }

    /// An object that nobody can delete, so that nobody tries to.
    fn immortal() -> State {
        let mut state = empty();
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "gone"});
        let metadata = json!({"name": "default", "ownerReferences": [owner]});
        put(&mut state, ("", "namespaces"), namespace(metadata));
        state
    }

    #[test]
    fn what_is_due_is_counted_and_what_waits_or_is_refused_is_not() {
        for (state, count) in [
            (world(&[]), 0),
            (world(&[("o", &[]), ("d", &["o"])]), 0),
            (
                world(&[("d", &["gone"]), ("e", &["gone"]), ("f", &["d"])]),
                2,
            ),
            (
                world(&[("o!foregroundDeletion", &[]), ("d!x/y", &["o!"])]),
                0,
            ),
            (world(&[("o!foregroundDeletion", &[]), ("d", &["o"])]), 1),
            (
                world(&[("o!orphan", &[]), ("d", &["o"]), ("e", &["~o"])]),
                2,
            ),
            (going_namespace(true), 1),
            (going_namespace(false), 0),
            (finished_job(), 1),
            (finished_job_without_owner(), 1),
            (immortal(), 0),
        ] {
            let objects: Vec<_> = state.objects().map(|one| &one.body).collect();
            assert_eq!(steps_left(&state, end()), count, "{objects:#?}");
        }
        assert_eq!(steps_left(&finished_job(), Time(end().0 - 1)), 0, "not yet");
    }
}
