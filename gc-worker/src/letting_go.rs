//! What others hold of what is being deleted, and the requests by which they would let it go.

use hindsight_core::Rule;
use hindsight_core::command::{Delete, FieldValidation, Intent, Patch, PatchObject, Target};
use hindsight_core::object::{DEFINITION_FINALIZER, FOREGROUND_FINALIZER, Name, ORPHAN_FINALIZER};
use hindsight_core::{Object, State};
use serde_json::json;
use std::sync::Arc;

/// Finalizers that the collectors take off by themselves.
const COLLECTORS: [&str; 3] = [FOREGROUND_FINALIZER, ORPHAN_FINALIZER, DEFINITION_FINALIZER];

/// One for each object that waits for somebody else: its node has stopped it, or its finalizers are taken off.
pub(crate) fn requests(state: &State) -> Vec<Intent> {
    let going = state.objects().filter(|object| object.is_deleting());
    going.filter_map(|object| request(state, object)).collect()
}

fn request(state: &State, object: &Object) -> Option<Intent> {
    let kind = state.kinds.by_resource(&object.key.resource)?;
    let version = Arc::clone(&kind.storage_version()?.name);
    let is_own = |finalizer: &&Name| COLLECTORS.contains(&&***finalizer);
    let finalizers = object.meta.finalizers.iter();
    let own: Vec<&str> = finalizers.filter(is_own).map(|one| &**one).collect();
    if object.meta.deletion_grace_period_seconds.unwrap_or(0) > 0 {
        let target = Target::any(object.key.clone());
        let stopped = Delete {
            grace_period_seconds: Some(0),
            ..Delete::new(target, version, Rule::Requested)
        };
        return Some(Intent::Delete(stopped));
    }
    (own.len() < object.meta.finalizers.len()).then(|| {
        Intent::Patch(PatchObject {
            key: object.key.clone(),
            version,
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"finalizers": own}})),
            validation: FieldValidation::Ignore,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world;

    #[test]
    fn what_is_taken_off_are_the_finalizers_of_others() {
        let held = ["foregroundDeletion,x.io/hold", "orphan", "x.io/hold"];
        let going = held.map(|finalizers| format!("a{}!{finalizers}", finalizers.len()));
        let going: Vec<(&str, &[&str])> = going.iter().map(|one| (&**one, &[][..])).collect();
        let state = world(&[&going[..], &[("live", &[])]].concat());
        let left = requests(&state).into_iter().map(|intent| {
            let Intent::Patch(PatchObject {
                patch: Patch::Merge(change),
                ..
            }) = intent
            else {
                panic!("{intent:?}");
            };
            change.to_string()
        });
        let left: Vec<String> = left.collect();
        let expected = [r#"["foregroundDeletion"]"#, "[]"];
        assert_eq!(
            left,
            expected.map(|own| format!(r#"{{"metadata":{{"finalizers":{own}}}}}"#))
        );
    }
}
