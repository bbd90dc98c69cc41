//! Patches: pure functions from a document and a patch to a document.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

use crate::Rejection;
use crate::command::Patch;
use crate::schema::{Schema, any_object};
use serde_json::Value;

pub(crate) use strategic::{go, type_of, unreadable};

/// Applies a patch without a schema: a strategic merge knows the lists of metadata only.
pub fn apply(live: &Value, patch: &Patch) -> Result<Value, Rejection> {
    apply_to(live, patch, None)
}

/// Applies a patch; the schema says how a strategic merge treats lists.
pub(crate) fn apply_to(
    live: &Value,
    patch: &Patch,
    schema: Option<&Schema>,
) -> Result<Value, Rejection> {
    match patch {
        Patch::Json(operations) => json::apply(live, operations),
        Patch::Merge(change) => merge::apply(live, change),
        Patch::Strategic(change) => {
            strategic::apply(live, change, schema.unwrap_or_else(|| any_object()))
        }
        Patch::Apply { .. } => Err(Rejection::Internal(
            "a configuration is merged by who owns what".into(),
        )),
    }
}

/// The 64-bit integer that a floating-point number is equal to, if there is one.
pub fn whole(number: f64) -> Option<i64> {
    let is_whole = number.fract() == 0.0;
    is_whole.then(|| format!("{number:.0}").parse().ok())?
}
