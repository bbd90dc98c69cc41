//! Positions (resource versions) that clients hold. Those from before a restore are of another life of the log:
//! what the client has seen may not be in this one.

use crate::backend::Backend;
use crate::status::Failure;
use hindsight_core::{Expired, Revision};

/// The refusal of a version that is later than the revision which a path of the past shows. It says nothing of
/// a retry, or clients would wait for it: the past never becomes newer.
pub(crate) fn after_past(asked: Revision, shown: Revision) -> Failure {
    Failure::bad_request(format!(
        "the resource version is {asked}, and the path shows revision {shown}; ask for it at a path that shows it, or \
         for none"
    ))
}

/// Refuses a position from before a restore with 410, as after a compaction.
pub(crate) fn check(backend: &dyn Backend, asked: Revision) -> Result<(), Failure> {
    let oldest = backend.restored();
    if asked == Revision::ZERO || asked >= oldest {
        return Ok(());
    }
    let expired = Expired { asked, oldest };
    Err(Failure::expired(expired.to_string()))
}

/// The answer to whoever would change the past, or wait for it to change.
pub(crate) fn past_does_not_change(why: &str) -> Failure {
    let message = format!("the past does not change: {why}");
    Failure::new(405, "MethodNotAllowed", message)
}
