//! What is said of the owners of an object.

use hindsight_core::classify::{classify, owner_key};
use hindsight_core::event::OwnerClass;
use hindsight_core::{Commit, Object, OwnerReference, State};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was wrong with the references because of which an object was deleted, as far as this state tells: one that
/// gives an object the UID of another, or names an object that has another UID.
pub(crate) fn mismatched_owners(state: &State, deletion: &Commit) -> Vec<String> {
    let findings = deletion.deletions().flat_map(|(_, owners)| owners);
    let gone = findings.filter(|found| found.class == OwnerClass::Dangling);
    let gone: BTreeMap<_, _> = gone.map(|found| (&found.owner.uid, &found.owner)).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let namespace = &deletion.key.namespace;
    let by_uid = state.objects().filter_map(|object| {
        let owner = gone.get(&object.meta.uid)?;
        let is_other = owner_key(state, namespace, owner).is_none_or(|key| key != object.key);
        is_other.then(|| other_object(owner, object, namespace))
    });
    let by_name = gone.values().filter_map(|owner| {
        let object = state.get(&owner_key(state, namespace, owner)?)?;
        let is_other = object.meta.uid != owner.uid;
        is_other.then(|| other_uid(owner, object))
    });
    by_uid.chain(by_name).collect()
}

/// The reference has the UID of an object that has other coordinates.
fn other_object(owner: &OwnerReference, object: &Object, namespace: &str) -> String {
    let (kind, name) = (&object.type_meta.kind, &object.key.name);
    let found_in = &*object.key.namespace;
    let is_elsewhere = !found_in.is_empty() && found_in != namespace;
    let place = if is_elsewhere {
        format!(" in {found_in}")
    } else {
        String::new()
    };
    let must = if is_elsewhere && owner.kind == *kind && owner.name == *name {
        "be in the same namespace, or in none"
    } else {
        "match in kind, name and uid"
    };
    format!(
        "its reference to {} {} has the uid of {kind} {name}{place}; an owner must {must}",
        owner.kind, owner.name
    )
}

/// The reference names an object that has another UID: the owner was created anew, or never had that UID.
fn other_uid(owner: &OwnerReference, object: &Object) -> String {
    let (kind, name) = (&owner.kind, &owner.name);
    format!(
        "its reference to {kind} {name} has the uid {}, and the {kind} {name} that exists now has the uid {}; an owner \
         must match in kind, name and uid",
        owner.uid, object.meta.uid
    )
}

pub(super) fn owners(state: &State, object: &Object) -> Vec<String> {
    let owners = object.owners().iter();
    owners
        .map(|owner| owner_line(state, object, owner))
        .collect()
}

pub(super) fn owner_line(state: &State, object: &Object, owner: &OwnerReference) -> String {
    let (kind, name) = (&owner.kind, &owner.name);
    match classify(state, object, owner) {
        OwnerClass::Solid => format!(
            "its owner {kind} {name} exists{}",
            end_of(state, object, owner)
        ),
        OwnerClass::Dangling => format!(
            "its owner {kind} {name} is gone{}",
            successor(state, object, owner)
        ),
        OwnerClass::Waiting => format!("its owner {kind} {name} waits for its dependents"),
        OwnerClass::Unresolvable => format!(
            "whether its owner {kind} {name} exists is unknown: {} is not served here, or not in the scope that the \
             reference looks in",
            owner.api_version
        ),
    }
}

/// The object that a reference names, if there is one, whatever its UID.
fn named<'a>(state: &'a State, object: &Object, owner: &OwnerReference) -> Option<&'a Arc<Object>> {
    state.get(&owner_key(state, &object.key.namespace, owner)?)
}

/// Since when an owner is being deleted, if it is.
fn end_of(state: &State, object: &Object, owner: &OwnerReference) -> String {
    let end = named(state, object, owner).and_then(|found| {
        let since = found.meta.deletion_timestamp?.to_rfc3339();
        let dependents = if found.is_orphaning() {
            ", orphaning its dependents"
        } else {
            ""
        };
        Some(format!(
            ", and has been terminating since {since}{dependents}"
        ))
    });
    end.unwrap_or_default()
}

/// What is said of the object that has the name of an owner that is gone.
fn successor(state: &State, object: &Object, owner: &OwnerReference) -> String {
    let found = named(state, object, owner);
    found.map_or_else(String::new, |found| {
        let uid = &found.meta.uid;
        format!(
            "; the one that exists has the uid {uid}, and the reference {}",
            owner.uid
        )
    })
}

pub(super) fn is_unresolvable(state: &State, object: &Object, owner: &OwnerReference) -> bool {
    classify(state, object, owner) == OwnerClass::Unresolvable
}
