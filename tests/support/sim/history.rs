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
    /// The fold of them: before the first, after it, and so on.
    pub states: Vec<State>,
    /// The state as it was published at some revisions.
    pub published: BTreeMap<Revision, State>,
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

/// Whether both hold the same objects; most of them are shared, which is quicker than a hash.
fn is_same(one: &State, other: &State) -> bool {
    let mut pairs = one.objects().zip(other.objects());
    one.revision == other.revision
        && one.len() == other.len()
        && pairs.all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
}

/// Of so many published states one is compared by its hash, which is over more than the objects.
const HASHED_EVERY: usize = 8;

type Apply = fn(&mut State, &Commit) -> Option<Arc<Object>>;

impl History {
    /// Nothing yet.
    pub fn new(forgets: bool) -> Self {
        Self {
            commits: Vec::new(),
            states: vec![empty()],
            published: BTreeMap::new(),
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
        let replica = self.replica();
        let is_hashed = self.published.len().is_multiple_of(HASHED_EVERY);
        let same = is_same(state, replica) && (!is_hashed || state.hash() == replica.hash());
        ensure("replay equals live", same, || {
            format!("the fold differs from the state at {}", state.revision)
        })?;
        self.published.insert(state.revision, state.clone());
        Ok(())
    }
}
