//! Everything that was ever visible: the commits in order, and a state that follows them. This
//! includes what a restore took back, because it was visible before.

use super::check::{Checked, ensure};
use crate::sim::server::empty;
use hindsight_core::{Change, Commit, GroupResource, Object, Revision, State, apply};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything that was published or recovered. It only grows.
#[derive(Debug)]
pub struct History {
    /// The commits in order, from revision 1.
    pub commits: Vec<Arc<Commit>>,
    /// The fold of the commits: the state before each, and after the last. The state before the first
    /// commit after a restore is the restored one.
    pub states: Vec<State>,
    /// The states that restores replaced, by their revisions.
    ends: BTreeMap<Revision, State>,
    /// For each restore, how many commits there were, and the revision after which revisions go on.
    lives: Vec<(usize, Revision)>,
    /// The part of the history that is in the log.
    pub log: LogContents,
    /// The kinds of which thinning keeps every commit.
    pub kept_kinds: Vec<GroupResource>,
    /// The newest revision up to which anybody had history dropped.
    pub thinned_to: Revision,
    apply: Apply,
}

/// The part of the history that is in a log or in a backup of it.
#[derive(Debug, Clone, Default)]
pub struct LogContents {
    /// The revision of its end.
    pub revision: Revision,
    /// How many commits the history had.
    commits: usize,
    /// The positions of the commits that are not in it, because a restore took them back.
    gone: BTreeSet<usize>,
    /// The revisions at which a state was published that equalled the fold.
    published: BTreeSet<Revision>,
    /// For each restore, the revision at which the backup ended, and the one after which revisions go
    /// on.
    pub restores: Vec<(Revision, Revision)>,
}

/// Applies a commit, but leaves a removed object where it is.
fn forgetful(state: &mut State, commit: &Commit) -> Option<Arc<Object>> {
    if commit.object().is_some() {
        return apply(state, commit);
    }
    state.revision = commit.revision;
    None
}

type Apply = fn(&mut State, &Commit) -> Option<Arc<Object>>;

impl History {
    /// An empty history; with `forgets` its fold ignores removals.
    pub fn new(forgets: bool) -> Self {
        Self {
            commits: Vec::new(),
            states: vec![empty()],
            ends: BTreeMap::new(),
            lives: Vec::new(),
            log: LogContents::default(),
            kept_kinds: Vec::new(),
            thinned_to: Revision::ZERO,
            apply: if forgets { forgetful } else { apply },
        }
    }

    /// The revision of the last commit or restore.
    pub fn newest(&self) -> Revision {
        let commit = self.commits.last().map(|one| one.revision);
        let restore = self.lives.last().map(|(_, revision)| *revision);
        commit.max(restore).unwrap_or_default()
    }

    /// The fold of all commits.
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

    /// The commits in the log, each with the state before it. Commits that were thinned away are
    /// included.
    pub fn kept_with_states(&self) -> impl DoubleEndedIterator<Item = (&Arc<Commit>, &State)> {
        let all = self.commits.iter().enumerate();
        let kept = all.filter(|(place, _)| !self.log.gone.contains(place));
        kept.filter_map(|(place, commit)| Some((commit, self.states.get(place)?)))
    }

    /// The commits in the log, including those that were thinned away.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Arc<Commit>> {
        let all = self.commits.iter().enumerate();
        let kept = all.filter(|(place, _)| !self.log.gone.contains(place));
        kept.map(|(_, commit)| commit)
    }

    /// For every restore, how many commits there were, and the revision after which revisions go on.
    pub fn lives(&self) -> &[(usize, Revision)] {
        &self.lives
    }

    /// The commit at this revision.
    pub fn commit(&self, revision: Revision) -> Option<&Arc<Commit>> {
        let found = self.commits.get(self.count(revision).checked_sub(1)?);
        found.filter(|one| self.lives.is_empty() || one.revision == revision)
    }

    /// Adds the next commit.
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

    /// Adds the next change, and checks that its previous version is the one that existed.
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

    /// Checks that this published state equals the fold, and notes its revision.
    pub fn note_state(&mut self, state: &State) -> Checked {
        let same = state.is_same(self.replica());
        ensure("replay equals live", same, || {
            format!("the fold differs from the state at {}", state.revision)
        })?;
        self.log.published.insert(state.revision);
        Ok(())
    }

    /// The part of the history that a backup made now would have.
    pub fn now(&self) -> LogContents {
        LogContents {
            revision: self.newest(),
            commits: self.commits.len(),
            ..self.log.clone()
        }
    }

    /// Resets the log to what it was then; revisions go on after `revision`.
    pub fn restore(&mut self, then: &LogContents, revision: Revision) {
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
