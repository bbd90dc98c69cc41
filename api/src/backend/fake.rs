//! An engine that does nothing by itself, for tests of the surface alone. What is submitted is
//! decided and applied.

use super::{AsOf, AsOfError, Backend, Expired, Past, Unavailable};
use futures_util::future::BoxFuture;
use hindsight_core::{
    Change, Command, Commit, Decision, Rejection, Revision, State, Time, apply, decide,
};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// A state that moves when the test says so.
pub(crate) struct Fake {
    state: Mutex<State>,
    /// What others write just before the next submission.
    pub(crate) meanwhile: Mutex<Vec<Command>>,
    /// How many commands came in each submission.
    pub(crate) submitted: Mutex<Vec<usize>>,
    moved: watch::Sender<Revision>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State::new(crate::builtin_kinds()));
        let moved = watch::Sender::new(Revision(0));
        Self {
            state,
            meanwhile: Mutex::default(),
            submitted: Mutex::default(),
            moved,
        }
    }

    pub(crate) fn carry_out(&self, command: Command) -> Result<Decision, Rejection> {
        let mut state = self.state.lock().expect("a lock");
        let decision = decide(&state, command)?;
        for commit in &decision.commits {
            drop(apply(&mut state, commit));
        }
        Ok(decision)
    }

    /// What is there changes under the watches, without a word.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("a lock"));
    }

    pub(crate) fn move_to(&self, revision: Revision) {
        self.state.lock().expect("a lock").revision = revision;
        self.moved.send_replace(revision);
    }
}

impl Backend for Fake {
    fn state(&self) -> Arc<State> {
        Arc::new(self.state.lock().expect("a lock").clone())
    }

    fn unready(&self) -> Option<String> {
        None
    }

    fn restored(&self) -> Revision {
        Revision::ZERO
    }

    fn changed(&self) -> watch::Receiver<Revision> {
        self.moved.subscribe()
    }

    fn changes_after(&self, _: Revision, _: usize) -> Result<Vec<Arc<Change>>, Expired> {
        Ok(Vec::new())
    }

    fn commits_after(
        &self,
        _: Revision,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn as_of(&self, _: AsOf) -> BoxFuture<'_, Result<Past, AsOfError>> {
        Box::pin(async { Ok(Past::newest(self.state())) })
    }

    fn submit(
        &self,
        commands: Vec<Command>,
    ) -> BoxFuture<'_, Result<Vec<Result<Decision, Rejection>>, Unavailable>> {
        for command in std::mem::take(&mut *self.meanwhile.lock().expect("a lock")) {
            self.carry_out(command).expect("accepted");
        }
        self.submitted.lock().expect("a lock").push(commands.len());
        let commands = commands.into_iter();
        let answers = commands.map(|command| self.carry_out(command)).collect();
        Box::pin(async { Ok(answers) })
    }

    fn now(&self) -> Time {
        Time(0)
    }

    fn seed(&self) -> [u8; 16] {
        [0; 16]
    }
}
