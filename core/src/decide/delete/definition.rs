//! What a definition says of itself once it goes. Source: upstream's `SetCRDCondition`.

use serde_json::{Map, Value, json};

const TERMINATING: &str = "Terminating";
const MESSAGE: &str =
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";

/// One condition of a type, whatever was said under it before; its time moves with its status.
pub(super) fn mark(definition: &mut Value, now: &str) {
    let Some(root) = definition.as_object_mut() else {
        return;
    };
    let status = root.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let is_there = |one: &Value| one.get("type").is_some_and(|kind| kind == TERMINATING);
    if !conditions.iter().any(is_there) {
        conditions.push(json!({"type": TERMINATING}));
    }
    let said = conditions.iter_mut().find(|one| is_there(one));
    if let Some(said) = said.and_then(Value::as_object_mut) {
        set(said, now);
    }
}

fn set(condition: &mut Map<String, Value>, now: &str) {
    let was = condition.insert("status".into(), json!("True"));
    if was != Some(json!("True")) || !condition.contains_key("lastTransitionTime") {
        condition.insert("lastTransitionTime".into(), json!(now));
    }
    condition.insert("reason".into(), json!("InstanceDeletionPending"));
    condition.insert("message".into(), json!(MESSAGE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_condition_whose_time_moves_with_its_status() {
        let (before, now) = ("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z");
        let said = |status: &str| {
            json!({"type": "Terminating", "status": status, "reason": "Old",
            "message": "old", "lastTransitionTime": before})
        };
        let other = json!({"type": "Established", "status": "True"});
        let is = |since: &str| {
            json!({"type": "Terminating", "status": "True",
            "reason": "InstanceDeletionPending", "lastTransitionTime": since,
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"})
        };
        let list = |conditions: Vec<&Value>| json!({"status": {"conditions": conditions}});
        for (definition, wanted) in [
            (json!({}), list(vec![&is(now)])),
            (json!({"status": {}}), list(vec![&is(now)])),
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
            mark(&mut marked, now);
            assert_eq!(marked, wanted, "{definition}");
        }
    }
}
