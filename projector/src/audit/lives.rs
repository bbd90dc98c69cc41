//! When every object that ever existed was marked and removed: this decides what a deletion may name as
//! its cause.

use crate::ownership::{VersionedKind, served_names, versioned_kind_of};
use hindsight_core::classify::{classify, owner_key};
use hindsight_core::command::Propagation;
use hindsight_core::event::OwnerClass;
use hindsight_core::{
    Cause, Commit, Event, Object, ObjectKey, OwnerReference, Revision, Rule, State, Uid,
    served_kind,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The marks and removals of all objects, by uid.
#[derive(Debug)]
pub(super) struct Lives {
    by_uid: BTreeMap<Uid, Life>,
    /// Live objects whose newest commit is a mark that no request asked for: its cause and its
    /// propagation.
    marked_last: BTreeMap<Uid, (Revision, Propagation)>,
    /// What each definition serves, and since when.
    served: BTreeMap<ObjectKey, BTreeMap<VersionedKind, Revision>>,
    /// The newest removal of each service.
    services: BTreeMap<ObjectKey, Revision>,
    /// Nothing is known about objects that were removed at this revision or before.
    begin: Revision,
}

#[derive(Debug)]
struct Life {
    key: ObjectKey,
    marked: Option<Revision>,
    ended: Option<Revision>,
}

/// What is wrong with the cause of a deletion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CauseDefect {
    /// It is about no object that this one could be deleted along with.
    Unrelated(Revision),
    /// It has caused this very step once already, and nothing has happened to the object since.
    Repeated(Revision),
}

impl Life {
    fn of(key: &ObjectKey) -> Self {
        Self {
            key: key.clone(),
            marked: None,
            ended: None,
        }
    }
}

impl Lives {
    /// For a state that commits follow.
    pub(super) fn of(state: &State) -> Self {
        let mut lives = Self {
            by_uid: BTreeMap::new(),
            marked_last: BTreeMap::new(),
            served: BTreeMap::new(),
            services: BTreeMap::new(),
            begin: state.revision,
        };
        for object in state.objects() {
            let mut life = Life::of(&object.key);
            life.marked = object.mark.map(|mark| mark.revision);
            lives.by_uid.insert(object.meta.uid.clone(), life);
        }
        for kind in state.kinds.iter().filter(|kind| kind.is_custom()) {
            let definition = ObjectKey::defining(&kind.resource);
            let served = served_names(kind).into_iter();
            let served = served.map(|name| (name, state.revision)).collect();
            lives.served.insert(definition, served);
        }
        lives
    }

    /// Whether an object with this uid was there before.
    pub(super) fn knows(&self, uid: &Uid) -> bool {
        self.by_uid.contains_key(uid)
    }

    /// Takes note of a commit that passed.
    pub(super) fn note(&mut self, commit: &Commit) {
        let life = self.by_uid.entry(commit.uid.clone());
        let life = life.or_insert_with(|| Life::of(&commit.key));
        match commit.object() {
            Some(object) => life.marked = object.mark.map(|mark| mark.revision),
            None => life.ended = Some(commit.revision),
        }
        if commit.object().is_none() && commit.key.endpoints().is_some() {
            self.services.insert(commit.key.clone(), commit.revision);
        }
        if commit.key.is_definition() {
            self.note_definition(commit);
        }
        match (commit.propagation(), &commit.cause) {
            (Some(propagation), Cause::Commit(cause)) if commit.object().is_some() => {
                let mark = (*cause, propagation);
                self.marked_last.insert(commit.uid.clone(), mark);
            }
            _ => {
                self.marked_last.remove(&commit.uid);
            }
        }
    }

    fn note_definition(&mut self, commit: &Commit) {
        let Some(object) = commit.object() else {
            self.served.remove(&commit.key);
            return;
        };
        let Some(kind) = served_kind(object) else {
            return;
        };
        let before = self.served.remove(&commit.key).unwrap_or_default();
        let served = served_names(&kind).into_iter().map(|name| {
            let since = before.get(&name).copied();
            (name, since.unwrap_or(commit.revision))
        });
        self.served.insert(commit.key.clone(), served.collect());
    }

