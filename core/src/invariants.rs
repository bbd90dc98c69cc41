//! What no commit may break. The decisions keep these rules by themselves; this module checks every commit
//! a second time, before it becomes part of the state or the log. On purpose it shares no code with the
//! decisions: it works out again which owners keep a dependent and which owners wait. It does use the same
//! index to see who orphans; audits check that against the ownership graph.

mod grounds;
mod marks;
mod owners;
#[cfg(test)]
mod tests;

use crate::event::{Cause, Commit, Event, OwnerFinding};
use crate::object::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Object, OwnerReference};
use crate::state::{is_definition, is_namespace};
use crate::{Revision, State};
use owners::{Hold, hold};

/// A commit that breaks an invariant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("revision {revision} breaks the invariant \"{rule}\": {what}")]
pub struct Violation {
    /// The revision of the commit.
    pub revision: Revision,
    /// The invariant.
    pub rule: &'static str,
    /// What was found instead.
    pub what: String,
}

const NUMBERED: &str = "revisions follow each other, and causes come before what they cause";
const ONE_OBJECT: &str = "a commit is one step of one object";
const FINALIZERS: &str = "nothing is removed while a finalizer holds it";
const SAFETY: &str = "the collector takes only what every owner has left";
const KINDS: &str = "a kind goes after its instances";
const ORPHANS: &str =
    "an orphaning owner is let go when nobody refers to it any more, and takes nobody along";
const FOREGROUND: &str = "an owner in foreground deletion outlives the dependents that block it";
const NAMESPACES: &str = "nothing is made in a namespace that goes, and nothing outlives it";

/// Checks that a commit may follow this state. The cost is a few lookups and one for each owner of the
/// object; if an owner is released, also one for each object that still blocks it and is being deleted; for
/// an expired job, its body is read.
pub fn check(state: &State, commit: &Commit) -> Result<(), Violation> {
    let asked = Asked { state, commit };
    asked.numbers()?;
    let previous = state.get(&commit.key).map(AsRef::as_ref);
    if let Some(previous) = previous.filter(|_| commit.cause != Cause::Request) {
        asked.is_let_go_in_time(previous)?;
    }
    let (last, before) = commit
        .events
        .split_last()
        .ok_or_else(|| asked.violation(ONE_OBJECT, "the commit has no events"))?;
    if before.iter().any(is_outcome) {
        return Err(asked.violation(ONE_OBJECT, "the commit has two outcomes"));
    }
    match (last, previous) {
        (Event::ObjectCreated { object }, None) => {
            asked.written(object)?;
            asked.begins_unmarked(object)?;
            asked.namespace_is_open()
        }
        (Event::ObjectUpdated { object }, Some(previous)) => {
            asked.written(object)?;
            asked.identity(previous)?;
            asked.mark_stays(previous, object)?;
            asked.may_go(previous)
        }
        (Event::ObjectDeleted { .. }, Some(previous)) => {
            asked.identity(previous)?;
            asked.no_finalizer_is_left(previous)?;
            asked.may_go(previous)?;
            asked.leaves_nothing_behind(previous)
        }
        (outcome, _) => {
            let there = if previous.is_some() { "an" } else { "no" };
            let what = format!("{} over {there} object", outcome.name());
            Err(asked.violation(ONE_OBJECT, what))
        }
    }
}

const fn is_outcome(event: &Event) -> bool {
    matches!(
        event,
        Event::ObjectCreated { .. } | Event::ObjectUpdated { .. } | Event::ObjectDeleted { .. }
    )
}

/// The owners that a deletion was decided on; `None` if it was not about owners.
fn decided_on(event: &Event) -> Option<&[OwnerFinding]> {
    let (rule, owners) = event.verdict()?;
    rule.is_about_owners().then_some(owners)
}

struct Asked<'a> {
    state: &'a State,
    commit: &'a Commit,
}

