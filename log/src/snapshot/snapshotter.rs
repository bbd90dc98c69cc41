//! Writes snapshots and thins the log in a thread beside the writer. The writer hands over a state now
//! and then and never waits.

mod due;
#[cfg(test)]
mod tests;

use super::Snapshots;
use crate::retention::Thinner;
use crate::storage::Purpose;
use crate::{Base, Error, Poison, Storage, Tail};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use due::Due;
pub(crate) use due::Written;
use hindsight_core::{Change, Revision, State};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Snapshots that are kept: if the newest is damaged, the one before it is used.
const SNAPSHOTS_KEPT: usize = 2;

/// How often the log is thinned while nothing is written, and how soon after the start.
const THINNED_EVERY: Duration = Duration::from_hours(1);
const THINNED_AFTER: Duration = Duration::from_mins(1);
/// The pause between two turns of thinning, to let writes through.
const THINNED_PAUSE: Duration = Duration::from_millis(5);
/// The most turns of thinning at a clean shutdown.
const THINNED_AT_END: usize = 64;

/// Chooses when a snapshot is due, and has it written in a thread of its own.
#[derive(Debug)]
pub(crate) struct Snapshotter {
    due: Due,
    /// The newest end of the log, with its state.
    end: Base,
    /// The revision of the last snapshot that the thread wrote although nothing was handed over: that of the start, or
    /// one that it could not write before; 0 until then.
    written_while_idle: Arc<AtomicU64>,
    thread_takes: Option<Sender<Base>>,
    thread: Option<JoinHandle<()>>,
}

/// What the snapshotter maintains.
pub(crate) struct SnapshotterOptions {
    /// Those in their place ([`Snapshots::in_place`]).
    pub(crate) snapshots: Snapshots,
    /// A snapshot is due after this many commits, or after three quarters as many as there are objects,
    /// whichever is more; `None` for no snapshots. With a thinner one may be due earlier.
    pub(crate) every: Option<NonZeroU64>,
    /// Thins the history, unless all of it is kept.
    pub(crate) thinner: Option<Thinner>,
    /// What was written since the newest snapshot.
    pub(crate) since: Written,
}

impl Snapshotter {
    /// Starts the thread. If it panics the log is poisoned: it may have been replacing something in the
    /// log.
    pub(crate) fn start(
        options: SnapshotterOptions,
        storage: Arc<dyn Storage>,
        end: Base,
        poison: Poison,
    ) -> Result<Self, Error> {
        let SnapshotterOptions {
            snapshots,
            every,
            thinner,
            since,
        } = options;
        let revisions = snapshots
            .sweep_unfinished()
            .and_then(|()| snapshots.revisions_up_to(end.state.revision))
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot list the snapshots");
                Vec::new()
            });
        let policy = thinner.as_ref().map(Thinner::policy);
        let (bytes_of_state, written_while_idle) = (Arc::default(), Arc::default());
        let due = Due::new(
            every,
            policy,
            (revisions.first().copied(), since),
            Arc::clone(&bytes_of_state),
        );
        let owed = due.is_due_at_start(&end).then(|| end.clone());
        let (thread_takes, received) = bounded::<Base>(0);
        let work = Work {
            snapshots,
            storage,
            is_refused: false,
            bytes_of_state,
            owed,
            written_while_idle: Arc::clone(&written_while_idle),
            thinner,
            received,
        };
        let state = end.state.clone();
        let run = move || {
            work.measure(&state);
            drop(state);
            work.run();
        };
        let thread = std::thread::Builder::new()
            .name("snapshots".into())
            .spawn(move || poison.guard("thread for snapshots and old history", run))
            .map_err(Error::io("starting the thread that writes snapshots"))?;
        Ok(Self {
            due,
            end,
            written_while_idle,
            thread_takes: Some(thread_takes),
            thread: Some(thread),
        })
    }

    /// Takes note of a durable batch, and hands over a snapshot if one is due.
    pub(crate) fn note(&mut self, state: &State, tail: Tail, changes: &[Arc<Change>]) {
        let times = changes.iter().map(|change| change.commit.time);
        self.end.latest = times.fold(self.end.latest, Ord::max);
        self.end.hash = tail.hash;
        self.end.state = state.clone();
        self.note_written_while_idle();
        self.due.note(changes.iter().map(|change| &*change.commit));
        if self.due.is_due(&self.end)
            && let Some(thread) = &self.thread_takes
            && thread.try_send(self.end.clone()).is_ok()
        {
            self.due.handed_over(&self.end);
        }
    }

    /// Takes note of the snapshot that the thread wrote because nothing was handed over.
    fn note_written_while_idle(&mut self) {
        let written = self.written_while_idle.load(Ordering::Relaxed);
        self.due.note_written_while_idle(Revision(written));
    }
}

