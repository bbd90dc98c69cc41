//! Conditions in `status.conditions`: setting, restoring and reading them. Source: upstream's
//! `SetCRDCondition`.

use crate::document::{member_or_insert, object_or_insert};
use serde_json::{Map, Value, json};

/// A condition to write.
#[derive(Debug)]
pub struct Condition<'a> {
    kind: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
    /// The `observedGeneration`, if the condition has one.
    observed_generation: Option<i64>,
}

impl<'a> Condition<'a> {
    /// A condition that is true.
    pub const fn new_true(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self {
            kind,
            status: "True",
            reason,
            message,
            observed_generation: None,
        }
    }

    pub(crate) const fn new_false(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self {
            kind,
            status: "False",
            reason,
            message,
            observed_generation: None,
        }
    }

    pub(crate) const fn with_observed_generation(self, observed_generation: i64) -> Self {
        Self {
            observed_generation: Some(observed_generation),
            ..self
        }
    }

    fn write(&self, members: &mut Map<String, Value>, now: &str) {
        let since = json!(since(Some(members), self.status, now));
        members.insert("status".into(), json!(self.status));
        members.insert("lastTransitionTime".into(), since);
        members.insert("reason".into(), json!(self.reason));
        members.insert("message".into(), json!(self.message));
        if let Some(observed_generation) = self.observed_generation {
            members.insert("observedGeneration".into(), json!(observed_generation));
        }
    }
}

/// Sets the condition of this type, replacing any old one; its transition time changes with its status
/// only.
pub fn set(definition: &mut Value, condition: &Condition<'_>, now: &str) {
    let Some(conditions) = list(definition) else {
        return;
    };
    if !conditions.iter().any(|one| is_of(one, condition.kind)) {
        conditions.push(json!({"type": condition.kind}));
    }
    let mut conditions = conditions.iter_mut();
    let stored = conditions.find(|one| is_of(one, condition.kind));
    if let Some(stored) = stored.and_then(Value::as_object_mut) {
        condition.write(stored, now);
    }
}

/// Restores the condition of this type, and its place, from the document before the write.
pub(crate) fn restore(definition: &mut Value, kind: &str, before: &Value) {
    let Some(conditions) = list(definition) else {
        return;
    };
    conditions.retain(|one| !is_of(one, kind));
    let before = before.pointer("/status/conditions");
    let mut before = before.and_then(Value::as_array).into_iter().flatten();
    let place = before.clone().position(|one| is_of(one, kind));
    if let Some((place, stored)) = place.zip(before.find(|one| is_of(one, kind))) {
        conditions.insert(place.min(conditions.len()), stored.clone());
    }
}

/// The `status` of a document, created if absent or null.
pub(crate) fn status(definition: &mut Value) -> Option<&mut Map<String, Value>> {
    object_or_insert(definition.as_object_mut()?, "status")
}

fn list(definition: &mut Value) -> Option<&mut Vec<Value>> {
    member_or_insert(status(definition)?, "conditions", json!([])).as_array_mut()
}

/// Sets the condition of a pod that is being evicted, with the pod's generation if it has one.
pub(crate) fn set_evicted(pod: &mut Value, generation: i64, now: &str) {
    let (kind, reason) = ("DisruptionTarget", "EvictionByEvictionAPI");
    let condition = Condition {
        observed_generation: (generation > 0).then_some(generation),
        ..Condition::new_true(kind, reason, "Eviction API: evicting")
    };
    set(pod, &condition, now);
}

/// Since when a condition has this status: since now, unless it had the same before and says since when. A client
/// may have left its time out, or empty.
pub fn since<'a>(before: Option<&'a Map<String, Value>>, status: &str, now: &'a str) -> &'a str {
    let same = before.filter(|one| one.get("status").is_some_and(|was| was == status));
    let time = same.and_then(|one| one.get("lastTransitionTime")?.as_str());
    time.filter(|time| !time.is_empty()).unwrap_or(now)
}

/// Whether the condition of this type is true.
pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    let condition = find(definition, kind);
    condition.is_some_and(|one| one.get("status").is_some_and(|status| status == "True"))
}

/// The condition of this type, if there is one.
pub(crate) fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|one| is_of(one, kind))
}

fn is_of(condition: &Value, kind: &str) -> bool {
    condition.get("type").is_some_and(|found| found == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_condition_whose_time_moves_with_its_status() {
        let why = "it is so";
        let condition = Condition::new_true("Terminating", "InstanceDeletionPending", why);
        let (before, now) = ("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z");
        let said = |status: &str| {
            json!({"type": "Terminating", "status": status, "reason": "Old",
            "message": "old", "lastTransitionTime": before})
        };
        let other = json!({"type": "Established", "status": "True"});
        let is = |since: &str| {
            json!({"type": "Terminating", "status": "True",
            "reason": "InstanceDeletionPending", "lastTransitionTime": since,
            "message": why})
        };
        let timeless = |time: Value| json!({"type": "Terminating", "status": "True", "lastTransitionTime": time});
        let list = |conditions: Vec<&Value>| json!({"status": {"conditions": conditions}});
        for (definition, wanted) in [
            (json!({}), list(vec![&is(now)])),
            (json!({"status": {}}), list(vec![&is(now)])),
            (
                json!({"status": {"conditions": null}}),
                list(vec![&is(now)]),
            ),
            (list(vec![&other]), list(vec![&other, &is(now)])),
            (
                list(vec![&said("False"), &other]),
                list(vec![&is(now), &other]),
            ),
            (
                list(vec![&other, &said("True")]),
                list(vec![&other, &is(before)]),
            ),
            (list(vec![&timeless(json!(null))]), list(vec![&is(now)])),
            (list(vec![&timeless(json!(""))]), list(vec![&is(now)])),
        ] {
            let mut marked = definition.clone();
            set(&mut marked, &condition, now);
            assert_eq!(marked, wanted, "{definition}");
        }
    }
}
