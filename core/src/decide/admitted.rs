//! Intents that passed admission: they are carried out only on the version that admission saw, with the
//! object that it left. Waiting for the network happened elsewhere; here the answer is checked against the
//! newest state.

use super::Context;
use crate::Rejection;
use crate::command::{AdmissionBasis, Admitted, Create, FieldValidation, Intent, Update};
use crate::document::metadata_mut;
use crate::object::ObjectKey;
use serde_json::Value;

/// The intent as admission left it. Stale unless the object is still the one that admission saw.
pub(crate) fn as_admitted(
    context: Context<'_>,
    intent: Intent,
    admitted: Admitted,
) -> Result<Intent, Rejection> {
    if let Some(key) = key(&intent) {
        check_basis(context, key, admitted.seen)?;
    }
    Ok(match admitted.object {
        Some(object) => with_object(intent, object, admitted.seen),
        None => intent,
    })
}

/// The key to compare. A created object has no earlier version; whether its name is free is checked anyway.
fn key(intent: &Intent) -> Option<&ObjectKey> {
    match intent {
        Intent::Update(update) => Some(&update.key),
        Intent::Patch(patch) => Some(&patch.key),
        Intent::Delete(delete) | Intent::Evict(delete) => Some(&delete.target.key),
        Intent::Create(_) | Intent::Collect(_) => None,
    }
}

fn check_basis(
    context: Context<'_>,
    key: &ObjectKey,
    seen: AdmissionBasis,
) -> Result<(), Rejection> {
    let found = context.state.get(key).map(|object| object.revision);
    let holds = match seen {
        AdmissionBasis::Absent => found.is_none(),
        AdmissionBasis::Present => found.is_some(),
        AdmissionBasis::At(revision) => found == Some(revision),
    };
    if holds {
        return Ok(());
    }
    let why = "the object is no longer the one that was admitted";
    Err(Rejection::stale(key, why))
}

/// Restores the `resourceVersion` that the client sent. Admission is shown a new object without it; storage refuses the
/// object if it was sent with one.
fn with_revision_of(sent: &Value, mut object: Value) -> Value {
    let revision = sent.pointer("/metadata/resourceVersion").cloned();
    let metadata = metadata_mut(&mut object);
    if let Some((metadata, revision)) = metadata.zip(revision) {
        metadata.insert("resourceVersion".into(), revision);
    }
    object
}

/// Restores the `resourceVersion` that the client sent, or its absence. It is compared after admission, which may be
/// shown the stored version.
fn with_exact_revision_of(sent: &Value, mut object: Value) -> Value {
    let metadata = metadata_mut(&mut object);
    if let Some(metadata) = metadata {
        metadata.remove("resourceVersion");
    }
    with_revision_of(sent, object)
}

/// Replaces the document of an intent. Field validation was applied to what the client sent; what admission
/// added is only pruned.
fn with_object(intent: Intent, object: Value, seen: AdmissionBasis) -> Intent {
    let validation = FieldValidation::Ignore;
    match intent {
        Intent::Create(create) => Intent::Create(Create {
            object: with_revision_of(&create.object, object),
            validation,
            ..create
        }),
        Intent::Update(update) => Intent::Update(Update {
            object: with_exact_revision_of(&update.object, object),
            validation,
            ..update
        }),
        // Server-side apply to an object that did not exist.
        Intent::Patch(patch) if seen == AdmissionBasis::Absent => Intent::Create(Create {
            key: patch.key,
            version: patch.version,
            object,
            validation,
        }),
        Intent::Patch(patch) => Intent::Update(Update {
            key: patch.key,
            version: patch.version,
            subresource: patch.subresource,
            object,
            validation,
        }),
        Intent::Delete(_) | Intent::Evict(_) | Intent::Collect(_) => intent,
    }
}
