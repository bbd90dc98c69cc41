//! Approval or denial of a `CertificateSigningRequest`: it is given through `/approval`, which writes
//! nothing else, never through `/status`, and is never taken back. The certificate is given once. Source:
//! the strategies and the validation of upstream's `certificates`.

use crate::Time;
use crate::kind::Subresource;
use crate::rejection::FieldCause;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Condition types that only `/approval` may add.
const VERDICTS: [&str; 2] = ["Approved", "Denied"];
/// Condition types that nobody may remove.
const FINAL: [&str; 3] = ["Approved", "Denied", "Failed"];
const CONDITIONS: &str = "/status/conditions";
const TRANSITION: &str = "lastTransitionTime";

/// The document that `/approval` writes: the conditions as sent, with their times filled in.
pub(super) fn approved(old: &Value, mut sent: Value, now: Time) -> Value {
    fill_in_times(old, &mut sent, now);
    let conditions = sent.pointer_mut(CONDITIONS).map(Value::take);
    let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        status.remove("conditions");
        status.extend(conditions.map(|list| ("conditions".to_owned(), list)));
    }
    if let Some(root) = sent.as_object_mut() {
        root.insert("status".into(), status);
    }
    sent
}

/// The document that `/status` writes: a verdict stays as it was given, and the times of the other
/// conditions are filled in.
pub(super) fn reported(old: &Value, mut sent: Value, now: Time) -> Value {
    for verdict in VERDICTS {
        keep(verdict, old, &mut sent);
    }
    fill_in_times(old, &mut sent, now);
    sent
}

/// Restores the conditions of this type. If some are added or removed, all stay as sent, and the
/// validation refuses them.
fn keep(verdict: &str, old: &Value, sent: &mut Value) {
    let is_it = |one: &Value| one.get("type").is_some_and(|kind| kind == verdict);
    let given: Vec<&Value> = conditions(old).filter(|one| is_it(one)).collect();
    let sent = sent.pointer_mut(CONDITIONS).and_then(Value::as_array_mut);
    let sent = sent.into_iter().flatten().filter(|one| is_it(one));
    let sent: Vec<&mut Value> = sent.collect();
    if sent.len() == given.len() {
        for (place, given) in sent.into_iter().zip(given) {
            *place = given.clone();
        }
    }
}

/// Fills in the times that a condition lacks. One that was there with the same status keeps the time of its
/// transition.
fn fill_in_times(old: &Value, sent: &mut Value, now: Time) {
    let now = json!(now.to_rfc3339());
    let mut known = BTreeMap::new();
    for one in conditions(old) {
        if let Some(time) = one.get(TRANSITION).filter(|time| time.is_string()) {
            known.entry(said(|member| one.get(member))).or_insert(time);
        }
    }
    let sent = sent.pointer_mut(CONDITIONS).and_then(Value::as_array_mut);
    let sent = sent.into_iter().flatten().filter_map(Value::as_object_mut);
    for condition in sent {
        let changed = known.get(&said(|member| condition.get(member))).copied();
        let changed = changed.unwrap_or(&now).clone();
        for (member, time) in [("lastUpdateTime", now.clone()), (TRANSITION, changed)] {
            if !condition.get(member).is_some_and(Value::is_string) {
                condition.insert(member.into(), time);
            }
        }
    }
}

/// The type and the status of a condition with these members.
fn said<'a>(member: impl Fn(&str) -> Option<&'a Value>) -> [Option<&'a str>; 2] {
    ["type", "status"].map(|name| member(name).and_then(Value::as_str))
}

fn conditions(document: &Value) -> impl Iterator<Item = &Value> {
    let list = document.pointer(CONDITIONS).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Reports changes of the status that are not allowed.
pub(super) fn causes(
    subresource: Option<Subresource>,
    old: &Value,
    next: &Value,
) -> Vec<FieldCause> {
    let count = |document: &Value, verdict: &str| {
        let types = conditions(document).filter_map(|one| one.get("type"));
        types.filter(|one| *one == verdict).count()
    };
    let refuse = |what: &str, verdict: &str| {
        let why = format!("updates may not {what} a condition of type \"{verdict}\"");
        FieldCause::forbidden("status.conditions", &why)
    };
    let removed = FINAL
        .iter()
        .filter(|one| count(next, one) < count(old, one));
    let mut causes: Vec<FieldCause> = removed.map(|one| refuse("remove", one)).collect();
    if subresource != Some(Subresource::Approval) {
        let added = VERDICTS
            .iter()
            .filter(|one| count(next, one) > count(old, one));
        causes.extend(added.map(|one| refuse("add", one)));
    }
    if VERDICTS.iter().all(|one| count(next, one) > 0) {
        let why = "Approved and Denied conditions are mutually exclusive";
        causes.push(FieldCause::invalid(
            "status.conditions",
            &json!("Denied"),
            why,
        ));
    }
    let certificate = |document: &Value| document.pointer("/status/certificate").cloned();
    let issued = certificate(old).filter(|issued| issued != "");
    if issued.is_some() && issued != certificate(next) {
        let why = "updates may not modify existing certificate content";
        causes.push(FieldCause::forbidden("status.certificate", why));
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_is_said_again_keeps_the_time_at_which_it_became_so() {
        let [then, now] = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"];
        let said = |status: &str| json!({"type": "Said", "status": status});
        let mut known = said("True");
        known[TRANSITION] = json!(then);
        let old = json!({"status": {"conditions": [known]}});
        for (status, time) in [("True", then), ("False", now)] {
            let sent = json!({"status": {"conditions": [said(status)]}});
            let next = reported(&old, sent, Time::parse(now).expect("a time"));
            let condition = &next["status"]["conditions"][0];
            assert_eq!(condition[TRANSITION], time, "{status}");
            assert_eq!(condition["lastUpdateTime"], now, "{status}");
        }
    }
}
