//! The control plane: log, state, projections and collectors, opened and wired together.

#[cfg(feature = "http")]
mod http;
#[cfg(test)]
mod tests;

use crate::collectors::{self, Collectors, Surroundings};
use crate::data_dir::DataDir;
use crate::history::{HistoryIndex, LogHistory};
use crate::opening::{empty_state, open_directory};
use crate::pending::Pending;
use crate::published::{self, Published};
use crate::questions::{self, CHANGES_MAX, Why};
use crate::unpoisoned::unpoisoned;
use crate::{Clock, Config, OpenError, Revisions, bootstrap, effects, reply};
use arc_swap::ArcSwap;
use hindsight_core::{
    Change, Check, Command, Decision, Expired, ObjectKey, Rejection, Revision, State, Submitted,
    Time, Uid, Unavailable,
};
use hindsight_gc::Forecast;
use hindsight_log::{
    Base, DirectoryLock, Error, Keeping, Log, MemoryStorage, Poison, Reader, Storage, Writer,
};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// How long the disk may stand still before the server reports that it is not ready.
const STUCK: Duration = Duration::from_secs(10);

/// An open control plane. Cheap to clone. When the last clone is dropped it is closed, if nobody has called
/// [`Self::close`], and the drop blocks meanwhile, wherever it happens: services hold clones, and so does
/// everybody who was given one.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    collectors: Mutex<Option<Collectors>>,
    writer: Arc<Writer>,
    reader: Reader,
    restored: Revision,
    index: HistoryIndex,
    #[cfg(feature = "http")]
    http: http::HttpParts,
    published: Arc<ArcSwap<Published>>,
    changed: watch::Receiver<Revision>,
    clock: Clock,
    lock: Mutex<Option<DirectoryLock>>,
    closing: Mutex<()>,
    pending: Pending,
}

impl ControlPlane {
    /// Opens the log, folds it, and starts the writer and the collectors. A new log gets the first namespaces.
    ///
    /// Blocks on the disk. Refuses what a start of the server refuses, such as a directory that another process, or
    /// this one, has open ([`Error::Locked`]), a log that is damaged or has lost its end, and settings that cannot be
    /// meant. The message says what to do.
    pub fn open(config: Config) -> Result<Self, OpenError> {
        Self::open_with_turn(config, collectors::next_batch)
    }

    pub(crate) fn open_with_turn(
        config: Config,
        turn: collectors::Turn,
    ) -> Result<Self, OpenError> {
        config.check()?;
        let opened = open_log(&config, empty_state())?;
        Self::start(opened, config, turn)
    }

    /// A control plane in memory that begins as another was at a revision, with all that is kept of the history up to
    /// there, and then goes its own way. `of` is the reader of that plane, or of a directory that nobody serves
    /// ([`crate::open_reader`]). What the collectors have not done by then, those of the fork do, if it has any.
    /// [`Config::data_dir`] and [`Config::retention`] do not count.
    ///
    /// Fails as [`Reader::copy_until`] does. Blocks; takes the time, and the memory, of the whole history.
    pub fn fork(of: &Reader, at: Revision, config: Config) -> Result<Self, OpenError> {
        let config = Config {
            data_dir: None,
            retention: None,
            ..config
        };
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        of.copy_until(at, &*storage)?;
        let log = Log::open(storage, empty_state())?;
        let reader = log.reader.clone();
        let opened = OpenedLog {
            lock: None,
            log,
            reader,
        };
        Self::start(opened, config, collectors::next_batch)
    }

