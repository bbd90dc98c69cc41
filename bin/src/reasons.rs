//! Why an object exists, according to the state: what an object in deletion waits for; who owns any other, and
//! what will take it along. Also what was wrong with the owners of an object that was deleted.

use hindsight_core::classify::{classify, owner_key};
use hindsight_core::event::OwnerClass;
use hindsight_core::object::{DEFINITION_FINALIZER, NAMESPACE_TOKEN, spec_finalizers};
use hindsight_core::{Commit, Event, Object, ObjectKey, State};
use hindsight_gc::contents_remaining;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For an object that is being deleted, what it waits for; for another, what its owners are, and what takes it
/// along.
pub(crate) fn reasons(state: &State, object: &Object) -> Vec<String> {
    if object.is_deleting() {
        return held(state, object)
            .into_iter()
            .map(|by| format!("waits for {by}"))
            .collect();
    }
    let mut reasons = owners(state, object);
    reasons.extend(containers(state, object));
    reasons
}

/// What an object that is being deleted waits for.
pub(crate) fn held(state: &State, object: &Object) -> Vec<String> {
    let finalizers = object.meta.finalizers.iter();
    let mut held: Vec<String> = finalizers
        .map(|finalizer| match &**finalizer {
            DEFINITION_FINALIZER if object.key.is_definition() => instances(state, &object.key),
            other => other.to_owned(),
        })
        .collect();
    if object.key.is_namespace() {
        held.extend(tokens_and_contents(state, object));
    }
    let seconds = object.meta.deletion_grace_period_seconds.unwrap_or(0);
    if seconds > 0 {
        held.push(format!("its node, which has {seconds} s to stop it"));
    }
    held
}

/// How many instances hold a definition, and what the first of them that is being deleted waits for.
fn instances(state: &State, definition: &ObjectKey) -> String {
    let left: Vec<&Arc<Object>> = state.instances(definition).collect();
    let waiting = left.iter().find(|instance| instance.is_deleting());
    let waiting = waiting.map_or_else(String::new, |instance| {
        let by = held(state, instance).join(", ");
        format!("; {} waits for {by}", instance.key)
    });
    let instances = if left.len() == 1 {
        "1 instance".to_owned()
    } else {
        format!("{} instances", left.len())
    };
    format!("{DEFINITION_FINALIZER}: {instances} left{waiting}")
}

/// The namespace or definition of an object that is not being deleted, if that is in deletion and takes the
/// object along.
fn containers(state: &State, object: &Object) -> Vec<String> {
    let found = [
        ("namespace", state.namespace(&object.key.namespace)),
        ("definition", state.definition_of(&object.key.resource)),
    ];
    let going = found.into_iter().filter_map(|(what, container)| {
        let container = container?;
        let (name, since) = (&container.key.name, container.meta.deletion_timestamp?);
        let since = since.to_rfc3339();
        Some(format!(
            "its {what} {name} has been terminating since {since}, and takes it along"
        ))
    });
    going.collect()
}

/// The tokens that hold a namespace, with its contents for the token that stands for them. Contents hold it
/// without this token too.
fn tokens_and_contents(state: &State, namespace: &Object) -> Vec<String> {
    let messages = contents_remaining(state, &namespace.key.name);
    let contents = if messages.is_empty() {
        "its contents".to_owned()
    } else {
        format!("its contents: {}", messages.join("; "))
    };
    let document = namespace.document();
    let tokens = spec_finalizers(&document).iter();
    let tokens = tokens.filter_map(Value::as_str).map(|token| match token {
        NAMESPACE_TOKEN => contents.clone(),
        other => other.to_owned(),
    });
    let mut held: Vec<String> = tokens.collect();
    if !messages.is_empty() && !held.contains(&contents) {
        held.push(contents);
    }
    held
}

/// References because of which an object was deleted that gave one object the UID of another: such an owner
/// does not exist, though its UID does.
pub(crate) fn mismatched_owners(state: &State, deletion: &Commit) -> Vec<String> {
    let verdicts = deletion.events.iter().filter_map(Event::verdict);
    let findings = verdicts.flat_map(|(_, owners)| owners);
    let gone = findings.filter(|found| found.class == OwnerClass::Dangling);
    let gone: BTreeMap<_, _> = gone.map(|found| (&found.owner.uid, &found.owner)).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let namespace = &deletion.key.namespace;
    let mismatches = state.objects().filter_map(|object| {
        let owner = gone.get(&object.meta.uid)?;
        if owner_key(state, namespace, owner).is_some_and(|key| key == object.key) {
            return None;
        }
        let place = match &object.key.namespace {
            same if same == namespace => String::new(),
            none if none.is_empty() => String::new(),
            other => format!(" in {other}"),
        };
        Some(format!(
            "its reference to {} {} has the uid of {} {}{place}; an owner must match in kind, name and uid",
            owner.kind, owner.name, object.type_meta.kind, object.key.name
        ))
    });
    mismatches.collect()
}

fn owners(state: &State, object: &Object) -> Vec<String> {
    let owners = object.owners().iter().map(|owner| {
        let (kind, name) = (&owner.kind, &owner.name);
        match classify(state, object, owner) {
            OwnerClass::Solid => format!("its owner {kind} {name} exists"),
            OwnerClass::Dangling => format!("its owner {kind} {name} is gone"),
            OwnerClass::Waiting => format!("its owner {kind} {name} waits for its dependents"),
            OwnerClass::Unresolvable => format!(
                "whether its owner {kind} {name} exists is unknown: {} is not served here, or not in the scope that \
                 the reference looks in",
                owner.api_version
            ),
        }
    });
    owners.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plane;
    use hindsight_core::command::{
        Create, Delete, FieldValidation, Intent, Patch, PatchObject, Target,
    };
    use hindsight_core::kind::Subresource;
    use hindsight_core::{Actor, Command, GroupResource, Rule};
    use serde_json::json;

    #[test]
    fn a_namespace_whose_token_was_taken_out_waits_for_its_contents() {
        let plane = plane();
        let run = |intent: Intent| {
            let actor = Arc::new(Actor::new("t"));
            let command = Command::new(actor, plane.now(), plane.seed(), intent);
            let mut answers = plane.submit_blocking(vec![command]).expect("written");
            answers.pop().expect("an answer").expect("it is taken");
        };
        let create = |resource: &str, namespace: &str, metadata: Value| {
            run(Intent::Create(Create {
                key: ObjectKey::new(GroupResource::new("", resource), namespace, ""),
                version: "v1".into(),
                object: json!({"metadata": metadata}),
                validation: FieldValidation::Ignore,
            }));
        };
        create("namespaces", "", json!({"name": "n"}));
        run(Intent::Patch(PatchObject {
            key: ObjectKey::namespace("n"),
            version: "v1".into(),
            subresource: Some(Subresource::Finalize),
            patch: Patch::Merge(json!({"spec": {"finalizers": null}})),
            validation: FieldValidation::Ignore,
        }));
        let held_map = json!({"name": "held", "finalizers": ["x.io/hold"]});
        create("configmaps", "n", held_map);
        let target = Target::any(ObjectKey::namespace("n"));
        run(Intent::Delete(Delete::new(
            target,
            "v1".into(),
            Rule::Requested,
        )));
        let state = plane.state();
        let namespace = state.namespace("n").expect("it is held");
        let expected = "its contents: Some resources are remaining: configmaps. has 1 resource instances; \
            Some content in the namespace has finalizers remaining: x.io/hold in 1 resource instances";
        assert_eq!(held(&state, namespace), [expected]);
    }
}
