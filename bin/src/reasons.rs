//! Why an object exists, according to the state: what an object in deletion waits for; who owns any other, and
//! what will take it along. Also what was wrong with the owners of an object that was deleted.

#[cfg(test)]
mod tests;

use hindsight_core::classify::{classify, owner_key};
use hindsight_core::event::OwnerClass;
use hindsight_core::object::{
    DEFINITION_FINALIZER, FOREGROUND_FINALIZER, NAMESPACE_TOKEN, spec_finalizers,
};
use hindsight_core::{Commit, Event, Object, ObjectKey, OwnerReference, State, Uid};
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
    held_and_why(state, object, Detail::Whole)
}

/// What is said of other objects that an object waits for. These may wait for it in turn, so that what they wait
/// for is told of the first alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// How many there are, and what the first waits for.
    Whole,
    /// How many there are.
    Number,
}

fn held_and_why(state: &State, object: &Object, detail: Detail) -> Vec<String> {
    let finalizers = object.meta.finalizers.iter();
    let mut held: Vec<String> = finalizers
        .map(|finalizer| match &**finalizer {
            DEFINITION_FINALIZER if object.key.is_definition() => {
                instances(state, &object.key, detail)
            }
            FOREGROUND_FINALIZER if object.is_waiting() => blockers(state, object, detail),
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

/// How many dependents block an owner.
fn blocker_count(state: &State, owner: &Object) -> String {
    let blocking = match state.blocker_count(&owner.meta.uid) {
        // The collectors have not released it yet.
        0 => return FOREGROUND_FINALIZER.to_owned(),
        1 => "1 dependent blocks it".to_owned(),
        more => format!("{more} dependents block it"),
    };
    format!("{FOREGROUND_FINALIZER}: {blocking}")
}

/// How many dependents block an owner in foreground deletion, what the first of them that is being deleted waits
/// for, and why one that is not being deleted stays: owners of a kind that is not served protect it.
fn blockers(state: &State, owner: &Object, detail: Detail) -> String {
    let mut told = blocker_count(state, owner);
    if detail == Detail::Number {
        return told;
    }
    let uid = &owner.meta.uid;
    let mut going = state.deleting_blockers(uid);
    if let Some(first) = going.next() {
        let by = held_and_why(state, first, Detail::Number).join(", ");
        told = format!("{told}; {} waits for {by}", first.key);
    }
    let going = state.deleting_blockers(uid).count() as u64;
    if state.blocker_count(uid) > going
        && let Some(kept) = state.objects().find(|one| stays(state, one, uid))
    {
        let unknown = kept.owners().iter();
        let unknown = unknown.filter(|one| is_unresolvable(state, kept, one));
        let why: Vec<String> = unknown.map(|one| owner_line(state, kept, one)).collect();
        told = format!("{told}; {} stays: {}", kept.key, why.join(", "));
    }
    told
}

/// Whether an object blocks this owner and is not deleted, because it is not known whether another of its owners
/// exists.
fn stays(state: &State, object: &Object, owner: &Uid) -> bool {
    let blocks = |one: &OwnerReference| one.uid == *owner && one.blocks();
    object.meta.uid != *owner
        && !object.is_deleting()
        && object.owners().iter().any(blocks)
        && object
            .owners()
            .iter()
            .any(|one| is_unresolvable(state, object, one))
}

fn is_unresolvable(state: &State, object: &Object, owner: &OwnerReference) -> bool {
    classify(state, object, owner) == OwnerClass::Unresolvable
}

/// How many instances hold a definition, and what the first of them that is being deleted waits for.
fn instances(state: &State, definition: &ObjectKey, detail: Detail) -> String {
    let left: Vec<&Arc<Object>> = state.instances(definition).collect();
    let mut told = left.iter().filter(|_| detail == Detail::Whole);
    let waiting = told.find(|instance| instance.is_deleting());
    let waiting = waiting.map_or_else(String::new, |instance| {
        let by = held_and_why(state, instance, Detail::Number).join(", ");
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
    let owners = object.owners().iter();
    owners
        .map(|owner| owner_line(state, object, owner))
        .collect()
}

fn owner_line(state: &State, object: &Object, owner: &OwnerReference) -> String {
    let (kind, name) = (&owner.kind, &owner.name);
    match classify(state, object, owner) {
        OwnerClass::Solid => format!("its owner {kind} {name} exists"),
        OwnerClass::Dangling => format!("its owner {kind} {name} is gone"),
        OwnerClass::Waiting => format!("its owner {kind} {name} waits for its dependents"),
        OwnerClass::Unresolvable => format!(
            "whether its owner {kind} {name} exists is unknown: {} is not served here, or not in the scope that the \
             reference looks in",
            owner.api_version
        ),
    }
}
