//! Which parts of the sent document a request may write: all but the status, only the status,
//! only the scale.

use super::{Change, approval, put};
use crate::Rejection;
use crate::managed::kept;
use serde_json::{Map, Value, json};

/// The stored document with the client's wishes in the parts that this request may write.
pub(super) fn into_stored(
    change: &Change<'_>,
    old: &Value,
    sent: Value,
) -> Result<Value, Rejection> {
    match change.subresource {
        "" => Ok(whole(change, old, sent)),
        "status" => Ok(status(change, old, sent)),
        "approval" => {
            let sent = status(change, old, sent);
            Ok(approval::approved(old, sent, change.context.command.time))
        }
        "finalize" => Ok(sent),
        "scale" => scale(change, old, &sent),
        other => Err(Rejection::BadRequest(format!("{other} cannot be written"))),
    }
}

/// The main endpoint keeps a status that has an endpoint of its own.
fn whole(change: &Change<'_>, old: &Value, mut sent: Value) -> Value {
    let has_status = change.version.has_status();
    if let Some(root) = sent
        .as_object_mut()
        .filter(|_| change.kind.strategy.status_apart && has_status)
    {
        super::restore(root, old, "status");
    }
    sent
}

/// The status endpoint keeps everything else; built-in kinds let most of its metadata through.
fn status(change: &Change<'_>, old: &Value, mut sent: Value) -> Value {
    let mut next = old.clone();
    let Some(root) = next.as_object_mut() else {
        return next;
    };
    if let Some(sent) = sent.as_object_mut() {
        match sent.remove("status") {
            Some(status) => root.insert("status".into(), status),
            None => root.remove("status"),
        };
        if !change.kind.is_custom()
            && let Some(mut metadata) = sent.remove("metadata")
        {
            keep(change, old, &mut metadata);
            root.insert("metadata".into(), metadata);
        }
    }
    next
}

fn keep(change: &Change<'_>, old: &Value, metadata: &mut Value) {
    let none = Value::Object(Map::new());
    let old = old.get("metadata").unwrap_or(&none);
    if let Some(metadata) = metadata.as_object_mut() {
        for member in kept(change.kind) {
            super::restore(metadata, old, member);
        }
    }
}

/// `spec.replicas` of the Scale goes where the kind keeps its count; who holds it comes along.
fn scale(change: &Change<'_>, old: &Value, sent: &Value) -> Result<Value, Rejection> {
    let path = change.version.count_path();
    let path = path.ok_or_else(|| Rejection::BadRequest("this kind has no scale".into()))?;
    let replicas = sent
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
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

/// The member of an object, made where it is absent.
fn member<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value
        .as_object_mut()
        .map(|members| members.entry(name).or_insert(Value::Null))
}
