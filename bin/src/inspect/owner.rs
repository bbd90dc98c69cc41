//! Whether an owner exists, for whoever creates a dependent.

use crate::answer::OwnerAnswer;
use hindsight_core::classify::owner_key;
use hindsight_core::{OwnerReference, State};

/// The owner that a reference names, with the namespace of the object that has the reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Whether the owner exists, with this UID, and whether it would take a dependent along that is created now: the
/// collectors delete the dependents of an owner that waits for them in foreground deletion. One that is being
/// deleted in another way keeps its dependents for as long as it exists.
pub(crate) fn find_owner(state: &State, owner: &Owner) -> OwnerAnswer {
    let reference = OwnerReference {
        api_version: owner.api_version.as_str().into(),
        kind: owner.kind.as_str().into(),
        name: owner.name.as_str().into(),
        uid: owner.uid.as_str().into(),
        controller: None,
        block_owner_deletion: None,
    };
    let key = owner_key(state, &owner.namespace, &reference);
    let found = key.and_then(|key| state.get(&key));
    let found = found.filter(|found| found.meta.uid == reference.uid);
    OwnerAnswer {
        there: found.is_some(),
        waits: found.is_some_and(|found| found.is_waiting()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::served::tests::state_with;
    use hindsight_core::command::{Delete, Intent, Propagation, Target};
    use hindsight_core::{Actor, Command, GroupResource, ObjectKey, Rule, Time, apply, decide};
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn an_owner_is_there_where_the_collector_finds_it() {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let (state, uid) = state_with("nodes", "", node);
        for (api_version, kind, name, uid, found) in [
            ("v1", "Node", "n", uid.as_str(), true),
            ("v1", "Node", "n", "another", false),
            ("v1", "Node", "m", &uid, false),
            ("v2", "Node", "n", &uid, false),
            ("apps/v1", "Node", "n", &uid, false),
        ] {
            let owner = Owner {
                api_version: api_version.into(),
                kind: kind.into(),
                namespace: "default".into(),
                name: name.into(),
                uid: uid.into(),
            };
            assert_eq!(find_owner(&state, &owner).there, found, "{owner:?}");
        }
    }

    #[test]
    fn an_owner_takes_new_dependents_along_only_while_it_waits_for_the_others() {
        let metadata = json!({"name": "n", "finalizers": ["x.io/held"]});
        for (propagation, waits) in [
            (None, false),
            (Some(Propagation::Background), false),
            (Some(Propagation::Orphan), false),
            (Some(Propagation::Foreground), true),
        ] {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
            let (mut state, uid) = state_with("nodes", "", node);
            if propagation.is_some() {
                let target = Target::any(ObjectKey::new(GroupResource::new("", "nodes"), "", "n"));
                let delete = Delete {
                    propagation,
                    ..Delete::new(target, "v1".into(), Rule::Requested)
                };
                let actor = Arc::new(Actor::new("a"));
                let command = Command::new(actor, Time(0), [2; 16], Intent::Delete(delete));
                for commit in &decide(&state, command).expect("decided").commits {
                    drop(apply(&mut state, commit));
                }
                assert!(state.objects().any(|object| object.is_deleting()));
            }
            let owner = Owner {
                api_version: "v1".into(),
                kind: "Node".into(),
                namespace: "default".into(),
                name: "n".into(),
                uid,
            };
            let expected = OwnerAnswer { there: true, waits };
            assert_eq!(find_owner(&state, &owner), expected, "{propagation:?}");
        }
    }
}
