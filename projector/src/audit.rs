//! The audit of a log: follows it from its first commit and checks of each commit whether it is permitted
//! there, by the invariants that the writer checks too, and by those that need the ownership graph or the
//! whole past.

mod lives;
mod owners;

use crate::OwnershipGraph;
use hindsight_core::invariants::{self, Violation};
use hindsight_core::object::{FOREGROUND_FINALIZER, Name, ORPHAN_FINALIZER, Object};
use hindsight_core::{Cause, Change, Commit, Event, OwnerReference, Revision, State, Uid, apply};
use lives::{CauseDefect, Lives};
use std::collections::BTreeSet;
use std::sync::Arc;

const ONCE: &str = "a uid is used once";
const FACTS: &str = "every change of a finalizer or an owner reference is recorded as an event";
const CAUSES: &str = "a deletion names the commit that made it necessary, which causes it once";
const OWNERS: &str = "a deletion for lack of owners records what was found of each";
const ORPHANS: &str = "an orphaning owner is removed once nothing refers to it";
const FOREGROUND: &str = "an owner in foreground deletion outlives the dependents that block it";

/// The result of all commits so far.
#[derive(Debug)]
pub struct Audit {
    state: State,
    graph: OwnershipGraph,
    lives: Lives,
    deadlock_release: DeadlockRelease,
}

/// The remaining members of a deadlock (objects that wait only for each other), which is released one commit
/// after the other.
#[derive(Debug, Default)]
struct DeadlockRelease {
    members: BTreeSet<Uid>,
    last: Revision,
}

impl Audit {
    /// Begins before the first commit to be checked: on the empty state, or on the state of the commits
    /// that are not checked.
    pub fn new(base: State) -> Self {
        Self {
            graph: OwnershipGraph::rebuild(&base),
            lives: Lives::of(&base),
            state: base,
            deadlock_release: DeadlockRelease::default(),
        }
    }

    /// The state after the commits so far.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Notes that a backup was restored: revisions continue after this one.
    pub const fn restored(&mut self, revision: Revision) {
        self.state.revision = revision;
    }

    /// Checks and applies the next commit. Refuses it if it breaks a rule.
    pub fn check_and_apply(&mut self, commit: &Arc<Commit>) -> Result<(), Violation> {
        invariants::check(&self.state, commit)?;
        self.check_identity(commit)?;
        self.check_facts(commit)?;
        self.check_causes(commit)?;
        self.check_owners(commit)?;
        if commit.cause != Cause::Request {
            self.check_release(commit)?;
        }
        self.lives.note(commit);
        let previous = apply(&mut self.state, commit);
        self.graph.apply(&Change {
            commit: Arc::clone(commit),
            previous,
        });
        Ok(())
    }

    fn check_identity(&self, commit: &Commit) -> Result<(), Violation> {
        if commit.creates() && self.lives.knows(&commit.uid) {
            return Err(Violation::of(commit, ONCE, "its uid was used before"));
        }
        Ok(())
    }

    fn check_causes(&self, commit: &Commit) -> Result<(), Violation> {
        let Some(previous) = self.state.get(&commit.key) else {
            return Ok(());
        };
        let checked = self.lives.check_cause(&self.state, previous, commit);
        checked.map_err(|defect| {
            let what = match defect {
                CauseDefect::Unrelated(cause) => {
                    format!("its cause, revision {cause}, is not about anything that could have caused it")
                }
                CauseDefect::Repeated(cause) => {
                    format!("revision {cause} caused its deletion once already, and nothing changed since")
                }
            };
            Violation::of(commit, CAUSES, what)
        })
    }

    /// Checks the owners of an object that is deleted for lack of owners. If it was marked before, they
    /// were checked with the mark.
    fn check_owners(&self, commit: &Commit) -> Result<(), Violation> {
        let previous = self.state.get(&commit.key);
        let Some(previous) = previous.filter(|one| !one.is_deleting()) else {
            return Ok(());
        };
        let mut rules = commit
            .deletions()
            .map(|(rule, _)| rule)
            .filter(|rule| rule.is_about_owners());
        match rules.find_map(|rule| owners::defect(&self.graph, previous, rule)) {
            Some(what) => Err(Violation::of(commit, OWNERS, what)),
            None => Ok(()),
        }
    }

    /// Checks that the events name exactly the finalizers and owners that differ between the two
    /// versions.
    fn check_facts(&self, commit: &Commit) -> Result<(), Violation> {
        let Some(next) = commit.object() else {
            return Ok(());
        };
        let previous = self.state.get(&commit.key).map(AsRef::as_ref);
        let stated = Facts::stated(commit);
        let actual = Facts::between(previous, next);
        if stated != actual {
            let what = format!("its events state {stated:?}, but it changed {actual:?}");
            return Err(Violation::of(commit, FACTS, what));
        }
        Ok(())
    }

