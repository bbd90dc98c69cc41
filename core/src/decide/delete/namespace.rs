//! Deleting a namespace takes a first step of its own: it becomes `Terminating` and waits until it is
//! empty.

use super::{Deletion, owners, policy};
use crate::command::Propagation;
use crate::decide::conditions;
use crate::document::metadata_mut;
use crate::object::Name;
use crate::{Decision, Outcome, Rejection};
use serde_json::json;
use std::sync::Arc;

pub(super) fn mark(deletion: &Deletion<'_>) -> Result<Decision, Rejection> {
    let object = deletion.object;
    if object.key.is_immortal() {
        return Err(Rejection::Forbidden {
            resource: object.key.resource.clone(),
            name: Arc::clone(&object.key.name),
            reason: "this namespace may not be deleted".into(),
            causes: Vec::new(),
        });
    }
    if object.is_deleting() {
        return Ok(deletion.unchanged());
    }
    let owners = owners::verified(deletion.context, deletion.intent, deletion.object)?;
    let finalizers = finalizers(deletion);
    let mut document = object.document();
    if let Some(metadata) = metadata_mut(&mut document) {
        let now = deletion.context.envelope.time.to_rfc3339();
        metadata.insert("deletionTimestamp".into(), json!(now));
        policy::write_finalizers(metadata, &finalizers);
    }
    if let Some(status) = conditions::status(&mut document) {
        status.insert("phase".into(), json!("Terminating"));
    }
    let propagation = policy::of_mark(&finalizers);
    let extra = deletion.request_event(propagation, None, owners);
    let (object, commit) = deletion.write(document, extra)?;
    Ok(Decision::new(vec![commit], Outcome::Deleting(object)))
}

/// The finalizers of the marked namespace. `orphanDependents: false` means foreground here, and without
/// options they stay as they are.
fn finalizers(deletion: &Deletion<'_>) -> Vec<Name> {
    let intent = deletion.intent;
    let policy = match intent.orphan_dependents {
        Some(true) => Some(Propagation::Orphan),
        Some(false) => Some(Propagation::Foreground),
        None => intent.propagation,
    };
    policy.map_or_else(
        || deletion.object.meta.finalizers.to_vec(),
        |policy| policy::finalizers(deletion.object, policy),
    )
}