    fn start(opened: OpenedLog, config: Config, turn: collectors::Turn) -> Result<Self, OpenError> {
        // The lock is bound first and so released last, if anything below fails.
        let OpenedLog { lock, log, reader } = opened;
        let state = log.state().clone();
        let window = published::window_after(state.revision);
        let (publisher, feed) = published::channel(state.clone(), window, log.latest());
        let published = Arc::clone(&feed.published);
        let changed = publisher.changed();
        #[cfg(feature = "http")]
        let http = http::HttpParts::new(&config, &publisher, &reader);
        let restored = log.restored();
        let writer = Arc::new(log.start(Box::new(publisher))?);
        let collectors = if config.collectors {
            let surroundings = Surroundings {
                reader: reader.clone(),
                feed,
                writer: Arc::downgrade(&writer),
                event_ttl: config.event_ttl,
                clock: config.clock.clone(),
            };
            Some(Collectors::start(state, surroundings, turn)?)
        } else {
            None
        };
        let shared = Shared {
            collectors: Mutex::new(collectors),
            writer,
            reader,
            restored,
            index: HistoryIndex::default(),
            #[cfg(feature = "http")]
            http,
            published,
            changed,
            clock: config.clock,
            lock: Mutex::new(lock),
            closing: Mutex::default(),
            pending: Pending::new(),
        };
        let plane = Self {
            shared: Arc::new(shared),
        };
        bootstrap::run(&plane)?;
        Ok(plane)
    }

    /// Stops the collectors, carries out what was submitted and releases the directory, which may be opened
    /// again once this returns. Clones still show the state, refuse writes with [`Unavailable::Stopping`], and
    /// no longer read the log. Blocks, on the disk too, even if another clone called it first. If the engine cannot
    /// write its files when it is closed, [`Self::poison`] says so; what was acknowledged is durable before. If a call
    /// of the storage engine ended in a panic, the engine holds its files until the process ends.
    pub fn close(&self) {
        self.shared.close();
    }