    /// Checks the cause of a mark, or of a removal without an earlier mark.
    pub(super) fn check_cause(
        &self,
        state: &State,
        previous: &Object,
        commit: &Commit,
    ) -> Result<(), CauseDefect> {
        let Cause::Commit(cause) = commit.cause else {
            return Ok(());
        };
        let again = commit.propagation().map(|propagation| (cause, propagation));
        if again.is_some() && self.marked_last.get(&commit.uid) == again.as_ref() {
            return Err(CauseDefect::Repeated(cause));
        }
        for event in &commit.events {
            let is_removal = matches!(event, Event::ObjectDeleted { .. });
            let verdict = event.deletion();
            let verdict = verdict.filter(|_| !is_removal || !previous.is_deleting());
            if verdict.is_some_and(|(rule, _)| !self.explains(state, previous, rule, cause)) {
                return Err(CauseDefect::Unrelated(cause));
            }
        }
        Ok(())
    }

    /// Whether the cause is the mark of the container, the removal of the service, the mark or removal of an
    /// owner, the commit that made the kind of one known, or, if none of that happened, the last write of the object itself.
    fn explains(&self, state: &State, previous: &Object, rule: Rule, cause: Revision) -> bool {
        let is_mark = |container: Option<&Arc<Object>>| {
            let mark = container.and_then(|container| container.mark);
            mark.is_none_or(|mark| mark.revision == cause)
        };
        let key = &previous.key;
        match rule {
            Rule::NamespaceDeleted => is_mark(state.namespace(&key.namespace)),
            Rule::CrdDeleted => is_mark(state.definition_of(&key.resource)),
            Rule::ServiceDeleted => {
                let removal = key
                    .service()
                    .and_then(|service| self.services.get(&service));
                removal.map_or(cause <= self.begin, |removal| *removal == cause)
            }
            Rule::OwnersAbsent
            | Rule::OwnerForeground
            | Rule::NoSuchOwner
            | Rule::OwnerInOtherNamespace => self.explains_lack_of_owners(state, previous, cause),
            Rule::TtlAfterFinished
            | Rule::Policy
            | Rule::Requested
            | Rule::RequestedForeground
            | Rule::RequestedOrphan
            | Rule::RequestedCollection => cause == previous.revision,
        }
    }

    /// Whether the cause is what happened to an owner, or the last write of the object itself if nothing happened
    /// to an owner after that.
    fn explains_lack_of_owners(&self, state: &State, previous: &Object, cause: Revision) -> bool {
        let mut owners = previous.meta.owner_references.iter();
        if cause == previous.revision {
            return !owners.any(|owner| self.went_after(state, previous, owner));
        }
        owners.any(|owner| self.deleted_by(&owner.uid, cause) || self.made_known(owner, cause))
    }

    /// Whether an owner was removed, came to wait, or became known after the last write of this object. An owner
    /// that a reference misspells was never one.
    fn went_after(&self, state: &State, object: &Object, owner: &OwnerReference) -> bool {
        let life = self.by_uid.get(&owner.uid);
        let its = owner_key(state, &object.key.namespace, owner);
        let removed = life.filter(|life| its.as_ref() == Some(&life.key));
        let removed = removed.and_then(|life| life.ended);
        let waits = classify(state, object, owner) == OwnerClass::Waiting;
        let marked = life.filter(|_| waits).and_then(|life| life.marked);
        let name = versioned_kind_of(owner);
        let known = self.served.values().map(|names| names.get(&name).copied());
        let all = known.chain([removed, marked]).flatten();
        all.into_iter().any(|at| at > object.revision)
    }

    /// Whether the kind of an owner is served since this commit.
    fn made_known(&self, owner: &OwnerReference, cause: Revision) -> bool {
        let name = versioned_kind_of(owner);
        let mut since = self.served.values().filter_map(|names| names.get(&name));
        since.any(|since| *since == cause || cause.max(*since) <= self.begin)
    }

    /// Whether this commit marked or removed an owner.
    fn deleted_by(&self, owner: &Uid, cause: Revision) -> bool {
        match self.by_uid.get(owner) {
            Some(life) => [life.marked, life.ended].contains(&Some(cause)),
            None => cause <= self.begin,
        }
    }
}
