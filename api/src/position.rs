//! Positions (resource versions) that clients hold. Those from before a restore are of another life of the log:
//! what the client has seen may not be in this one.

use crate::backend::Backend;
use crate::status::Failure;
use hindsight_core::{Expired, Revision};

/// Refuses a position from before a restore with 410, as after a compaction.
pub(crate) fn check(backend: &dyn Backend, asked: Revision) -> Result<(), Failure> {
    let oldest = backend.restored();
    if asked == Revision::ZERO || asked >= oldest {
        return Ok(());
    }
    let expired = Expired { asked, oldest };
    Err(Failure::expired(expired.to_string()))
}
