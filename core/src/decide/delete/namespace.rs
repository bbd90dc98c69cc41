//! Namespaces have a first step of their own: they turn `Terminating` and wait for their contents.

use super::{Request, decision, policy};
use crate::command::Propagation;
use crate::event::Event;
use crate::object::{FOREGROUND_FINALIZER, Name, ORPHAN_FINALIZER};
use crate::{Decision, Outcome, Rejection};
use serde_json::{Value, json};
use std::sync::Arc;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn mark(request: &Request<'_>) -> Result<Decision, Rejection> {
    let object = request.object;
    if IMMORTAL.contains(&&*object.key.name) {
        return Err(Rejection::Forbidden {
            resource: object.key.resource.clone(),
            name: Arc::clone(&object.key.name),
            reason: "this namespace may not be deleted".into(),
            causes: Vec::new(),
        });
    }
    if object.is_deleting() {
        return Ok(request.unchanged());
    }
    let mut document = object.document();
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        let now = request.context.command.time.to_rfc3339();
        metadata.insert("deletionTimestamp".into(), json!(now));
        policy::write_finalizers(metadata, &finalizers(request));
    }
    if let Some(root) = document.as_object_mut() {
        let status = root.entry("status").or_insert_with(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("phase".into(), json!("Terminating"));
        }
    }
    let propagation = policy::effective(request.intent, request.kind, object);
    let extra = vec![Event::DeletionRequested {
        rule: request.rule(propagation),
        propagation,
        grace_period_seconds: None,
        owners: Vec::new(),
        decided_at: request.context.state.revision,
    }];
    let (object, commit) = request.write(document, extra)?;
    Ok(decision(vec![commit], Outcome::Deleting(object)))
}

/// `orphanDependents: false` means foreground here, and without options nothing changes.
fn finalizers(request: &Request<'_>) -> Vec<Name> {
    let intent = request.intent;
    let wanted = match (intent.orphan_dependents, intent.propagation) {
        (Some(true), _) | (None, Some(Propagation::Orphan)) => Some(ORPHAN_FINALIZER),
        (Some(false), _) | (None, Some(Propagation::Foreground)) => Some(FOREGROUND_FINALIZER),
        (None, Some(Propagation::Background)) => None,
        (None, None) => return request.object.meta.finalizers.to_vec(),
    };
    let old = request.object.meta.finalizers.iter();
    let mut new: Vec<Name> = old
        .filter(|one| !matches!(&***one, ORPHAN_FINALIZER | FOREGROUND_FINALIZER))
        .cloned()
        .collect();
    new.extend(wanted.map(Name::from));
    new
}
