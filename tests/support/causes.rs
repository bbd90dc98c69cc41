//! Checks which causes a removal by the collector may name: what became of one of its owners since it
//! referred to it. Reads a history from its beginning and knows nothing of the collector.

use hindsight_core::event::OwnerFinding;
use hindsight_core::{Cause, Commit, Event, Revision, Rule, Uid};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the commits read so far say.
#[derive(Debug, Default)]
pub struct Causes {
    /// When the deletion of each object was requested.
    marks: BTreeMap<Uid, BTreeSet<Revision>>,
    /// When each object was removed.
    ends: BTreeMap<Uid, Revision>,
    /// The namespace of each object.
    homes: BTreeMap<Uid, Arc<str>>,
    /// Since when each dependent refers to each owner.
    since: BTreeMap<(Uid, Uid), Revision>,
    /// The revision at which the collector's steps are planned: it cannot name what came later.
    planned_at: Option<Revision>,
}

impl Causes {
    /// What is read from here on was planned at this revision.
    pub const fn plan(&mut self, at: Revision) {
        self.planned_at = Some(at);
    }

    /// Reads the next commit; an error says what is wrong with its cause.
    pub fn take(&mut self, commit: &Commit) -> Result<(), String> {
        for event in &commit.events {
            if let Some((Rule::OwnersAbsent | Rule::OwnerForeground, owners)) = event.verdict() {
                self.judge(commit, owners)?;
            }
        }
        self.note(commit);
        Ok(())
    }

    fn judge(&self, commit: &Commit, owners: &[OwnerFinding]) -> Result<(), String> {
        let mut right = BTreeSet::new();
        let mut is_certain = false;
        for finding in owners.iter().filter(|one| self.is_near(commit, one)) {
            let owner = &finding.owner.uid;
            let since = self.since.get(&(commit.uid.clone(), owner.clone()));
            let end = self.ends.get(owner);
            let end = end.filter(|end| since.is_some_and(|since| since < end));
            is_certain |= end.is_some_and(|end| self.planned_at.is_none_or(|at| *end <= at));
            let marks = self.marks.get(owner).into_iter().flatten();
            right.extend(marks.chain(end).map(|at| Cause::Commit(*at)));
        }
        if is_certain && !right.contains(&commit.cause) {
            let Commit {
                key,
                revision,
                cause,
                ..
            } = commit;
            return Err(format!(
                "{key} at {revision} names {cause:?}, and not one of {right:?}"
            ));
        }
        Ok(())
    }

    /// Whether the owner can be referred to from the object's namespace: an owner in another one does
    /// not count.
    fn is_near(&self, commit: &Commit, finding: &OwnerFinding) -> bool {
        let home = self.homes.get(&finding.owner.uid);
        home.is_some_and(|home| home.is_empty() || *home == commit.key.namespace)
    }

    fn note(&mut self, commit: &Commit) {
        let Commit { uid, revision, .. } = commit;
        for event in &commit.events {
            match event {
                Event::ObjectCreated { object } => {
                    let owners = object.owners().iter();
                    self.since
                        .extend(owners.map(|one| ((uid.clone(), one.uid.clone()), *revision)));
                }
                Event::OwnerAdded { owner } => {
                    let edge = (uid.clone(), owner.uid.clone());
                    self.since.insert(edge, *revision);
                }
                Event::DeletionRequested { .. } => {
                    self.marks.entry(uid.clone()).or_default().insert(*revision);
                }
                Event::ObjectDeleted { .. } => {
                    self.ends.insert(uid.clone(), *revision);
                }
                Event::ObjectUpdated { .. }
                | Event::FinalizerAdded { .. }
                | Event::FinalizerRemoved { .. }
                | Event::OwnerRemoved { .. }
                | Event::OwnerChanged { .. } => {}
            }
        }
        let home = Arc::clone(&commit.key.namespace);
        self.homes.insert(uid.clone(), home);
    }
}
