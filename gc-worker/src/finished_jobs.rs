//! Deletes finished jobs whose time to live is over. Source: upstream's `ttlafterfinished` controller.

use crate::deadlines::Deadlines;
use crate::identity::Identity;
use crate::steps::{Step, deletion, target};
use hindsight_core::command::{Delete, Intent, Propagation};
use hindsight_core::object::Object;
use hindsight_core::{Cause, ObjectKey, Rule, State, Time, end_of_life};
use std::sync::Arc;

/// The deadlines of finished jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct FinishedJobs(Deadlines);

impl FinishedJobs {
    /// Notes the newest version of an object. Only a finished job with a time to live has a deadline.
    pub(crate) fn note(&mut self, key: &ObjectKey, object: Option<&Object>) {
        let live = object.filter(|object| !object.is_deleting());
        self.0.set(key, live.and_then(end_of_life));
    }

    /// Deletions of the jobs that are due.
    pub(crate) fn due(&self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        let delete = |job: &Arc<Object>| {
            let target = target(&job.key, &job.meta.uid);
            let delete = Delete {
                propagation: Some(Propagation::Foreground),
                ..deletion(state, target, Rule::TtlAfterFinished)
            };
            let cause = Cause::Policy("ttlSecondsAfterFinished".into());
            Identity::TtlController.step(Intent::Delete(delete), cause)
        };
        self.0.due(state, now, limit).map(delete).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{empty, put};
    use serde_json::{Value, json};

    const END: &str = "2024-01-01T00:00:10Z";

    fn job() -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "n", "uid": "u"},
            "spec": {"ttlSecondsAfterFinished": 30},
            "status": {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": END}]}})
    }

    #[test]
    fn a_job_is_due_at_its_deadline_and_not_before() {
        let mut state = empty();
        let job = put(&mut state, ("batch", "jobs"), job());
        let mut jobs = FinishedJobs::default();
        jobs.note(&job.key, Some(&job));
        let deadline = Time::parse(END).expect("a time").plus_seconds(30);
        for (now, due) in [(Time(deadline.0 - 1), 0), (deadline, 1)] {
            assert_eq!(jobs.due(&state, now, 10).len(), due, "{now:?}");
        }
    }
}