impl Drop for Snapshotter {
    fn drop(&mut self) {
        self.note_written_while_idle();
        let is_due = self.due.is_due_at_end(&self.end);
        // The clock of its thinner may hold the last clone of the plane, which then ends on this thread.
        let here = std::thread::current().id();
        let thread = self.thread.take().filter(|one| one.thread().id() != here);
        if let Some(takes) = self.thread_takes.take()
            && is_due
            && thread.is_some()
        {
            // The thread lives as long as `self`, so it receives this.
            takes.send(self.end.clone()).ok();
        }
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes snapshots ended in a panic");
        }
    }
}

/// The work of the thread.
struct Work {
    snapshots: Snapshots,
    /// Asked for free space; shared with the writer.
    storage: Arc<dyn Storage>,
    /// The last snapshot was not written for lack of space.
    is_refused: bool,
    /// Roughly the bytes of the last snapshot that was due.
    bytes_of_state: Arc<AtomicU64>,
    /// The state at the start, if a snapshot of it is due, or the last that was handed over, if its snapshot could not
    /// be written. The log is thinned no further without it, and on a full disk nothing else is handed over.
    owed: Option<Base>,
    written_while_idle: Arc<AtomicU64>,
    thinner: Option<Thinner>,
    received: Receiver<Base>,
}

/// Why the thread rests until something is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It has just started.
    First,
    /// All that could be thinned is, for now.
    UntilDue,
    /// A round of thinning is in progress.
    BetweenTurns,
}

impl Rest {
    /// The longest that it takes.
    const fn pause(self) -> Duration {
        match self {
            Self::First => THINNED_AFTER,
            Self::UntilDue => THINNED_EVERY,
            Self::BetweenTurns => THINNED_PAUSE,
        }
    }
}

impl Work {
    fn run(mut self) {
        let mut rest = Rest::First;
        while let Some(next) = self.step(self.received.recv_timeout(rest.pause()), rest) {
            rest = next;
        }
        let mut left = 0..THINNED_AT_END;
        while left.next().is_some() && self.turn() {}
    }

    /// Does what is due after a rest, and returns the next one; `None` at the end.
    fn step(&mut self, came: Result<Base, RecvTimeoutError>, rest: Rest) -> Option<Rest> {
        match (came, rest) {
            (Ok(base), _) => {
                self.owed = (!self.keep(&base)).then_some(base);
                self.begin();
            }
            (Err(RecvTimeoutError::Timeout), Rest::First | Rest::UntilDue) => self.begin_idle(),
            (Err(RecvTimeoutError::Timeout), Rest::BetweenTurns) => {}
            (Err(RecvTimeoutError::Disconnected), _) => return None,
        }
        Some(if self.turn() {
            Rest::BetweenTurns
        } else {
            Rest::UntilDue
        })
    }

    fn begin_idle(&mut self) {
        if let Some(base) = self.owed.take() {
            if self.keep(&base) {
                let revision = base.state.revision.0;
                self.written_while_idle.store(revision, Ordering::Relaxed);
            } else {
                self.owed = Some(base);
            }
        }
        self.begin();
    }

    fn begin(&mut self) {
        if let Some(thinner) = &mut self.thinner {
            thinner.begin();
        }
    }

    fn turn(&mut self) -> bool {
        self.thinner.as_mut().is_some_and(Thinner::turn)
    }

    /// Writes a snapshot and removes older ones; returns whether it did both.
    fn keep(&mut self, base: &Base) -> bool {
        if !self.has_space(base) {
            return false;
        }
        let written = self.snapshots.write(base).and_then(|()| {
            let newest = base.state.revision;
            let mut kept = self.snapshots.revisions_up_to(newest)?;
            kept.truncate(SNAPSHOTS_KEPT);
            self.snapshots.retain(newest, &kept)
        });
        match &written {
            Ok(()) => tracing::info!(revision = %base.state.revision, "a snapshot was written"),
            Err(error) => {
                tracing::warn!(%error, "cannot write a snapshot, or cannot remove older ones");
            }
        }
        written.is_ok()
    }

    /// Roughly the bytes that a snapshot of this state takes.
    fn measure(&self, state: &State) -> usize {
        let bytes = Snapshots::approximate_bytes(state);
        let told = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes_of_state.store(told, Ordering::Relaxed);
        bytes
    }

    /// Whether there is space for a snapshot. Warns the first time that there is none.
    fn has_space(&mut self, base: &Base) -> bool {
        let thins = self.thinner.is_some();
        let bytes = self.measure(&base.state);
        let has_space = self
            .storage
            .ensure_space(bytes, Purpose::Snapshot { thins });
        if !has_space && !self.is_refused {
            tracing::warn!(
                bytes,
                "too little disk space for a snapshot; none is written until there is more, and the next \
                 start has to read more of the log"
            );
        }
        self.is_refused = !has_space;
        has_space
    }
}
