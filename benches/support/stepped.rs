//! An in-memory control plane that does one step at a time on the caller's thread: every run does the
//! same work, so its instructions can be counted.

use anyhow::{Context, Result, anyhow};
use futures_util::future::{BoxFuture, ready};
use hindsight_api::{AsOf, AsOfError, Backend, StateAt, builtin_kinds};
use hindsight_core::{
    Change, Check, Command, Commit, Decision, Expired, Revision, State, Submitted, Time,
    Unavailable,
};
use hindsight_log::{Log, MemoryStorage, Publish, Stages, Storage, Writer};
use hindsight_projector::Window;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

const WINDOW_CHANGES_MAX: usize = 100_000;
const WINDOW_BYTES_MAX: usize = 16 << 20;
/// A day in 2026, in microseconds.
const NOW: i64 = 1_790_000_000_000_000;

/// The state before the first commit, with all built-in kinds and their schemas.
pub fn empty() -> State {
    State::new(builtin_kinds())
}

/// What readers see.
struct Published {
    state: Arc<State>,
    window: Window,
    /// The changes since they were last taken.
    changes: Vec<Arc<Change>>,
}

struct Publisher {
    published: Arc<Mutex<Published>>,
    moved: watch::Sender<Revision>,
}

impl Publish for Publisher {
    fn publish(&mut self, state: State, changes: Vec<Arc<Change>>) {
        let revision = state.revision;
        let mut published = lock(&self.published);
        published.window.push(changes.iter().cloned());
        published.state = Arc::new(state);
        published.changes.extend(changes);
        drop(published);
        self.moved.send_replace(revision);
    }
}

/// A writer that is driven step by step, and what it has published.
pub struct Stepped {
    writer: Writer,
    stages: Mutex<Stages>,
    published: Arc<Mutex<Published>>,
    changed: watch::Receiver<Revision>,
    storage: Arc<dyn Storage>,
    numbers: AtomicU64,
}

impl Stepped {
    /// Opens an empty control plane.
    pub fn open() -> Result<Self> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let log = Log::open(Arc::clone(&storage), empty())?;
        let state = log.state();
        let published = Arc::new(Mutex::new(Published {
            state: Arc::new(state.clone()),
            window: Window::new(state.revision, WINDOW_CHANGES_MAX, WINDOW_BYTES_MAX),
            changes: Vec::new(),
        }));
        let (moved, changed) = watch::channel(state.revision);
        let publisher = Publisher {
            published: Arc::clone(&published),
            moved,
        };
        let (writer, stages) = log.by_stages(Box::new(publisher));
        Ok(Self {
            writer,
            stages: Mutex::new(stages),
            published,
            changed,
            storage,
            numbers: AtomicU64::new(1),
        })
    }

    /// The storage that holds the log's frames.
    pub fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    /// Takes the changes since the last call.
    pub fn take_changes(&self) -> Vec<Arc<Change>> {
        std::mem::take(&mut lock(&self.published).changes)
    }

    /// Decides commands as one batch, without writing it.
    pub fn decide(&self, commands: Vec<Command>) -> Result<Arc<Mutex<Option<Submitted>>>> {
        let answer = Arc::new(Mutex::new(None));
        let place = Arc::clone(&answer);
        let reply = move |outcome: Submitted| *lock(&place) = Some(outcome);
        self.writer.submit(commands, Box::new(reply));
        let decided = lock(&self.stages).decide();
        decided.then_some(answer).context("nothing waited")
    }

    /// Writes and publishes what was decided.
    pub fn sync(&self) -> bool {
        lock(&self.stages).sync()
    }

    /// Decides, writes and publishes; each command must be accepted.
    pub fn write(&self, commands: Vec<Command>) -> Result<Vec<Decision>> {
        let answer = self.decide(commands)?;
        self.sync();
        let outcome = lock(&answer).take().context("no answer")??;
        let each = outcome.into_iter();
        each.map(|one| one.map_err(|rejection| anyhow!("{rejection}")))
            .collect()
    }
}

impl Backend for Stepped {
    fn state(&self) -> Arc<State> {
        Arc::clone(&lock(&self.published).state)
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn restored(&self) -> Revision {
        Revision::ZERO
    }

    fn changed(&self) -> watch::Receiver<Revision> {
        self.changed.clone()
    }

    fn changes_after(&self, revision: Revision, limit: usize) -> Result<Vec<Arc<Change>>, Expired> {
        lock(&self.published).window.after(revision, limit)
    }

    fn reach_back(&self, _: Revision) -> BoxFuture<'_, bool> {
        Box::pin(ready(false))
    }

    fn commits_after(
        &self,
        _: Revision,
        _: usize,
        _: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn as_of(&self, _: AsOf) -> BoxFuture<'_, Result<StateAt, AsOfError>> {
        Box::pin(ready(Ok(StateAt::in_memory(self.state()))))
    }

    fn time_of(&self, _: Revision) -> BoxFuture<'_, Option<Time>> {
        Box::pin(ready(None))
    }

    fn submit(&self, commands: Vec<Command>) -> BoxFuture<'_, Submitted> {
        let answer = self.decide(commands);
        self.sync();
        let outcome = answer.ok().and_then(|answer| lock(&answer).take());
        let outcome = outcome.and_then(Result::ok).ok_or(Unavailable::Stopping);
        Box::pin(ready(outcome))
    }

    fn now(&self) -> Time {
        Time(NOW)
    }

    fn seed(&self) -> [u8; 16] {
        u128::from(self.numbers.fetch_add(1, Ordering::Relaxed)).to_le_bytes()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Stepped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stepped")
    }
}