    /// Checks that the collector removes its finalizer from an owner only when that is due. A client may
    /// remove it at any time; and in a namespace or a kind that is being deleted, nothing waits for
    /// dependents.
    fn check_release(&mut self, commit: &Commit) -> Result<(), Violation> {
        let home = self.state.namespace(&commit.key.namespace);
        let home_goes = home.is_some_and(|home| home.is_deleting());
        let uid = &commit.uid;
        let before = self.graph.object(uid);
        if before.is_some_and(|owner| owner.is_orphaning())
            && commit.removes_finalizer(ORPHAN_FINALIZER)
            && !home_goes
            && let Some((_, left)) = self.graph.dependents(uid).find(|(one, _)| *one != uid)
        {
            let what = format!("{} still refers to it", left.key);
            return Err(Violation::of(commit, ORPHANS, what));
        }
        let kind = self.state.kinds.by_resource(&commit.key.resource);
        // The release of a deadlock may begin with a member for which no other would have to wait.
        if before.is_some_and(|owner| owner.is_waiting())
            && commit.removes_finalizer(FOREGROUND_FINALIZER)
            && !self
                .deadlock_release
                .continues(commit, || self.graph.deadlock(uid))
            && !home_goes
            && !kind.is_some_and(|kind| kind.is_terminating())
            && let Some((_, left)) = self.graph.blockers(uid).next()
        {
            let what = format!("{} still blocks it", left.key);
            return Err(Violation::of(commit, FOREGROUND, what));
        }
        Ok(())
    }
}

impl DeadlockRelease {
    /// Whether this commit begins the release of a deadlock, or continues the one that the previous commit
    /// was part of.
    fn continues(&mut self, commit: &Commit, deadlock: impl FnOnce() -> BTreeSet<Uid>) -> bool {
        let follows = self.last.next() == commit.revision && self.members.contains(&commit.uid);
        if !follows {
            self.members = deadlock();
        }
        self.last = commit.revision;
        self.members.remove(&commit.uid)
    }
}

/// Finalizers and owner references that were added and removed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Facts {
    finalizers_set: BTreeSet<Name>,
    finalizers_removed: BTreeSet<Name>,
    owners_set: BTreeSet<OwnerReference>,
    owners_removed: BTreeSet<OwnerReference>,
}

impl Facts {
    fn stated(commit: &Commit) -> Self {
        let mut facts = Self::default();
        for event in &commit.events {
            match event {
                Event::FinalizerAdded { finalizer } => {
                    facts.finalizers_set.insert(Arc::clone(finalizer));
                }
                Event::FinalizerRemoved { finalizer } => {
                    facts.finalizers_removed.insert(Arc::clone(finalizer));
                }
                Event::OwnerAdded { owner } => {
                    facts.owners_set.insert(owner.clone());
                }
                Event::OwnerRemoved { owner } => {
                    facts.owners_removed.insert(owner.clone());
                }
                Event::OwnerChanged { from, to } => {
                    facts.owners_removed.insert(from.clone());
                    facts.owners_set.insert(to.clone());
                }
                Event::ObjectCreated { .. }
                | Event::ObjectUpdated { .. }
                | Event::DeletionRequested { .. }
                | Event::ObjectDeleted { .. } => {}
            }
        }
        facts
    }

    fn between(before: Option<&Object>, after: &Object) -> Self {
        let same = |before: &Object| {
            let (before, after) = (&before.meta, &after.meta);
            before.finalizers == after.finalizers
                && before.owner_references == after.owner_references
        };
        if before.is_some_and(same) {
            return Self::default();
        }
        let finalizers = |object: &Object| object.meta.finalizers.iter().cloned().collect();
        let owners = |object: &Object| object.meta.owner_references.iter().cloned().collect();
        let (old, old_owners): (BTreeSet<_>, BTreeSet<_>) = before
            .map(|object| (finalizers(object), owners(object)))
            .unwrap_or_default();
        let (new, new_owners): (BTreeSet<_>, BTreeSet<_>) = (finalizers(after), owners(after));
        Self {
            finalizers_set: new.difference(&old).cloned().collect(),
            finalizers_removed: old.difference(&new).cloned().collect(),
            owners_set: new_owners.difference(&old_owners).cloned().collect(),
            owners_removed: old_owners.difference(&new_owners).cloned().collect(),
        }
    }
}

/// Audits the commits of a log after a state, the empty one or that at its floor. `restores` are the revisions at which
/// backups were restored, also before that. `show` receives each commit, with the state before it.
pub fn audit<E>(
    base: State,
    restores: &[Revision],
    log: impl Iterator<Item = Result<Commit, E>>,
    mut show: impl FnMut(&State, &Commit),
) -> Result<Audit, Unsound<E>> {
    let is_ahead = |restore: &Revision| *restore > base.revision;
    let restores: Vec<Revision> = restores.iter().copied().filter(is_ahead).collect();
    let mut restores = restores.into_iter().peekable();
    let mut audit = Audit::new(base);
    for commit in log {
        let commit = Arc::new(commit.map_err(Unsound::Unreadable)?);
        while let Some(restore) = restores.next_if(|restore| *restore < commit.revision) {
            audit.restored(restore);
        }
        show(&audit.state, &commit);
        audit.check_and_apply(&commit).map_err(Unsound::Broken)?;
    }
    restores.for_each(|restore| audit.restored(restore));
    Ok(audit)
}

/// Why a log failed the audit.
#[derive(Debug, thiserror::Error)]
pub enum Unsound<E> {
    /// The log cannot be read.
    #[error(transparent)]
    Unreadable(E),
    /// A commit breaks a rule.
    #[error(transparent)]
    Broken(Violation),
}
