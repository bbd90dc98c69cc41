//! What was ever visible: the commits in order, and a state that follows them. What a restore took back
//! was visible too, to those who were there.

use super::check::{Checked, ensure};
use crate::sim::server::empty;
use hindsight_core::{Change, Commit, Object, Revision, State, apply};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything that was published or recovered. It only grows.
#[derive(Debug)]
pub struct History {
    /// In order, from revision 1.
    pub commits: Vec<Arc<Commit>>,
    /// The fold of them: before each, and after the last. Before the first one behind a restore it is what
    /// was restored.
    pub states: Vec<State>,
    /// The state that a restore took the place of, by its revision.
    ends: BTreeMap<Revision, State>,
    /// How many commits there were at each restore, and where revisions went on.
    lives: Vec<(usize, Revision)>,
    /// What the log has of it.
    pub log: Kept,
    apply: Apply,
}

/// What a log, or a backup of it, has of the history.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Where it ends.
    pub revision: Revision,
    /// How many commits there were.
    commits: usize,
    /// Which of them, by their places, are not in it: a restore took them back.
    gone: BTreeSet<usize>,
    /// Where a state was published, which was the fold.
    published: BTreeSet<Revision>,
    /// Where restored backups ended, and where revisions went on.
    pub restores: Vec<(Revision, Revision)>,
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
            ends: BTreeMap::new(),
            lives: Vec::new(),
            log: Kept::default(),
            apply: if forgets { forgetful } else { apply },
        }
    }

    /// The last commit that is known, or the last restore.
    pub fn newest(&self) -> Revision {
        let commit = self.commits.last().map(|one| one.revision);
        let restore = self.lives.last().map(|(_, revision)| *revision);
        commit.max(restore).unwrap_or_default()
    }

    /// The fold of everything.
    pub fn replica(&self) -> &State {
        self.states.last().expect("there is one before the first")
    }

    /// How many commits there are up to this revision.
    fn count(&self, revision: Revision) -> usize {
        if self.lives.is_empty() {
            return usize::try_from(revision.0).unwrap_or(usize::MAX);
        }
        self.commits.partition_point(|one| one.revision <= revision)
    }

    /// The fold up to this revision.
    pub fn state(&self, revision: Revision) -> Option<&State> {
        let end = self.ends.get(&revision);
        let found = end.or_else(|| self.states.get(self.count(revision)));
        found.filter(|state| state.revision == revision)
    }

    /// The revisions of the states that were published and are in the log, oldest first.
    pub fn published(&self) -> impl Iterator<Item = Revision> {
        self.log.published.iter().copied()
    }

    /// The state as it was published at this revision, where one was.
    pub fn as_published(&self, revision: Revision) -> Option<&State> {
        let at = self.log.published.get(&revision)?;
        self.state(*at)
    }

    /// Every commit, with the state before it.
    pub fn with_states(&self) -> impl Iterator<Item = (&Arc<Commit>, &State)> {
        self.commits.iter().zip(&self.states)
    }

    /// Those that are in the log, or were dropped there.
    pub fn kept_with_states(&self) -> impl DoubleEndedIterator<Item = (&Arc<Commit>, &State)> {
        let all = self.commits.iter().enumerate();
        let kept = all.filter(|(place, _)| !self.log.gone.contains(place));
        kept.filter_map(|(place, commit)| Some((commit, self.states.get(place)?)))
    }

    /// The same without the states.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Arc<Commit>> {
        let all = self.commits.iter().enumerate();
        let kept = all.filter(|(place, _)| !self.log.gone.contains(place));
        kept.map(|(_, commit)| commit)
    }

    /// Every restore there was: how many commits there were, and where revisions went on.
    pub fn lives(&self) -> &[(usize, Revision)] {
        &self.lives
    }

    /// The commit at this revision.
    pub fn commit(&self, revision: Revision) -> Option<&Arc<Commit>> {
        let found = self.commits.get(self.count(revision).checked_sub(1)?);
        found.filter(|one| self.lives.is_empty() || one.revision == revision)
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
        self.log.published.insert(state.revision);
        Ok(())
    }

    /// What a backup of the log has now.
    pub fn now(&self) -> Kept {
        Kept {
            revision: self.newest(),
            commits: self.commits.len(),
            ..self.log.clone()
        }
    }

    /// The log is what it was then, and revisions go on after this one.
    pub fn restore(&mut self, then: &Kept, revision: Revision) {
        let mut restored = self.state(then.revision).cloned().unwrap_or_else(empty);
        restored.revision = revision;
        let newest = self.newest();
        let end = std::mem::replace(self.states.last_mut().expect("there is one"), restored);
        self.ends.insert(newest, end);
        self.lives.push((self.commits.len(), revision));
        self.log = then.clone();
        self.log.gone.extend(then.commits..self.commits.len());
        self.log.restores.push((then.revision, revision));
    }
}
