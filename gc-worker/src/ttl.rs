//! Finished jobs whose time to live is over. Source: upstream's `ttlafterfinished` controller.

use crate::plan::{Step, target};
use hindsight_core::command::{Delete, Intent, Propagation};
use hindsight_core::object::Object;
use hindsight_core::{Cause, ObjectKey, Rule, State, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Deadlines of finished jobs.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    by_key: BTreeMap<ObjectKey, Time>,
    by_time: BTreeSet<(Time, ObjectKey)>,
}

impl Deadlines {
    /// Takes a version of an object in; anything but a finished job with a time to live has none.
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

    /// When the next job is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.by_time.first().map(|(time, _)| *time)
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
        live.map(|job| Step {
            intent: Intent::Delete(Delete {
                target: target(&job.key, &job.meta.uid, Some(job.revision)),
                version: "v1".into(),
                orphan_dependents: None,
                propagation: Some(Propagation::Foreground),
                grace_period_seconds: None,
                rule: Rule::TtlAfterFinished,
            }),
            cause: Cause::Policy("ttlSecondsAfterFinished".into()),
        })
        .collect()
    }
}

/// The end of the job plus its time to live.
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
