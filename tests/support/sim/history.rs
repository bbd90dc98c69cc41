//! What was ever visible: the commits in order, and a state that follows them.

use super::check::{Checked, ensure};
use crate::sim::server::empty;
use hindsight_core::{Change, Commit, Object, Revision, State, apply};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that was published or recovered. It only grows.
#[derive(Debug)]
pub struct History {
    /// In order, from revision 1.
    pub commits: Vec<Arc<Commit>>,
    /// The fold of all of them.
    pub replica: State,
    /// What the state's hash was at some revisions.
    pub hashes: BTreeMap<Revision, String>,
    apply: Apply,
}

/// Removals leave the object where it is.
fn forgetful(state: &mut State, commit: &Commit) -> Option<Arc<Object>> {
    if commit.object().is_some() {
        return apply(state, commit);
    }
    state.revision = commit.revision;
    None
}

type Apply = fn(&mut State, &Commit) -> Option<Arc<Object>>;

impl History {
    /// Nothing yet.
    pub fn new(forgets: bool) -> Self {
        Self {
            commits: Vec::new(),
            replica: empty(),
            hashes: BTreeMap::new(),
            apply: if forgets { forgetful } else { apply },
        }
    }

    /// The last commit that is known.
    pub fn newest(&self) -> Revision {
        Revision(self.commits.len() as u64)
    }

    /// The commit at this revision.
    pub fn commit(&self, revision: Revision) -> Option<&Arc<Commit>> {
        let index = usize::try_from(revision.0).ok()?.checked_sub(1)?;
        self.commits.get(index)
    }

    /// The next commit.
    pub fn push(&mut self, commit: &Arc<Commit>) -> Checked {
        let expected = self.newest().next();
        ensure(
            "revisions follow each other",
            commit.revision == expected,
            || format!("{} comes where {expected} is expected", commit.revision),
        )?;
        (self.apply)(&mut self.replica, commit);
        self.commits.push(Arc::clone(commit));
        Ok(())
    }

    /// The next change, whose previous version must be what was there.
    pub fn push_change(&mut self, change: &Change) -> Checked {
        let there = self.replica.get(&change.commit.key).map(|one| one.revision);
        let told = change.previous.as_ref().map(|one| one.revision);
        self.push(&change.commit)?;
        ensure("watch: previous value", there == told, || {
            format!(
                "{} is told as following {told:?}, not {there:?}",
                change.commit.revision
            )
        })
    }

    /// Notes that this is the state at its revision.
    pub fn note_state(&mut self, state: &State) -> Checked {
        let hash = state.hash();
        ensure("replay equals live", hash == self.replica.hash(), || {
            format!("the fold differs from the state at {}", state.revision)
        })?;
        self.hashes.insert(state.revision, hash);
        Ok(())
    }
}
