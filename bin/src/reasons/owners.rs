//! What is said of the owners of an object.

use crate::history::LogHistory;
use hindsight_core::classify::{classify, owner_key};
use hindsight_core::event::OwnerClass;
use hindsight_core::{Commit, Object, OwnerReference, Rule, State, Uid};
use hindsight_log::Error;
use hindsight_projector::{Explanation, History};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The most owners of one object whose names are looked up.
const OWNERS_MAX: usize = 100;

/// Looks up what was wrong with the references because of which an object was deleted.
#[derive(Debug)]
pub(crate) struct Mismatches<'a> {
    pub(crate) history: &'a LogHistory<'a>,
    /// The newest state, by whose kinds references are resolved.
    pub(crate) state: &'a State,
}

impl Mismatches<'_> {
    /// Which of them named an object that had another UID when they were judged, or has the UID of another object that
    /// exists.
    pub(crate) fn of(&self, explanation: &Explanation) -> Result<Vec<String>, Error> {
        let Some(judged) = self.judged(explanation)? else {
            return Ok(Vec::new());
        };
        let gone: BTreeMap<_, _> = gone(&judged).map(|owner| (&owner.uid, owner)).collect();
        let mut told = self.by_uid(&gone, &judged.key.namespace);
        told.extend(self.by_name(&gone, &judged)?);
        Ok(told)
    }

    /// The commit in which it was found that owners are gone: the removal, or the mark of an object that was held then.
    fn judged(&self, explanation: &Explanation) -> Result<Option<Commit>, Error> {
        if !explanation.rule.is_some_and(Rule::is_about_owners) {
            return Ok(None);
        }
        for link in &explanation.chain {
            let commit = self.history.commit(link.revision)?;
            let uid = explanation.object.uid.as_str();
            let Some(commit) = commit.filter(|commit| commit.uid.as_str() == uid) else {
                break;
            };
            if gone(&commit).next().is_some() {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    fn by_uid(&self, gone: &BTreeMap<&Uid, &OwnerReference>, namespace: &str) -> Vec<String> {
        if gone.is_empty() {
            return Vec::new();
        }
        let found = self.state.objects().filter_map(|object| {
            let owner = gone.get(&object.meta.uid)?;
            let key = owner_key(self.state, namespace, owner);
            let is_other = key.is_none_or(|key| key != object.key);
            is_other.then(|| other_object(owner, object, namespace))
        });
        found.collect()
    }

    /// Those whose name an object with another UID had, and none with this one ever.
    fn by_name(
        &self,
        gone: &BTreeMap<&Uid, &OwnerReference>,
        judged: &Commit,
    ) -> Result<Vec<String>, Error> {
        let until = judged.revision.previous();
        let (mut told, mut named) = (Vec::new(), BTreeMap::new());
        for owner in gone.values().take(OWNERS_MAX) {
            let Some(key) = owner_key(self.state, &judged.key.namespace, owner) else {
                continue;
            };
            let found = match named.entry(key.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let last = self.history.last(&key, None, until)?;
                    let found = last.filter(|last| last.object().is_some());
                    new.insert(found.map(|found| found.uid))
                }
            };
            if let Some(found) = found
                && self.history.last(&key, Some(&owner.uid), until)?.is_none()
            {
                told.push(other_uid(owner, found));
            }
        }
        Ok(told)
    }
}

/// The owners that this commit found to be gone.
fn gone(commit: &Commit) -> impl Iterator<Item = &OwnerReference> {
    let findings = commit.deletions().flat_map(|(_, owners)| owners);
    let gone = findings.filter(|found| found.class == OwnerClass::Dangling);
    gone.map(|found| &found.owner)
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

/// The reference named an object that had another UID.
fn other_uid(owner: &OwnerReference, found: &Uid) -> String {
    let (kind, name) = (&owner.kind, &owner.name);
    format!(
        "its reference to {kind} {name} has the uid {}, and the {kind} {name} that existed then had the uid {found}; \
         an owner must match in kind, name and uid",
        owner.uid
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
