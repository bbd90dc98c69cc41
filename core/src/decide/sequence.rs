//! A decision of several commits: each part is decided on the state that the parts before it leave.

use super::Context;
use crate::{Commit, State, apply};
use std::sync::Arc;

/// The commits so far, and the state that they leave.
#[derive(Debug)]
pub(super) struct Sequence {
    state: State,
    commits: Vec<Arc<Commit>>,
    /// How many of the commits the state has taken in.
    applied: usize,
}

impl Sequence {
    /// Begins with this state.
    pub(super) fn on(state: &State) -> Self {
        Self {
            state: state.clone(),
            commits: Vec::new(),
            applied: 0,
        }
    }

    /// The state that the parts so far leave. They are applied only here, since nothing is decided on the last.
    pub(super) fn state(&mut self) -> &State {
        for commit in self.commits.iter().skip(self.applied) {
            drop(apply(&mut self.state, commit));
        }
        self.applied = self.commits.len();
        &self.state
    }

    /// The context of the next part.
    pub(super) fn context<'a>(&'a mut self, context: Context<'a>) -> Context<'a> {
        Context {
            state: self.state(),
            ..context
        }
    }

    /// Adds the commits of a part.
    pub(super) fn add(&mut self, commits: impl IntoIterator<Item = Arc<Commit>>) {
        self.commits.extend(commits);
    }

    pub(super) fn commits(&self) -> &[Arc<Commit>] {
        &self.commits
    }

    pub(super) fn into_commits(self) -> Vec<Arc<Commit>> {
        self.commits
    }
}
