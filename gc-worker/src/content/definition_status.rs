//! The condition of a definition that cannot be removed yet: its instances are being deleted. Source:
//! upstream's `crd_finalizer.go`, which adds after each minute that there are still some.

use hindsight_core::conditions::{self, Condition};
use hindsight_core::object::Object;
use hindsight_core::{State, Time};
use serde_json::{Value, json};

const REASON: &str = "InstanceDeletionInProgress";
const MESSAGE: &str = "CustomResource deletion is in progress";

/// The conditions that the definition should have, if instances hold it and it does not say so yet.
pub(super) fn status_to_write(state: &State, definition: &Object, now: Time) -> Option<Value> {
    state.instances(&definition.key).next()?;
    let document = definition.document();
    let before = json!({"status": {"conditions": document.pointer("/status/conditions")}});
    let mut status = before.clone();
    let condition = Condition::new_true("Terminating", REASON, MESSAGE);
    conditions::set(&mut status, &condition, &now.to_rfc3339());
    (status != before).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::status_to_write;
    use crate::testing::{empty, put};
    use hindsight_core::Time;
    use serde_json::{Value, json};

    const NOW: &str = "2024-01-02T00:00:00Z";

    /// The new conditions of a definition that has these, with or without an instance.
    fn conditions_to_write(conditions: &Value, has_instance: bool) -> Option<Value> {
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
        let status = status_to_write(&state, &definition, Time::parse(NOW).expect("a time"));
        status.map(|status| status["status"]["conditions"].clone())
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
                conditions_to_write(&conditions, has_instance),
                expected,
                "{conditions}"
            );
        }
    }
}
