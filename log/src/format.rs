//! Formats by their numbers: which of them this release reads.

use crate::Error;
use hindsight_core::Revision;

/// Whether this release reads a format. Higher numbers than the newest are of later releases, and refused; no release
/// writes 0, so what has that is damaged. `revision` is that of the record, if it is one.
pub(crate) fn is_known(found: u8, newest: u8, revision: Option<Revision>) -> Result<bool, Error> {
    if found <= newest {
        return Ok(found > 0);
    }
    Err(Error::NewerFormat {
        found,
        known: newest,
        revision,
    })
}
