//! Which parts of the sent document a request may write: all but the status, only the status, or only the
//! scale.

use super::{PendingWrite, approval, put};
use crate::kind::{Kind, Shape, Subresource};
use crate::managed::kept;
use crate::scale::UNSET;
use crate::{GroupResource, Rejection};
use serde_json::{Map, Value, json};

/// The stored document with the sent values in the parts that this request may write.
pub(super) fn into_stored(
    change: &PendingWrite<'_>,
    old: &Value,
    sent: Value,
) -> Result<Value, Rejection> {
    let (shape, now) = (
        change.target.kind.strategy.shape,
        change.target.context.envelope.time,
    );
    match change.target.subresource {
        None => Ok(whole(change, old, sent)),
        Some(Subresource::Status) if shape == Shape::CertificateRequest => {
            let sent = status(change, old, sent);
            Ok(approval::reported(old, sent, now))
        }
        Some(Subresource::Status) => Ok(status(change, old, sent)),
        Some(Subresource::Approval) => {
            let sent = status(change, old, sent);
            Ok(approval::approved(old, sent, now))
        }
        Some(Subresource::Finalize) => Ok(sent),
        Some(Subresource::Scale) => scale(change, old, &sent),
        Some(posted @ (Subresource::Binding | Subresource::Eviction)) => {
            let posted = posted.name();
            Err(Rejection::BadRequest(format!("{posted} cannot be written")))
        }
    }
}

/// The main endpoint keeps the stored status, if the status has a subresource of its own.
fn whole(change: &PendingWrite<'_>, old: &Value, mut sent: Value) -> Value {
    let has_status = change.target.version.has_status();
    if let Some(root) = sent.as_object_mut().filter(|_| has_status) {
        super::restore(root, old, "status");
    }
    sent
}

/// The status endpoint keeps everything else; most built-in kinds let the sent metadata through.
fn status(change: &PendingWrite<'_>, old: &Value, mut sent: Value) -> Value {
    let mut next = old.clone();
    let Some(root) = next.as_object_mut() else {
        return next;
    };
    if let Some(sent) = sent.as_object_mut() {
        match sent.remove("status") {
            Some(status) => root.insert("status".into(), status),
            None => root.remove("status"),
        };
        if let Some(mut metadata) = sent.remove("metadata") {
            keep_metadata(change.target.kind, old, &mut metadata);
            root.insert("metadata".into(), metadata);
        }
    }
    next
}

/// Restores the metadata that the kind's status endpoint does not write; for a custom kind, all but
/// `managedFields`. Source: the status strategies, often `ResetObjectMetaForStatus`.
fn keep_metadata(kind: &Kind, old: &Value, sent: &mut Value) {
    let Some(sent) = sent.as_object_mut() else {
        return;
    };
    let stored = old.get("metadata").unwrap_or(&Value::Null);
    if !kind.is_custom() {
        for member in kept(kind) {
            super::restore(sent, stored, member);
        }
        return;
    }
    let managed = sent.remove("managedFields");
    *sent = stored.as_object().cloned().unwrap_or_default();
    sent.extend(managed.map(|list| ("managedFields".to_owned(), list)));
}

/// Writes `spec.replicas` of the `Scale` where the kind keeps its count, together with its `managedFields`.
fn scale(change: &PendingWrite<'_>, old: &Value, sent: &Value) -> Result<Value, Rejection> {
    let path = change.target.version.count_path();
    let path = path.ok_or_else(|| Rejection::BadRequest("this kind has no scale".into()))?;
    let replicas = sent
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    if replicas == i64::from(UNSET) {
        let why = format!("the spec replicas field {path:?} cannot be empty");
        return Err(Rejection::BadRequest(why));
    }
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        let cause = crate::rejection::FieldCause::invalid("spec.replicas", &json!(replicas), why);
        return Err(Rejection::Invalid {
            group: "autoscaling".into(),
            kind: "Scale".into(),
            name: change.stored.key.name.clone(),
            causes: vec![cause],
        });
    }
    let uid = sent.pointer("/metadata/uid").and_then(Value::as_str);
    let found = change.stored.meta.uid.as_str();
    if let Some(wanted) = uid.filter(|uid| !uid.is_empty() && *uid != found) {
        let resource = &change.stored.key.resource;
        let scale = format!("{}/scale", resource.resource);
        return Err(Rejection::Conflict {
            resource: GroupResource::new(&resource.group, &scale),
            name: change.stored.key.name.clone(),
            reason: super::other_identity(wanted, found),
        });
    }
    let mut next = old.clone();
    let mut slot = &mut next;
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        slot = member(slot, segment)
            .ok_or_else(|| Rejection::BadRequest(format!("{path} does not lead to a number")))?;
    }
    *slot = json!(replicas);
    put(&mut next, sent.pointer("/metadata/managedFields").cloned());
    Ok(next)
}

/// The member of an object, created if absent.
fn member<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value
        .as_object_mut()
        .map(|members| members.entry(name).or_insert(Value::Null))
}
