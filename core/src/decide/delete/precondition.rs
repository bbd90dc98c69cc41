//! Preconditions: identity first, then version.

use crate::Rejection;
use crate::command::Target;
use crate::kind::{GroupResource, Kind};
use crate::object::Object;
use std::sync::Arc;

/// Refuses a target that is not the one meant. Upstream's early check names the kind.
pub(super) fn check(target: &Target, object: &Object, kind: &Kind) -> Result<(), Rejection> {
    let conflict = |reason: String| Rejection::Conflict {
        resource: GroupResource {
            group: Arc::clone(&kind.resource.group),
            resource: Arc::clone(&kind.kind),
        },
        name: Arc::clone(&object.key.name),
        reason,
    };
    if let Some(uid) = target.uid.as_ref().filter(|uid| **uid != object.meta.uid) {
        return Err(conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). \
             The object might have been deleted and then recreated",
            object.meta.uid
        )));
    }
    if let Some(revision) = target
        .revision
        .filter(|revision| *revision != object.revision)
    {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({revision}) does not match the \
             ResourceVersion in record ({}). The object might have been modified",
            object.revision
        )));
    }
    Ok(())
}
