//! Patches: pure functions from document and patch to document.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

use crate::Rejection;
use crate::command::Patch;
use serde_json::Value;

/// The live document with the patch applied.
pub fn apply(live: &Value, patch: &Patch) -> Result<Value, Rejection> {
    match patch {
        Patch::Json(operations) => json::apply(live, operations),
        Patch::Merge(change) => merge::apply(live, change),
        Patch::Strategic(change) => strategic::apply(live, change),
    }
}
