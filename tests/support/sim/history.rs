//! What was ever visible: the commits in order, and a state that follows them.

use super::check::{Checked, ensure};
use crate::sim::server::empty;
use hindsight_core::{Change, Commit, Object, Revision, State, apply};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Everything that was published or recovered. It only grows.
#[derive(Debug)]
pub struct History {
    /// In order, from revision 1.
    pub commits: Vec<Arc<Commit>>,
    /// The fold of them: before the first, after it, and so on.
    pub states: Vec<State>,
    /// Where a state was published, which was the fold.
    published: BTreeSet<Revision>,
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
            states: vec![empty()],
            published: BTreeSet::new(),
            apply: if forgets { forgetful } else { apply },
        }
    }

    /// The last commit that is known.
    pub fn newest(&self) -> Revision {
        Revision(self.commits.len() as u64)
    }

    /// The fold of everything.
    pub fn replica(&self) -> &State {
        self.states.last().expect("there is one before the first")
    }

    /// The fold up to this revision.
    pub fn state(&self, revision: Revision) -> Option<&State> {
        self.states.get(usize::try_from(revision.0).ok()?)
    }

    /// The revisions of the states that were published, oldest first.
    pub fn published(&self) -> impl Iterator<Item = Revision> {
        self.published.iter().copied()
    }

    /// The state as it was published at this revision, where one was.
    pub fn as_published(&self, revision: Revision) -> Option<&State> {
        let at = self.published.get(&revision)?;
        self.state(*at)
    }

    /// Every commit, with the state before it.
    pub fn with_states(&self) -> impl Iterator<Item = (&Arc<Commit>, &State)> {
        self.commits.iter().zip(&self.states)
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
        let mut state = self.replica().clone();
        (self.apply)(&mut state, commit);
        self.states.push(state);
        self.commits.push(Arc::clone(commit));
        Ok(())
    }

    /// The next change, whose previous version must be what was there.
    pub fn push_change(&mut self, change: &Change) -> Checked {
        let there = self
            .replica()
            .get(&change.commit.key)
            .map(|one| one.revision);
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
        let same = state.is_same(self.replica());
        ensure("replay equals live", same, || {
            format!("the fold differs from the state at {}", state.revision)
        })?;
        self.published.insert(state.revision);
        Ok(())
    }
}
