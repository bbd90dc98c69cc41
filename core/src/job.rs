//! The life of a `Job` after it finished.

use crate::Time;
use crate::object::Object;
use serde_json::Value;

/// When the time to live of a finished job is over; `None` if the object is no job, has not finished, or is kept for
/// ever. Source: upstream's `ttlafterfinished` controller.
pub fn end_of_life(object: &Object) -> Option<Time> {
    let resource = &object.key.resource;
    if (&*resource.group, &*resource.resource) != ("batch", "jobs") {
        return None;
    }
    let job = object.document();
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
    use crate::{GroupResource, ObjectKey, Revision};
    use serde_json::json;

    const END: &str = "2024-01-01T00:00:10Z";

    fn end(group: &str, ttl: &Value, kind: &str, status: &str) -> Option<Time> {
        let key = ObjectKey::new(GroupResource::new(group, "jobs"), "n", "j");
        let document = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "n", "uid": "u"},
            "spec": {"ttlSecondsAfterFinished": ttl},
            "status": {"conditions": [{"type": kind, "status": status, "lastTransitionTime": END}]}});
        end_of_life(&Object::from_value(key, document, Revision(1), None).expect("an object"))
    }

    #[test]
    fn a_finished_job_has_an_end_of_life_and_nothing_else_has() {
        let finished = Time::parse(END).expect("a time");
        for (group, ttl, kind, status, expected) in [
            (
                "batch",
                json!(30),
                "Complete",
                "True",
                Some(finished.plus_seconds(30)),
            ),
            ("batch", json!(0), "Failed", "True", Some(finished)),
            ("batch", json!(30), "Complete", "False", None),
            ("batch", json!(30), "Suspended", "True", None),
            ("batch", Value::Null, "Complete", "True", None),
            ("example.com", json!(30), "Complete", "True", None),
        ] {
            let found = end(group, &ttl, kind, status);
            assert_eq!(found, expected, "{group} {ttl} {kind} {status}");
        }
    }
}
