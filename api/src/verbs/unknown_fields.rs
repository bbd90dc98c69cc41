//! Unknown fields, found before a command is made: a strict client whose body repeats members is told of both
//! at once.

use crate::handler::ResourceRequest;
use hindsight_core::command::Patch;
use hindsight_core::schema::Schema;
use hindsight_core::{patch, scale};
use serde_json::Value;

/// The paths of unknown fields in a whole object.
pub(super) fn of(request: &ResourceRequest, document: &Value) -> Vec<String> {
    schema(request).map_or_else(Vec::new, |schema| schema.prune(&mut document.clone()))
}

/// The paths of unknown fields in what a patch makes of the object as it is now.
pub(super) fn after(request: &ResourceRequest, change: &Patch) -> Vec<String> {
    let live = request.state.get(&request.key()).and_then(|stored| {
        if request.is_scale() {
            return scale::scale_for_patch(&request.version, &request.form.object(stored));
        }
        Some(request.form.document(stored))
    });
    let next = live.and_then(|live| patch::apply(&live, change).ok());
    next.map_or_else(Vec::new, |next| of(request, &next))
}

fn schema(request: &ResourceRequest) -> Option<&Schema> {
    if request.is_scale() {
        return Some(scale::schema());
    }
    let found = request
        .state
        .kinds
        .schema(&request.kind, &request.version.name);
    found.map(|schema| &**schema)
}
