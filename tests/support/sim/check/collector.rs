//! Checks that the collector comes to rest where the naive evaluator does, with nothing left to do.

use super::{Checked, ensure};
use crate::naive;
use crate::reference::World;
use hindsight_core::{GroupResource, Object, ObjectKey, State, Time};

/// Lets the naive evaluator run `expected` until it rests, and compares the result with `rest`.
pub fn ends_as_expected(mut expected: World, rest: &State) -> Checked {
    let rests = expected.settle();
    ensure("collector as the naive one", rests, || {
        "the naive evaluator does not come to rest".into()
    })?;
    let found = naive::world(rest);
    ensure(
        "collector as the naive one",
        expected.visible() == found.visible(),
        || {
            format!(
                "expected {:#?}, found {:#?}",
                expected.visible(),
                found.visible()
            )
        },
    )
}

/// Checks that every remaining object has its namespace, its kind and, if it is a job, time left to
/// live.
pub fn nothing_is_left(rest: &State, now: Time) -> Checked {
    for object in rest.objects() {
        let kind = rest.kinds.by_resource(&object.key.resource);
        ensure("nothing outlives its kind", kind.is_some(), || {
            object.key.to_string()
        })?;
        let namespace = &object.key.namespace;
        let home = ObjectKey::new(GroupResource::new("", "namespaces"), "", namespace);
        // Warnings about cluster-scoped objects are kept in `default`, even if nobody created that
        // namespace.
        let housed = namespace.is_empty() || &**namespace == "default" || rest.get(&home).is_some();
        ensure("nothing outlives its namespace", housed, || {
            object.key.to_string()
        })?;
        if let Some(ends) = ends(object).filter(|_| !object.is_deleting()) {
            ensure("jobs go when their time is over", ends > now, || {
                format!("{} was due at {ends:?}, it is {now:?}", object.key)
            })?;
        }
    }
    Ok(())
}

/// When the TTL of a finished job expires.
pub fn ends(object: &Object) -> Option<Time> {
    if &*object.key.resource.resource != "jobs" {
        return None;
    }
    let job = object.document();
    let finished = job["status"]["completionTime"]
        .as_str()
        .and_then(Time::parse)?;
    Some(finished.plus_seconds(job["spec"]["ttlSecondsAfterFinished"].as_i64()?))
}
