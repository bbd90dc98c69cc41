//! Approval or denial of a `CertificateSigningRequest`: it is given through `/approval`, which writes
//! nothing else, never through `/status`, and is never taken back. Source: the strategies and the
//! validation of upstream's `certificates`.

use crate::Time;
use crate::kind::Subresource;
use crate::rejection::FieldCause;
use serde_json::{Value, json};

/// Condition types that only `/approval` may add.
const VERDICTS: [&str; 2] = ["Approved", "Denied"];
/// Condition types that nobody may remove.
const FINAL: [&str; 3] = ["Approved", "Denied", "Failed"];
const CONDITIONS: &str = "/status/conditions";

/// The document that `/approval` writes: the conditions as sent, with their times filled in.
pub(super) fn approved(old: &Value, mut sent: Value, now: Time) -> Value {
    let now = now.to_rfc3339();
    let mut conditions = sent.pointer_mut(CONDITIONS).map(Value::take);
    for condition in conditions
        .iter_mut()
        .filter_map(Value::as_array_mut)
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        for time in ["lastUpdateTime", "lastTransitionTime"] {
            let known = condition.get(time).is_some_and(Value::is_string);
            if !known {
                condition.insert(time.into(), json!(now));
            }
        }
    }
    let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
    if let (Some(status), Some(conditions)) = (status.as_object_mut(), conditions) {
        status.insert("conditions".into(), conditions);
    }
    if let Some(root) = sent.as_object_mut() {
        root.insert("status".into(), status);
    }
    sent
}

/// Reports changes of the conditions that are not allowed.
pub(super) fn causes(
    subresource: Option<Subresource>,
    old: &Value,
    next: &Value,
) -> Vec<FieldCause> {
    let has = |document: &Value, verdict: &str| {
        let list = document.pointer(CONDITIONS).and_then(Value::as_array);
        let mut types = list.into_iter().flatten().filter_map(|one| one.get("type"));
        types.any(|one| one == verdict)
    };
    let refuse = |what: &str, verdict: &str| {
        let why = format!("updates may not {what} a condition of type \"{verdict}\"");
        FieldCause::forbidden("status.conditions", &why)
    };
    let removed = FINAL.iter().filter(|one| has(old, one) && !has(next, one));
    let mut causes: Vec<FieldCause> = removed.map(|one| refuse("remove", one)).collect();
    if subresource != Some(Subresource::Approval) {
        let added = VERDICTS
            .iter()
            .filter(|one| has(next, one) && !has(old, one));
        causes.extend(added.map(|one| refuse("add", one)));
    }
    if VERDICTS.iter().all(|one| has(next, one)) {
        let why = "Approved and Denied conditions are mutually exclusive";
        causes.push(FieldCause::invalid(
            "status.conditions",
            &json!("Denied"),
            why,
        ));
    }
    causes
}
