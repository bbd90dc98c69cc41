//! Unknown fields, found before a command is made: a strict client whose body repeats members is told of both
//! at once.

use crate::handler::Routed;
use hindsight_core::command::Patch;
use hindsight_core::schema::Schema;
use hindsight_core::{patch, scale};
use serde_json::Value;

/// The paths of unknown fields in a whole object.
pub(super) fn of(asked: &Routed, document: &Value) -> Vec<String> {
    schema(asked).map_or_else(Vec::new, |schema| schema.prune(&mut document.clone()))
}

/// The paths of unknown fields in what a patch makes of the object as it is now.
pub(super) fn after(asked: &Routed, change: &Patch) -> Vec<String> {
    let live = asked.state.get(&asked.key()).and_then(|stored| {
        if asked.is_scale() {
            return scale::scale_of(&asked.version, &asked.form.object(stored));
        }
        Some(asked.form.document(stored))
    });
    let next = live.and_then(|live| patch::apply(&live, change).ok());
    next.map_or_else(Vec::new, |next| of(asked, &next))
}

fn schema(asked: &Routed) -> Option<&Schema> {
    if asked.is_scale() {
        return Some(scale::schema());
    }
    let found = asked.state.kinds.schema(&asked.kind, &asked.version.name);
    found.map(|schema| &**schema)
}
