//! Conditions in `status.conditions`: setting, restoring and reading them. Source: upstream's
//! `SetCRDCondition`.

use serde_json::{Map, Value, json};

/// A condition to write.
pub(crate) struct Condition<'a> {
    kind: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
    /// The `observedGeneration`, if the condition has one.
    observed: Option<i64>,
}

impl<'a> Condition<'a> {
    pub(crate) const fn good(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self {
            kind,
            status: "True",
            reason,
            message,
            observed: None,
        }
    }

    pub(crate) const fn bad(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self {
            kind,
            status: "False",
            reason,
            message,
            observed: None,
        }
    }

    pub(crate) const fn of_generation(self, observed: i64) -> Self {
        Self {
            observed: Some(observed),
            ..self
        }
    }

    fn write(&self, members: &mut Map<String, Value>, now: &str) {
        let status = json!(self.status);
        let was = members.insert("status".into(), status.clone());
        if was != Some(status) || !members.contains_key("lastTransitionTime") {
            members.insert("lastTransitionTime".into(), json!(now));
        }
        members.insert("reason".into(), json!(self.reason));
        members.insert("message".into(), json!(self.message));
        if let Some(observed) = self.observed {
            members.insert("observedGeneration".into(), json!(observed));
        }
    }
}

/// Sets the condition of this type, replacing any old one; its transition time changes with its status
/// only.
pub(crate) fn set(definition: &mut Value, condition: &Condition<'_>, now: &str) {
    let Some(conditions) = list(definition) else {
        return;
    };
    if !conditions.iter().any(|one| is_of(one, condition.kind)) {
        conditions.push(json!({"type": condition.kind}));
    }
    let mut conditions = conditions.iter_mut();
    let said = conditions.find(|one| is_of(one, condition.kind));
    if let Some(said) = said.and_then(Value::as_object_mut) {
        condition.write(said, now);
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
    if let Some((place, said)) = place.zip(before.find(|one| is_of(one, kind))) {
        conditions.insert(place.min(conditions.len()), said.clone());
    }
}

/// The `status` of a document, created if absent or null.
pub(crate) fn status(definition: &mut Value) -> Option<&mut Map<String, Value>> {
    said_or(definition.as_object_mut()?, "status", json!({})).as_object_mut()
}

fn list(definition: &mut Value) -> Option<&mut Vec<Value>> {
    said_or(status(definition)?, "conditions", json!([])).as_array_mut()
}

fn said_or<'a>(members: &'a mut Map<String, Value>, name: &str, nothing: Value) -> &'a mut Value {
    let said = members.entry(name).or_insert(Value::Null);
    if said.is_null() {
        *said = nothing;
    }
    said
}

/// Like [`set`], in the form of pods, whose conditions have a `lastProbeTime`, and the pod's generation if
/// it has one.
pub(crate) fn set_of_pod(pod: &mut Value, condition: Condition<'_>, generation: i64, now: &str) {
    let condition = Condition {
        observed: (generation > 0).then_some(generation),
        ..condition
    };
    set(pod, &condition, now);
    let conditions = pod.pointer_mut("/status/conditions");
    let mut conditions = conditions
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    let said = conditions.find(|one| is_of(one, condition.kind));
    if let Some(said) = said.and_then(Value::as_object_mut) {
        said.entry("lastProbeTime").or_insert(Value::Null);
    }
}

/// Whether the condition of this type is true.
pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    let said = said(definition, kind);
    said.is_some_and(|one| one.get("status").is_some_and(|status| status == "True"))
}

/// The condition of this type, if there is one.
pub(crate) fn said<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
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
        let condition = Condition::good("Terminating", "InstanceDeletionPending", why);
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
        ] {
            let mut marked = definition.clone();
            set(&mut marked, &condition, now);
            assert_eq!(marked, wanted, "{definition}");
        }
    }
}
