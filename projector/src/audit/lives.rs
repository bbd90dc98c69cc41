//! What became of every object that ever was: by it is known what a deletion may name as its cause.

use hindsight_core::command::Propagation;
use hindsight_core::{Cause, Commit, Event, Object, Revision, Rule, State, Uid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The marks and the ends of all objects, by uid.
#[derive(Debug)]
pub(super) struct Lives {
    by_uid: BTreeMap<Uid, Life>,
    /// Live objects of which the newest commit is a mark that no request asked for: its cause, and what
    /// it asked for.
    marked_last: BTreeMap<Uid, (Revision, Propagation)>,
    /// Of whoever ended by then nothing is known.
    begin: Revision,
}

#[derive(Debug, Default)]
struct Life {
    marked: Option<Revision>,
    ended: Option<Revision>,
}

/// What is wrong with the cause that a deletion names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is about nobody by whom this object could go.
    Stranger(Revision),
    /// It made this very step necessary once already, and nothing happened to the object since.
    Again(Revision),
}

impl Lives {
    /// Of a state that commits are to follow.
    pub(super) fn of(state: &State) -> Self {
        let mut lives = Self {
            by_uid: BTreeMap::new(),
            marked_last: BTreeMap::new(),
            begin: state.revision,
        };
        for object in state.objects() {
            let life = lives.by_uid.entry(object.meta.uid.clone()).or_default();
            life.marked = object.mark.map(|mark| mark.revision);
        }
        lives
    }

    /// Whether anybody had it before.
    pub(super) fn knows(&self, uid: &Uid) -> bool {
        self.by_uid.contains_key(uid)
    }

    /// Takes a commit in that may be there.
    pub(super) fn note(&mut self, commit: &Commit) {
        let life = self.by_uid.entry(commit.uid.clone()).or_default();
        match commit.object() {
            Some(object) => life.marked = object.mark.map(|mark| mark.revision),
            None => life.ended = Some(commit.revision),
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

    /// Asks of a mark, and of a removal that no mark explains, whether its cause could be one.
    pub(super) fn judge(
        &self,
        state: &State,
        previous: &Object,
        commit: &Commit,
    ) -> Result<(), Wrong> {
        let Cause::Commit(cause) = commit.cause else {
            return Ok(());
        };
        let again = commit.propagation().map(|propagation| (cause, propagation));
        if again.is_some() && self.marked_last.get(&commit.uid) == again.as_ref() {
            return Err(Wrong::Again(cause));
        }
        for event in &commit.events {
            let is_removal = matches!(event, Event::ObjectDeleted { .. });
            let verdict = event.verdict();
            let verdict = verdict.filter(|_| !is_removal || !previous.is_deleting());
            if verdict.is_some_and(|(rule, _)| !self.is_about(state, previous, rule, cause)) {
                return Err(Wrong::Stranger(cause));
            }
        }
        Ok(())
    }

    /// The mark of the container, what became of an owner, or, where nothing did, the object itself.
    fn is_about(&self, state: &State, previous: &Object, rule: Rule, cause: Revision) -> bool {
        let is_mark = |container: Option<&Arc<Object>>| {
            let mark = container.and_then(|container| container.mark);
            mark.is_none_or(|mark| mark.revision == cause)
        };
        let key = &previous.key;
        match rule {
            Rule::NamespaceDeleted => is_mark(state.namespace(&key.namespace)),
            Rule::CrdDeleted => is_mark(state.definition_of(&key.resource)),
            Rule::OwnersAbsent
            | Rule::OwnerForeground
            | Rule::NoSuchOwner
            | Rule::OwnerInOtherNamespace
            | Rule::TtlAfterFinished
            | Rule::Policy
            | Rule::Requested
            | Rule::RequestedForeground
            | Rule::RequestedOrphan
            | Rule::RequestedCollection => {
                let mut owners = previous.meta.owner_references.iter();
                cause == previous.revision || owners.any(|owner| self.had(&owner.uid, cause))
            }
        }
    }

    /// Whether this commit marked an owner or took it away.
    fn had(&self, owner: &Uid, cause: Revision) -> bool {
        match self.by_uid.get(owner) {
            Some(life) => [life.marked, life.ended].contains(&Some(cause)),
            None => cause <= self.begin,
        }
    }
}
