//! Field ownership is computed before webhooks are asked, so the fields that they change have no manager. They
//! may edit `managedFields`; if it cannot be read afterwards, the earlier one is restored. Source: upstream's
//! `managedFieldsValidatingAdmissionController`.

use super::mutate::Mutated;
use hindsight_core::managed::unreadable;
use hindsight_core::metadata_mut;
use serde_json::Value;

const UNREADABLE: &str = ".metadata.managedFields was in an invalid state after admission; this \
    could be caused by an outdated mutating admission controller; please fix your requests";

/// The `managedFields` that webhooks are shown.
pub(super) fn fields(shown: Option<&Value>) -> Option<Value> {
    shown?.pointer("/metadata/managedFields").cloned()
}

/// Restores the earlier `managedFields` where webhooks left some that cannot be read.
pub(super) fn restore_unreadable(mutated: &mut Mutated, before: Option<Value>) {
    let Some(metadata) = mutated.object.as_mut().and_then(metadata_mut) else {
        return;
    };
    let after = metadata.get("managedFields");
    if !mutated.changed || after == before.as_ref() {
        return;
    }
    let Some(why) = unreadable(after) else {
        return;
    };
    match before {
        Some(before) => metadata.insert("managedFields".into(), before),
        None => metadata.remove("managedFields"),
    };
    mutated.warnings.push(format!("{UNREADABLE}: {why}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_read_is_put_back_and_what_can_is_kept() {
        let entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}});
        let before = json!([entry]);
        for (after, kept) in [
            (before.clone(), true),
            (json!([]), true),
            (json!([{}]), false),
            (json!("none"), false),
            (json!([{"manager": "m", "operation": "Guess"}]), false),
        ] {
            let object = json!({"metadata": {"managedFields": after}});
            let mut mutated = Mutated {
                object: Some(object.clone()),
                changed: true,
                ..Mutated::default()
            };
            restore_unreadable(&mut mutated, Some(before.clone()));
            let found = mutated.object.expect("an object");
            assert_eq!(found == object, kept, "{after}");
            assert_eq!(mutated.warnings.is_empty(), kept);
            assert!(kept || found["metadata"]["managedFields"] == before);
        }
    }
}
