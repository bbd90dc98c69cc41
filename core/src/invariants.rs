//! What no commit may break. The decisions keep these rules by themselves; this module checks every commit
//! a second time, before it becomes part of the state or the log. On purpose it shares no code with the
//! decisions: it works out again which owners keep a dependent and which owners wait. It does use the same
//! index to see who orphans; audits check that against the ownership graph.

mod finalizers;
mod grounds;
mod marks;
mod owners;
#[cfg(test)]
mod tests;

use crate::event::{Cause, Commit, Event, OwnerFinding};
use crate::object::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Object, OwnerReference};
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

impl Violation {
    /// What is wrong with this commit, after the key of its object.
    pub fn of(commit: &Commit, rule: &'static str, what: impl Into<String>) -> Self {
        Self {
            revision: commit.revision,
            rule,
            what: format!("{}: {}", commit.key, what.into()),
        }
    }
}

const NUMBERED: &str = "revisions are consecutive, and a cause precedes what it causes";
const ONE_OBJECT: &str = "a commit is one change of one object";
const SAFETY: &str = "the collector deletes an object only if none of its owners keeps it";
const KINDS: &str = "a kind is removed after its instances";
const ORPHANS: &str =
    "an orphaning owner is released once nothing refers to it, and no dependent is deleted with it";
const FOREGROUND: &str = "an owner in foreground deletion outlives the dependents that block it";
const NAMESPACES: &str =
    "nothing is created in a terminating namespace, and nothing outlives its namespace";
const SCOPES: &str = "an object is in a namespace exactly if its kind is namespaced";

/// Checks that a commit may follow this state. The cost is a few lookups and one for each owner of the
/// object; if an owner is released, also one for each object that still blocks it and is being deleted; for
/// an expired job, its body is read.
pub fn check(state: &State, commit: &Commit) -> Result<(), Violation> {
    let checker = Checker { state, commit };
    checker.check_revision()?;
    let previous = state.get(&commit.key).map(AsRef::as_ref);
    if let Some(previous) = previous.filter(|_| commit.cause != Cause::Request) {
        checker.check_release(previous)?;
    }
    let (last, before) = commit
        .events
        .split_last()
        .ok_or_else(|| checker.violation(ONE_OBJECT, "the commit has no events"))?;
    if before.iter().any(Event::is_outcome) {
        return Err(checker.violation(ONE_OBJECT, "the commit has two outcomes"));
    }
    match (last, previous) {
        (Event::ObjectCreated { object }, None) => {
            checker.check_version(object)?;
            checker.check_unmarked(object)?;
            checker.check_namespace()
        }
        (Event::ObjectUpdated { object }, Some(previous)) => {
            checker.check_version(object)?;
            checker.check_uid(previous)?;
            checker.check_mark(previous, object)?;
            checker.check_taken(previous, Some(object))?;
            checker.check_deletions(previous)
        }
        (Event::ObjectDeleted { .. }, Some(previous)) => {
            checker.check_uid(previous)?;
            checker.check_finalizers(previous)?;
            checker.check_deletions(previous)?;
            checker.check_contents(previous)
        }
        (outcome, _) => {
            let there = if previous.is_some() { "an" } else { "no" };
            let what = format!("{} over {there} object", outcome.name());
            Err(checker.violation(ONE_OBJECT, what))
        }
    }
}

/// The owners that a deletion was decided on; `None` if it was not about owners.
fn decided_on(event: &Event) -> Option<&[OwnerFinding]> {
    let (rule, owners) = event.deletion()?;
    rule.is_about_owners().then_some(owners)
}

struct Checker<'a> {
    state: &'a State,
    commit: &'a Commit,
}

