//! The condition of a definition that cannot be removed yet: its instances are being deleted. Source:
//! upstream's `crd_finalizer.go`, which adds after each minute that there are still some.

use crate::conditions::since;
use hindsight_core::document::text;
use hindsight_core::object::Object;
use hindsight_core::{State, Time};
use serde_json::{Value, json};

const REASON: &str = "InstanceDeletionInProgress";
const MESSAGE: &str = "CustomResource deletion is in progress";

/// The conditions that the definition should have, if instances hold it and it does not say so yet.
pub(crate) fn changed(state: &State, definition: &Object, now: Time) -> Option<Value> {
    state.instances(&definition.key).next()?;
    let document = definition.document();
    let conditions = document.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array);
    let mut conditions = conditions.cloned().unwrap_or_default();
    let index = conditions
        .iter()
        .position(|one| text(one, "type") == "Terminating");
    let before = index.map(|index| conditions.remove(index));
    let condition = json!({"type": "Terminating", "status": "True", "reason": REASON,
        "message": MESSAGE, "lastTransitionTime": since(before.as_ref(), "True", now)});
    if before.as_ref() == Some(&condition) {
        return None;
    }
    conditions.insert(index.unwrap_or(conditions.len()), condition);
    Some(json!({"status": {"conditions": conditions}}))
}

#[cfg(test)]
mod tests {
    use super::changed;
    use crate::testing::{empty, put};
    use hindsight_core::Time;
    use serde_json::{Value, json};

    const NOW: &str = "2024-01-02T00:00:00Z";

    /// The new conditions of a definition that has these, with or without an instance.
    fn changed_conditions(conditions: &Value, has_instance: bool) -> Option<Value> {
        let mut state = empty();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": {"name": "us.e.io"},
            "status": {"conditions": conditions}});
        let resource = ("apiextensions.k8s.io", "customresourcedefinitions");
        let definition = put(&mut state, resource, definition);
        if has_instance {
            let instance = json!({"apiVersion": "e.io/v1", "kind": "U", "metadata": {"name": "a"}});
            put(&mut state, ("e.io", "us"), instance);
        }
        let changed = changed(&state, &definition, Time::parse(NOW).expect("a time"));
        changed.map(|status| status["status"]["conditions"].clone())
    }

    #[test]
    fn a_definition_that_its_instances_hold_says_so_once() {
        let before = "2024-01-01T00:00:00Z";
        let other = json!({"type": "Established", "status": "True"});
        let pending = json!({"type": "Terminating", "status": "True", "lastTransitionTime": before,
            "reason": "InstanceDeletionPending", "message": "soon"});
        let timeless = json!({"type": "Terminating", "status": "True"});
        let going = |since: &str| {
            json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
                "message": "CustomResource deletion is in progress", "lastTransitionTime": since})
        };
        for (conditions, has_instance, expected) in [
            (
                json!([pending, other]),
                true,
                Some(json!([going(before), other])),
            ),
            (json!([other]), true, Some(json!([other, going(NOW)]))),
            (json!([timeless]), true, Some(json!([going(NOW)]))),
            (json!([going(before), other]), true, None),
            (json!([pending, other]), false, None),
        ] {
            assert_eq!(
                changed_conditions(&conditions, has_instance),
                expected,
                "{conditions}"
            );
        }
    }
}