    /// The newest durable state.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&self.shared.published.load().state)
    }

    /// The state before the first commit, into which a log is folded.
    pub fn empty_state(&self) -> State {
        empty_state()
    }

    /// The reader of the log.
    pub fn reader(&self) -> &Reader {
        &self.shared.reader
    }

    /// The revision at which a backup was last restored; zero if none ever was.
    pub fn restored(&self) -> Revision {
        self.shared.restored
    }

    /// The log as explanations read it, with its index.
    pub(crate) fn history(&self) -> LogHistory<'_> {
        LogHistory::new(&self.shared.reader, &self.shared.index)
    }

    /// Explains why the object of this key was deleted, is being deleted, or exists: the newest one of that
    /// name, or the one with this UID. That there never was one is an answer too:
    /// [`hindsight_projector::Fate::Unknown`]. Where history is no longer kept the chain ends, and has no root.
    ///
    /// Blocks, on the disk too. The newest 1,024 commits are read back; the first question that reaches further
    /// reads the whole log once for an index in memory, to which later ones add what was written since.
    pub fn explain(&self, key: &ObjectKey, uid: Option<&Uid>) -> Result<Why, Error> {
        questions::explain_served(&self.history(), &self.state(), key, uid)
    }

    /// Forecasts what a command would come to, with all that the collectors would do because of it, whether or
    /// not this plane runs any. It is decided on a copy of the newest state, with the clock standing still at
    /// the command's time. Nothing is written and no webhook is asked. A refusal is an answer
    /// ([`Forecast::answer`]), not an error.
    ///
    /// Follows 20,000 changes, and says whether there would be more. What is due without the command is in
    /// [`Forecast::due`], and also in the course with it; what follows only once clients let go of what
    /// they hold is in neither ([`hindsight_gc::Course::if_clients_let_go`]).
    ///
    /// Blocks, on the disk too: it looks at every object and, if one refers to an owner that is gone, reads the
    /// log back to the oldest such reference.
    pub fn forecast(&self, command: Command) -> Result<Forecast, Error> {
        questions::forecast(self.reader(), &self.state(), command, CHANGES_MAX)
    }

    /// As [`Self::forecast`], on a copy of the state at this revision. What is due then is due at the command's time,
    /// which is up to the caller. Fails as [`Reader::state_at`] does.
    pub fn forecast_at(&self, revision: Revision, command: Command) -> Result<Forecast, Error> {
        let state = self.reader().state_at(empty_state(), revision)?;
        questions::forecast(self.reader(), &state, command, CHANGES_MAX)
    }

    /// Tells whenever the state has advanced after this call.
    pub fn changed(&self) -> Revisions {
        Revisions::after_newest(self.subscribed())
    }

    /// Notifies whenever the state has advanced. Writes wait for whoever borrows from this.
    pub(crate) fn subscribed(&self) -> watch::Receiver<Revision> {
        self.shared.changed.clone()
    }

    /// Changes after a revision, oldest first; empty if there are none yet. They reach back over the newest
    /// 100,000 changes or 16 MiB of them, at least over the last two batches that were written together, and to
    /// before this plane was opened only if a watch had them read back. After [`Expired`], go on
    /// with [`Reader::scan_all`] from `revision.next()`.
    pub fn changes_after(
        &self,
        revision: Revision,
        limit: usize,
    ) -> Result<Vec<Arc<Change>>, Expired> {
        self.shared.published.load().window.after(revision, limit)
    }

    /// Decides commands and makes the outcome durable; all go into one batch. At most 4,096 submissions wait, of 64 MiB:
    /// one more is [`Unavailable::Overloaded`]. [`Command::actor`] is believed: no
    /// authorizer and no webhook is asked, as they are before requests to the HTTP service.
    ///
    /// Nothing is submitted before the future is polled for the first time. From then on the commands may be
    /// written even if it is dropped. After [`Unavailable::Poisoned`] it is not known whether they were; any other
    /// error means that nothing was.
    pub async fn submit(&self, commands: Vec<Command>) -> Submitted {
        let (sender, receiver) = oneshot::channel();
        // A client that is gone does not get the answer; the write stands.
        let reply = Box::new(move |outcome: Submitted| drop(sender.send(outcome)));
        let reply = self.shared.pending.until_answered(reply);
        self.shared.writer.submit(commands, reply);
        receiver.await.unwrap_or_else(|_| Err(self.unanswered()))
    }

    /// Like [`Self::submit`], without an authorizer and webhooks too, for callers without a runtime. Must not be
    /// called inside one.
    pub fn submit_blocking(&self, commands: Vec<Command>) -> Submitted {
        let (answer, waiter) = reply::channel();
        let answer = self.shared.pending.until_answered(answer);
        self.shared.writer.submit_here(commands, answer);
        waiter.wait().unwrap_or_else(|| Err(self.unanswered()))
    }

    /// The answer to a submission whose reply was dropped. The writer lives as long as this plane, and answers
    /// whatever it turns away, so the reply was lost to a panic, of which the log may not have been told yet.
    /// Whether the commands were written is not known.
    fn unanswered(&self) -> Unavailable {
        let reason = self.poison().reason();
        Unavailable::Poisoned(reason.unwrap_or("one of its threads panicked").into())
    }

    /// Whether the log has failed: then no write is accepted any more, and the log must be opened again.
    pub fn poison(&self) -> &Poison {
        self.shared.writer.poison()
    }

    /// How the log, the writes and the collectors are.
    pub fn checks(&self) -> [Check; 3] {
        let parts = [
            ("log", self.failure_of_the_log()),
            ("writes", self.failure_of_writes()),
            ("collectors", self.failure_of_collectors()),
        ];
        parts.map(|(name, failure)| Check { name, failure })
    }

    fn failure_of_collectors(&self) -> Option<String> {
        let collectors = unpoisoned(self.shared.collectors.lock());
        collectors.as_ref().and_then(Collectors::complaint)
    }

    fn failure_of_the_log(&self) -> Option<String> {
        let failed = |reason| format!("the event log failed: {reason}");
        let closed = || {
            self.shared
                .writer
                .is_closed()
                .then(|| "the event log was closed".into())
        };
        self.poison().reason().map(failed).or_else(closed)
    }

    fn failure_of_writes(&self) -> Option<String> {
        stuck(self.shared.pending.stalled_for(Instant::now()))
    }

    /// Decides a command; nothing is written, and no authorizer and no webhook is asked. What the collectors would
    /// do then is in [`Self::forecast`].
    pub fn dry_run(&self, command: Command) -> Result<Decision, Rejection> {
        hindsight_core::decide(&self.state(), command)
    }

    /// What time it is, for commands: [`Config::clock`].
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// Has the collectors look at [`Config::clock`] at once, for a program that has moved it. They look at it once a
    /// second otherwise. Returns before they have looked: wait for what they do with [`Self::changed`].
    pub fn clock_changed(&self) {
        if let Some(collectors) = &*unpoisoned(self.shared.collectors.lock()) {
            collectors.wake();
        }
    }

    /// Fresh randomness, for one command.
    pub fn seed(&self) -> [u8; 16] {
        effects::seed()
    }
}

