//! Deletes finished jobs whose time to live is over. Source: upstream's `ttlafterfinished` controller.

use crate::steps::{Step, deletion, target};
use crate::worker::Worker;
use hindsight_core::command::{Delete, Intent, Propagation};
use hindsight_core::object::Object;
use hindsight_core::{Cause, ObjectKey, Rule, State, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Deadlines of finished jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    by_key: BTreeMap<ObjectKey, Time>,
    by_time: BTreeSet<(Time, ObjectKey)>,
}

impl Deadlines {
    /// Notes the newest version of an object. Only a finished job with a time to live has a deadline.
    pub(crate) fn note(&mut self, key: &ObjectKey, object: Option<&Object>) {
        if &*key.resource.resource != "jobs" || &*key.resource.group != "batch" {
            return;
        }
        if let Some(before) = self.by_key.remove(key) {
            self.by_time.remove(&(before, key.clone()));
        }
        let live = object.filter(|object| !object.is_deleting());
        if let Some(deadline) = live.and_then(|object| deadline(&object.document())) {
            self.by_key.insert(key.clone(), deadline);
            self.by_time.insert((deadline, key.clone()));
        }
    }

    /// Deletions of the jobs that are due.
    pub(crate) fn due(&self, state: &State, now: Time, limit: usize) -> Vec<Step> {
        let due = self
            .by_time
            .iter()
            .take_while(|(time, _)| *time <= now)
            .take(limit);
        let live = due
            .filter_map(|(_, key)| state.get(key))
            .filter(|job| !job.is_deleting());
        let delete = |job: &Object| {
            let target = target(&job.key, &job.meta.uid, Some(job.revision));
            Delete {
                propagation: Some(Propagation::Foreground),
                ..deletion(state, target, Rule::TtlAfterFinished)
            }
        };
        let cause = Cause::Policy("ttlSecondsAfterFinished".into());
        live.map(|job| Worker::TtlController.step(Intent::Delete(delete(job)), cause.clone()))
            .collect()
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
    use hindsight_core::{GroupResource, Revision};
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
        let mut deadlines = Deadlines::default();
        deadlines.note(&job.key, Some(&job));
        let deadline = Time::parse(END).expect("a time").plus_seconds(30);
        for (now, due) in [(Time(deadline.0 - 1), 0), (deadline, 1)] {
            assert_eq!(deadlines.due(&state, now, 10).len(), due, "{now:?}");
        }
    }

    #[test]
    fn a_new_version_has_its_own_deadline_and_what_is_gone_has_none() {
        let key = ObjectKey::new(GroupResource::new("batch", "jobs"), "n", "j");
        let end = Time::parse(END).expect("a time");
        let mut deadlines = Deadlines::default();
        for (revision, ttl) in [(1, 30), (2, 60)] {
            let document = job(json!(ttl), "Complete", "True");
            let object = Object::from_value(key.clone(), document, Revision(revision), None);
            deadlines.note(&key, Some(&object.expect("an object")));
            let next = deadlines.by_time.first().map(|(time, _)| *time);
            assert_eq!(next, Some(end.plus_seconds(ttl)));
        }
        deadlines.note(&key, None);
        assert!(deadlines.by_time.is_empty());
    }
}