impl Checker<'_> {
    fn violation(&self, rule: &'static str, what: impl Into<String>) -> Violation {
        Violation::of(self.commit, rule, what)
    }

    fn check_revision(&self) -> Result<(), Violation> {
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
    fn check_version(&self, object: &Object) -> Result<(), Violation> {
        let commit = self.commit;
        let same = object.key == commit.key
            && object.meta.uid == commit.uid
            && object.revision == commit.revision;
        if same {
            return Ok(());
        }
        Err(self.violation(ONE_OBJECT, "the version is of another object or revision"))
    }

    fn check_uid(&self, previous: &Object) -> Result<(), Violation> {
        if previous.meta.uid == self.commit.uid {
            return Ok(());
        }
        Err(self.violation(ONE_OBJECT, "the commit has another uid"))
    }

    /// Checks each deletion request in the commit, and the removal.
    fn check_deletions(&self, previous: &Object) -> Result<(), Violation> {
        self.commit.events.iter().try_for_each(|event| {
            let decided = decided_on(event).filter(|_| previous.mark.is_none());
            let holds = decided.map(|_| self.holds(previous));
            if let Some((owners, holds)) = decided.zip(holds.as_deref()) {
                self.check_owners(previous, owners, holds)?;
            }
            self.check_ground(previous, event, holds.as_deref())
        })
    }

    /// How each owner relates to the object.
    fn holds(&self, object: &Object) -> Vec<Hold> {
        let owners = object.meta.owner_references.iter();
        owners.map(|one| hold(self.state, object, one)).collect()
    }

    /// Checks that no owner is alive, unknown or about to orphan the object, and that each was looked at.
    /// If the object was already marked, its owners were checked with the mark.
    fn check_owners(
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
            None => self.check_no_owner_orphans(references),
        }
    }

    /// Checks that no owner is orphaning. Owners orphan by uid, even if the reference misspells the rest.
    fn check_no_owner_orphans(&self, references: &[OwnerReference]) -> Result<(), Violation> {
        let orphans = |owner: &&OwnerReference| self.state.is_orphaning(&owner.uid);
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
    fn check_release(&self, previous: &Object) -> Result<(), Violation> {
        if !previous.is_deleting() || self.namespace_is_deleting() {
            return Ok(());
        }
        let left = self.state.dependents(&previous.meta.uid);
        if left.all > 0 && self.removes_finalizer(previous, ORPHAN_FINALIZER) {
            let what = format!("released although {} objects still refer to it", left.all);
            return Err(self.violation(ORPHANS, what));
        }
        if left.blocking > 0
            && !self.kind_is_terminating()
            && self.removes_finalizer(previous, FOREGROUND_FINALIZER)
            && left.blocking != self.released_with(previous)
        {
            let what = format!("released although {} objects still block it", left.blocking);
            return Err(self.violation(FOREGROUND, what));
        }
        Ok(())
    }

    fn kind_is_terminating(&self) -> bool {
        let kind = self.state.kinds.by_resource(&self.commit.key.resource);
        kind.is_some_and(|kind| kind.is_terminating())
    }

    fn removes_finalizer(&self, previous: &Object, finalizer: &str) -> bool {
        previous.meta.has_finalizer(finalizer) && self.commit.removes_finalizer(finalizer)
    }

    /// How many of the objects that block this owner wait themselves, or were released just before it, from
    /// the commit on that it names as its cause: users can build a cycle of owners that wait for each other,
    /// and it is released as a whole.
    fn released_with(&self, owner: &Object) -> u64 {
        let first = match (&self.commit.cause, owner.mark) {
            (Cause::Commit(cause), Some(mark)) if *cause > mark.revision => Some(*cause),
            _ => None,
        };
        let is_released = |one: &Object| first.is_some_and(|first| one.revision >= first);
        let waits = |one: &Object| one.meta.has_finalizer(FOREGROUND_FINALIZER);
        let deleting_blockers = self.state.deleting_blockers(&owner.meta.uid);
        let released = deleting_blockers.filter(|one| waits(one) || is_released(one));
        u64::try_from(released.count()).unwrap_or(0)
    }

    fn check_namespace(&self) -> Result<(), Violation> {
        let namespace = &self.commit.key.namespace;
        let kind = self.state.kinds.by_resource(&self.commit.key.resource);
        if kind.is_some_and(|kind| kind.is_namespaced() == namespace.is_empty()) {
            return Err(self.violation(SCOPES, "created where its kind is not"));
        }
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

    fn check_contents(&self, previous: &Object) -> Result<(), Violation> {
        let key = &previous.key;
        if key.is_definition() && self.state.instances(key).next().is_some() {
            return Err(self.violation(KINDS, "removed although instances remain"));
        }
        if !key.is_namespace() {
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