impl Shared {
    /// Stops the collectors before the writer drains, and releases the lock last. No earlier state answers any more.
    fn close(&self) {
        let _whoever_is_second_waits = self.closing.lock();
        drop(take(&self.collectors));
        self.writer.close();
        #[cfg(feature = "http")]
        self.http.pasts.close();
        drop(take(&self.lock));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

/// What is wrong if no write was answered for this long, although some waited.
fn stuck(stalled_for: Duration) -> Option<String> {
    let seconds = stalled_for.as_secs();
    (stalled_for >= STUCK)
        .then(|| format!("writes are waiting, and none has been answered for {seconds} s"))
}

fn take<T>(held: &Mutex<Option<T>>) -> Option<T> {
    unpoisoned(held.lock()).take()
}

/// A log that was read to its end, and is not written to yet.
struct OpenedLog {
    log: Log,
    reader: Reader,
    /// `None` for a log in memory.
    lock: Option<DirectoryLock>,
}

/// Opens the log on its directory or in memory, and reads it from the newest snapshot on.
fn open_log(config: &Config, empty: State) -> Result<OpenedLog, OpenError> {
    let begun = Instant::now();
    let (lock, storage) = match &config.data_dir {
        None => (None, Arc::new(MemoryStorage::default()) as Arc<dyn Storage>),
        Some(directory) => {
            let (lock, storage) = open_directory(directory)?;
            (Some(lock), storage)
        }
    };
    let data_dir = lock.as_ref().map(|lock| DataDir(lock.directory()));
    let snapshots = data_dir.map(DataDir::snapshots);
    let base = match &snapshots {
        Some(all) => {
            all.check_newest(&*storage)?;
            all.newest_in(&*storage, &empty)
        }
        None => None,
    };
    let base = base.unwrap_or_else(|| Base::empty(empty.clone()));
    let snapshot = base.state.revision;
    let mut log = Log::open_from(storage, base)?;
    log_opening(log.state().revision, snapshot, begun);
    let mut reader = log.reader.clone();
    if let Some(snapshots) = snapshots {
        reader = reader.with_snapshots(snapshots.clone());
        let keeping = config.retention.clone().map(|policy| Keeping {
            policy,
            clock: config.clock.clone(),
            empty,
        });
        log.keep_snapshots(snapshots, config.snapshot_every, keeping)?;
    }
    Ok(OpenedLog { log, reader, lock })
}

/// Logs how far the log was read, from which snapshot, and how long that took: if it took long, snapshots are
/// missing.
fn log_opening(revision: Revision, snapshot: Revision, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    if snapshot == Revision::ZERO {
        tracing::info!(%revision, seconds, "the whole log was read");
    } else {
        tracing::info!(%revision, %snapshot, seconds, "the log was read from a snapshot on");
    }
}
