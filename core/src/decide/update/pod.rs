//! What a write to the status of a pod cannot take away. Source: `podStatusStrategy.PrepareForUpdate` and
//! `preserveOldObservedGeneration` of upstream's `pkg/registry/core/pod`.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

const OBSERVED: &str = "observedGeneration";
const CONDITIONS: &str = "/status/conditions";

/// Puts back what older kubelets leave out: the quality of service, and which generation was observed.
pub(super) fn keep_status(old: &Value, next: &mut Value) {
    let Some(root) = next.as_object_mut() else {
        return;
    };
    let before = old.get("status").and_then(Value::as_object);
    let Some(before) = before else {
        return;
    };
    let status = root.entry("status").or_insert_with(|| Map::new().into());
    if let Some(status) = status.as_object_mut() {
        keep("qosClass", before.get("qosClass"), status);
        keep(OBSERVED, before.get(OBSERVED), status);
    }
    keep_of_conditions(old, next);
}

/// Types may repeat: what the n-th condition of a type observed is kept by the n-th of that type.
fn keep_of_conditions(old: &Value, next: &mut Value) {
    let type_of = |condition: &Value| condition.get("type").cloned().unwrap_or_default();
    let mut observed: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let before = old.pointer(CONDITIONS).and_then(Value::as_array);
    // The last comes first, because the first is taken from the end.
    for condition in before.into_iter().flatten().rev() {
        let of_type = observed.entry(type_of(condition).to_string());
        of_type.or_default().push(condition);
    }
    let after = next.pointer_mut(CONDITIONS).and_then(Value::as_array_mut);
    for condition in after.into_iter().flatten() {
        let of_type = observed.get_mut(&type_of(condition).to_string());
        let was = of_type.and_then(Vec::pop).and_then(|one| one.get(OBSERVED));
        if let Some(condition) = condition.as_object_mut() {
            keep(OBSERVED, was, condition);
        }
    }
}

fn keep(member: &str, was: Option<&Value>, members: &mut Map<String, Value>) {
    if let Some(was) = was {
        crate::defaults::insert_empty(members, member, was.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_of_a_type_keeps_what_the_first_of_it_observed() {
        let ready = |observed: i64| json!({"type": "Ready", "observedGeneration": observed});
        let old = json!({"status": {"conditions": [ready(1), ready(2)]}});
        let sent = json!([{"type": "Ready"}, ready(7), {"type": "Ready"}, {"type": "Other"}]);
        let mut next = json!({"status": {"conditions": sent}});
        keep_status(&old, &mut next);
        let found = json!([ready(1), ready(7), {"type": "Ready"}, {"type": "Other"}]);
        assert_eq!(next["status"]["conditions"], found);

        let mut once = json!({"status": {"conditions": [ready(7), {"type": "Ready"}]}});
        keep_status(&old, &mut once);
        let found = json!([ready(7), ready(2)]);
        assert_eq!(once["status"]["conditions"], found);
    }

    #[test]
    fn a_status_that_is_taken_away_keeps_its_class() {
        let old = json!({"status": {"qosClass": "Burstable", "observedGeneration": 3, "phase": "Failed"}});
        for sent in [
            json!({}),
            json!({"status": {"qosClass": "", "observedGeneration": 0}}),
        ] {
            let mut next = sent;
            keep_status(&old, &mut next);
            let kept = json!({"qosClass": "Burstable", "observedGeneration": 3});
            assert_eq!(next["status"], kept);
        }
    }
}
