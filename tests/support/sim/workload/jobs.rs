//! Jobs that finish and are then kept until their TTL expires.

use super::NAMESPACES;
use super::containers::made;
use crate::dice::Dice;
use hindsight_core::command::{FieldValidation, Patch, PatchObject};
use hindsight_core::kind::Subresource;
use hindsight_core::{GroupResource, Intent, ObjectKey, State, Time};
use serde_json::json;

/// Creates a job, or marks it as finished now.
pub fn job(dice: &mut Dice, state: &State, now: Time) -> Intent {
    let jobs = GroupResource::new("batch", "jobs");
    let name = format!("j{}", dice.roll(3));
    let key = ObjectKey::new(jobs.clone(), NAMESPACES[0], &name);
    if state.get(&key).is_none() {
        let seconds = dice.pick(&[0, 30, 3600]);
        let object = json!({"metadata": {"name": name}, "spec": {
            "ttlSecondsAfterFinished": seconds,
            "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}},
        }});
        return made(ObjectKey::new(jobs, NAMESPACES[0], ""), "v1", object);
    }
    let time = now.to_rfc3339();
    let condition = json!({"type": "Complete", "status": "True",
        "lastProbeTime": time, "lastTransitionTime": time});
    Intent::Patch(PatchObject {
        key,
        version: "v1".into(),
        subresource: Some(Subresource::Status),
        patch: Patch::Merge(json!({"status": {
            "startTime": time, "completionTime": time, "conditions": [condition]}})),
        validation: FieldValidation::Ignore,
    })
}
