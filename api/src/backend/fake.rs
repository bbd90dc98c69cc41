//! An engine that does nothing by itself, for tests of the surface alone.

use super::{AsOf, AsOfError, Backend, Expired, Unavailable};
use futures_util::future::BoxFuture;
use hindsight_core::{Change, Command, Commit, Decision, Rejection, Revision, State, Time};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// A state that moves when the test says so.
pub(crate) struct Fake {
    state: Mutex<State>,
    moved: watch::Sender<Revision>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State::new(crate::builtin_kinds()));
        let moved = watch::Sender::new(Revision(0));
        Self { state, moved }
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

    fn as_of(&self, _: AsOf) -> BoxFuture<'_, Result<Arc<State>, AsOfError>> {
        Box::pin(async { Ok(self.state()) })
    }

    fn submit(
        &self,
        _: Vec<Command>,
    ) -> BoxFuture<'_, Result<Vec<Result<Decision, Rejection>>, Unavailable>> {
        Box::pin(async { Err(Unavailable::Stopping) })
    }

    fn now(&self) -> Time {
        Time(0)
    }

    fn seed(&self) -> [u8; 16] {
        [0; 16]
    }
}
