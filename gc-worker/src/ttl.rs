//! Deletes finished jobs whose time to live is over. Source: upstream's `ttlafterfinished` controller.

use crate::deadlines::Deadlines;
use crate::steps::{Step, deletion, target};
use crate::worker::Worker;
use hindsight_core::command::{Delete, Intent, Propagation};
use hindsight_core::object::Object;
use hindsight_core::{Cause, ObjectKey, Rule, State, Time};
use serde_json::Value;
use std::sync::Arc;

/// The deadlines of finished jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct FinishedJobs(Deadlines);

impl FinishedJobs {
    /// Notes the newest version of an object. Only a finished job with a time to live has a deadline.
    pub(crate) fn note(&mut self, key: &ObjectKey, object: Option<&Object>) {
        if &*key.resource.resource != "jobs" || &*key.resource.group != "batch" {
            return;
        }
        let live = object.filter(|object| !object.is_deleting());
        let deadline = live.and_then(|object| deadline(&object.document()));
        self.0.set(key, deadline);
    }

    /// Deletions of the jobs that are due.
    pub(crate) fn due(&self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        let delete = |job: &Arc<Object>| {
            let target = target(&job.key, &job.meta.uid, Some(job.revision));
            let delete = Delete {
                propagation: Some(Propagation::Foreground),
                ..deletion(state, target, Rule::TtlAfterFinished)
            };
            let cause = Cause::Policy("ttlSecondsAfterFinished".into());
            Worker::TtlController.step(Intent::Delete(delete), cause)
        };
        self.0.due(state, now, limit).map(delete).collect()
    }
}

/// The time at which the job finished, plus its time to live.
fn deadline(job: &Value) -> Option<Time> {
    let seconds = job.pointer("/spec/ttlSecondsAfterFinished")?.as_i64()?;
    let conditions = job.pointer("/status/conditions")?.as_array()?;
    let finished = conditions.iter().find(|condition| {
        let text = |member: &str| condition.get(member).and_then(Value::as_str);
        matches!(text("type"), Some("Complete" | "Failed")) && text("status") == Some("True")
    })?;
    let end = Time::parse(finished.get("lastTransitionTime")?.as_str()?)?;
    Some(end.plus_seconds(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{empty, put};
    use serde_json::json;

    const END: &str = "2024-01-01T00:00:10Z";

    fn job(ttl: Value, kind: &str, status: &str) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "n", "uid": "u"},
            "spec": {"ttlSecondsAfterFinished": ttl},
            "status": {"conditions": [{"type": kind, "status": status, "lastTransitionTime": END}]}})
    }

    #[test]
    fn a_finished_job_has_a_deadline_and_no_other_has() {
        let end = Time::parse(END).expect("a time");
        for (ttl, kind, status, expected) in [
            (json!(30), "Complete", "True", Some(end.plus_seconds(30))),
            (json!(0), "Failed", "True", Some(end)),
            (json!(30), "Complete", "False", None),
            (json!(30), "Suspended", "True", None),
            (Value::Null, "Complete", "True", None),
        ] {
            let found = deadline(&job(ttl.clone(), kind, status));
            assert_eq!(found, expected, "{ttl} {kind} {status}");
        }
    }

    #[test]
    fn a_job_is_due_at_its_deadline_and_not_before() {
        let mut state = empty();
        let job = put(
            &mut state,
            ("batch", "jobs"),
            job(json!(30), "Complete", "True"),
        );
        let mut jobs = FinishedJobs::default();
        jobs.note(&job.key, Some(&job));
        let deadline = Time::parse(END).expect("a time").plus_seconds(30);
        for (now, due) in [(Time(deadline.0 - 1), 0), (deadline, 1)] {
            assert_eq!(jobs.due(&state, now, 10).len(), due, "{now:?}");
        }
    }
}