impl Asked<'_> {
    fn violation(&self, rule: &'static str, what: impl Into<String>) -> Violation {
        Violation {
            revision: self.commit.revision,
            rule,
            what: format!("{}: {}", self.commit.key, what.into()),
        }
    }

    fn numbers(&self) -> Result<(), Violation> {
        let expected = self.state.revision.next();
        if self.commit.revision != expected {
            let what = format!("its revision should be {expected}");
            return Err(self.violation(NUMBERED, what));
        }
        match self.commit.cause {
            Cause::Commit(cause) if cause >= self.commit.revision => Err(self.violation(
                NUMBERED,
                format!("its cause, revision {cause}, does not precede it"),
            )),
            Cause::Commit(_) | Cause::Request | Cause::Policy(_) => Ok(()),
        }
    }

    /// Checks that the version states the key, uid and revision of its commit.
    fn written(&self, object: &Object) -> Result<(), Violation> {
        let commit = self.commit;
        let same = object.key == commit.key
            && object.meta.uid == commit.uid
            && object.revision == commit.revision;
        if same {
            return Ok(());
        }
        Err(self.violation(ONE_OBJECT, "the version is of another object or revision"))
    }

    fn identity(&self, previous: &Object) -> Result<(), Violation> {
        if previous.meta.uid == self.commit.uid {
            return Ok(());
        }
        Err(self.violation(ONE_OBJECT, "the commit has another uid"))
    }

    /// Checks that every finalizer the object still had is removed by this very commit, with an event for
    /// each.
    fn no_finalizer_is_left(&self, previous: &Object) -> Result<(), Violation> {
        let mut finalizers = previous.meta.finalizers.iter();
        match finalizers.find(|held| !self.commit.lets_go(held)) {
            Some(held) => Err(self.violation(FINALIZERS, format!("removed while {held} holds it"))),
            None => Ok(()),
        }
    }

    /// Checks each deletion request in the commit, and the removal.
    fn may_go(&self, previous: &Object) -> Result<(), Violation> {
        self.commit.events.iter().try_for_each(|event| {
            let decided = decided_on(event).filter(|_| previous.mark.is_none());
            let holds = decided.map(|_| self.holds(previous));
            if let Some((owners, holds)) = decided.zip(holds.as_deref()) {
                self.owners_allow(previous, owners, holds)?;
            }
            self.has_ground(previous, event, holds.as_deref())
        })
    }

    /// How each owner relates to the object.
    fn holds(&self, object: &Object) -> Vec<Hold> {
        let owners = object.meta.owner_references.iter();
        owners.map(|one| hold(self.state, object, one)).collect()
    }

    /// Checks that no owner is alive, unknown or about to orphan the object, and that each was looked at.
    /// If the object was already marked, its owners were checked with the mark.
    fn owners_allow(
        &self,
        previous: &Object,
        owners: &[OwnerFinding],
        holds: &[Hold],
    ) -> Result<(), Violation> {
        let references = &previous.meta.owner_references;
        let all = references.len() == owners.len()
            && references
                .iter()
                .zip(owners)
                .all(|(one, found)| *one == found.owner);
        if references.is_empty() || !all {
            return Err(self.violation(SAFETY, "not all of its owners were looked at"));
        }
        let mut left = references.iter().zip(holds);
        match left.find(|(_, hold)| **hold == Hold::Keeps) {
            Some((owner, _)) => {
                let what = format!(
                    "removed although {} {} still keeps it",
                    owner.kind, owner.name
                );
                Err(self.violation(SAFETY, what))
            }
            None => self.nobody_lets_it_go(references),
        }
    }

    /// Checks that no owner is orphaning. Owners orphan by uid, even if the reference misspells the rest.
    fn nobody_lets_it_go(&self, references: &[OwnerReference]) -> Result<(), Violation> {
        let orphans = |owner: &&OwnerReference| {
            let held = self.state.waiting.get(&owner.uid);
            held.is_some_and(|held| held.orphaning)
        };
        match references.iter().find(orphans) {
            Some(owner) => {
                let what = format!(
                    "removed although {} {} is about to orphan it",
                    owner.kind, owner.name
                );
                Err(self.violation(ORPHANS, what))
            }
            None => Ok(()),
        }
    }

    /// Checks that the collector removes its finalizers from an owner only when that is due. Clients may
    /// remove them at any time, and nothing waits for dependents in a namespace or a kind that is being
    /// deleted.
    fn is_let_go_in_time(&self, previous: &Object) -> Result<(), Violation> {
        if !previous.is_deleting() || self.home_is_going() {
            return Ok(());
        }
        let left = self.state.dependents(&previous.meta.uid);
        if left.all > 0 && self.lets_go(previous, ORPHAN_FINALIZER) {
            let what = format!("released although {} objects still refer to it", left.all);
            return Err(self.violation(ORPHANS, what));
        }
        if left.blocking > 0
            && !self.kind_is_going()
            && self.lets_go(previous, FOREGROUND_FINALIZER)
            && left.blocking != self.let_go_with(previous)
        {
            let what = format!("released although {} objects still block it", left.blocking);
            return Err(self.violation(FOREGROUND, what));
        }
        Ok(())
    }

    fn kind_is_going(&self) -> bool {
        let kind = self.state.kinds.by_resource(&self.commit.key.resource);
        kind.is_some_and(|kind| kind.is_going())
    }

    fn lets_go(&self, previous: &Object, finalizer: &str) -> bool {
        previous.meta.has_finalizer(finalizer) && self.commit.lets_go(finalizer)
    }

    /// How many of the objects that block this owner wait themselves, or were released just before it, from
    /// the commit on that it names as its cause: users can build a cycle of owners that wait for each other,
    /// and it is released as a whole.
    fn let_go_with(&self, owner: &Object) -> u64 {
        let first = match (&self.commit.cause, owner.mark) {
            (Cause::Commit(cause), Some(mark)) if *cause > mark.revision => Some(*cause),
            _ => None,
        };
        let is_let_go = |one: &Object| first.is_some_and(|first| one.revision >= first);
        let waits = |one: &Object| one.meta.has_finalizer(FOREGROUND_FINALIZER);
        let leaving = self.state.leaving(&owner.meta.uid);
        let let_go = leaving.filter(|one| waits(one) || is_let_go(one));
        u64::try_from(let_go.count()).unwrap_or(0)
    }

    fn namespace_is_open(&self) -> Result<(), Violation> {
        let namespace = &self.commit.key.namespace;
        if namespace.is_empty() {
            return Ok(());
        }
        match self.state.namespace(namespace) {
            Some(found) if !found.is_deleting() => Ok(()),
            Some(_) | None => Err(self.violation(
                NAMESPACES,
                "created although its namespace is missing or being deleted",
            )),
        }
    }

    fn leaves_nothing_behind(&self, previous: &Object) -> Result<(), Violation> {
        let key = &previous.key;
        if is_definition(key) && self.state.instances(key).next().is_some() {
            return Err(self.violation(KINDS, "removed although instances remain"));
        }
        if !is_namespace(key) {
            return Ok(());
        }
        let left = self.state.population(&key.name);
        if left > 0 {
            return Err(self.violation(
                NAMESPACES,
                format!("removed although {left} objects remain"),
            ));
        }
        Ok(())
    }
}
