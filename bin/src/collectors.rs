//! Drives the collectors: durable changes go in, batches of commands come out.

mod health;
mod part_bytes;
#[cfg(test)]
mod tests;

use crate::published::CollectorFeed;
use crate::{Clock, effects};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};
use health::Health;
use hindsight_core::{
    Change, Command, Decision, GroupResource, Object, Rejection, Revision, State, Submitted, Time,
    Unavailable, apply,
};
use hindsight_gc::{BATCH_STEPS_MAX, Collector, Step, in_parts, split_advancing};
use hindsight_log::{Error, Reader, Writer};
use part_bytes::PartBytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest sleep when only the clock can make something due, and the pause after the disk was full.
const IDLE: Duration = Duration::from_secs(1);
/// How long namespaces wait between reports of what remains in them: no longer than the longest sleep, after which they
/// come.
const REPORT_PAUSE_SECONDS: i64 = 1;
/// After a panic the collectors count as sound once they come to rest, or after this many turns if they never
/// do.
const HEALTHY_TURNS: u64 = 1024;
/// The pause when too much was waiting to be written.
const OVERLOADED: Duration = Duration::from_millis(50);

/// What the collectors read, write and are told.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The log, for what the state does not tell.
    pub(crate) reader: Reader,
    pub(crate) feed: CollectorFeed,
    pub(crate) writer: Weak<Writer>,
    /// How long an event stays after its last write; for ever without one.
    pub(crate) event_ttl: Option<Duration>,
    pub(crate) clock: Clock,
}

/// The thread that runs the collectors; dropping this stops it.
#[derive(Debug)]
pub(crate) struct Collectors {
    stop: Option<Sender<()>>,
    /// Holds one message at most: to look at the clock.
    wake: Sender<()>,
    thread: Option<JoinHandle<()>>,
    health: Health,
}

impl Collectors {
    pub(crate) fn start(
        state: State,
        surroundings: Surroundings,
        turn: Turn,
    ) -> Result<Self, Error> {
        let (stop, stopped) = bounded(0);
        let (wake, woken) = bounded(1);
        let health = Health::default();
        let mut driver = Driver {
            collector: Collector::new(&state),
            state: Arc::new(state),
            surroundings,
            turn,
            stopped,
            woken,
            idle: IDLE,
            health: health.clone(),
            part_bytes: PartBytes::default(),
        };
        let thread = std::thread::Builder::new()
            .name("collectors".into())
            .spawn(move || driver.run_guarded())
            .map_err(Error::io("starting the collectors"))?;
        Ok(Self {
            stop: Some(stop),
            wake,
            thread: Some(thread),
            health,
        })
    }

    /// Has the collectors look at the clock now.
    pub(crate) fn wake(&self) {
        // Full: they have not looked since the last call.
        self.wake.try_send(()).ok();
    }

    /// Why nothing is collected at the moment, if so.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.health.complaint()
    }
}

impl Drop for Collectors {
    fn drop(&mut self) {
        self.stop = None;
        let thread = self.thread.take();
        // Its clock may hold the last clone of the plane, which then ends on this thread.
        if let Some(thread) = thread.filter(|one| one.thread().id() != std::thread::current().id())
        {
            thread.join().ok();
        }
    }
}

/// Makes the next batch: [`next_batch`], unless a test replaces it.
pub(crate) type Turn = fn(&mut Collector, &State, Time) -> Vec<Step>;

pub(crate) fn next_batch(collector: &mut Collector, state: &State, now: Time) -> Vec<Step> {
    collector.next_batch(state, now, BATCH_STEPS_MAX)
}

/// The outcome of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchOutcome {
    /// Something was written.
    Progress,
    /// Nothing changed.
    Idle,
    /// Some of it was refused before it was decided, and is submitted again after a pause.
    Refused(Refusal),
}

/// Why steps were refused before they were decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// Too much was waiting to be written.
    Overloaded,
    /// There was no room on the disk, or nothing is written any more.
    NoRoom,
}

impl Refusal {
    /// How long they wait until they are submitted again.
    const fn pause(self) -> Duration {
        match self {
            Self::Overloaded => OVERLOADED,
            Self::NoRoom => IDLE,
        }
    }
}

struct Driver {
    collector: Collector,
    state: Arc<State>,
    surroundings: Surroundings,
    turn: Turn,
    stopped: Receiver<()>,
    woken: Receiver<()>,
    idle: Duration,
    health: Health,
    part_bytes: PartBytes,
}

impl Driver {
    /// Runs the collectors, and begins anew after a panic. A panic is a defect, but a collector holds nothing
    /// of its own, and what it submitted was checked by `decide`: so it can begin anew from what is durable, as
    /// after a restart.
    fn run_guarded(&mut self) {
        let mut begin: fn(&mut Self) = Self::begin;
        loop {
            let life = || {
                begin(self);
                self.run();
            };
            if catch_unwind(AssertUnwindSafe(life)).is_ok() {
                return;
            }
            begin = Self::start_over;
            let pause = self.health.record_panic();
            tracing::error!(
                ?pause,
                "the collectors panicked and start over after a pause"
            );
            if self.sleep(pause).is_break() {
                return;
            }
        }
    }

    /// Collects until it is stopped.
    fn run(&mut self) {
        for turns in 1_u64.. {
            if is_stopped(&self.stopped) {
                return;
            }
            self.observe();
            let now = self.now();
            let steps = (self.turn)(&mut self.collector, &self.state, now);
            let outcome = self.submit_all(steps);
            if outcome == BatchOutcome::Idle || turns == HEALTHY_TURNS {
                self.health.mark_healthy();
            }
            let flow = match outcome {
                BatchOutcome::Progress => ControlFlow::Continue(()),
                BatchOutcome::Idle => self.wait(),
                BatchOutcome::Refused(refusal) => self.sleep(refusal.pause()),
            };
            if flow.is_break() {
                return;
            }
        }
    }

    /// Submits a batch: what advances deletions and the rest apart. Of steps on large objects only the first part
    /// is submitted, and the next if nothing of that was written, because there was no room on the disk or all of it
    /// was out of date: the rest comes again.
    fn submit_all(&mut self, steps: Vec<Step>) -> BatchOutcome {
        let Some(writer) = self.surroundings.writer.upgrade() else {
            return BatchOutcome::Idle;
        };
        let [advancing, others] = split_advancing(steps);
        let mut parts = in_parts(advancing, &self.state, self.part_bytes.get()).into_iter();
        let first = parts.next().map(|part| self.submit(&writer, part));
        let others = (!others.is_empty()).then(|| self.submit(&writer, others));
        let mut outcome = BatchOutcome::Idle;
        let mut part = first;
        while let Some(submitted) = part.take() {
            let of_part = self.settle_part(submitted);
            outcome = outcome.and(of_part);
            let no_room = BatchOutcome::Refused(Refusal::NoRoom);
            if of_part == no_room || of_part == BatchOutcome::Idle {
                part = parts.next().map(|part| self.submit(&writer, part));
            }
        }
        drop(writer);
        let rest: usize = parts.map(|part| part.len()).sum();
        self.collector.requeue(rest);
        self.part_bytes = self.part_bytes.after(outcome);
        others.map_or(outcome, |others| outcome.and(self.settle_part(others)))
    }

    fn settle_part(&mut self, part: SubmittedPart) -> BatchOutcome {
        let outcome = part.answers.recv().unwrap_or(Err(Unavailable::Stopping));
        self.settle(part.steps, &outcome)
    }

    /// Submits a part of a batch.
    fn submit(&self, writer: &Writer, steps: Vec<Step>) -> SubmittedPart {
        let commands: Vec<Command> = steps
            .into_iter()
            .map(|step| step.command(self.now(), effects::seed()))
            .collect();
        let steps = commands.len();
        let (sender, answers) = bounded(1);
        let reply = move |outcome: Submitted| drop(sender.send(outcome));
        writer.submit(commands, Box::new(reply));
        SubmittedPart { steps, answers }
    }

    fn now(&self) -> Time {
        self.surroundings.clock.now()
    }

    /// Tells the collector what became of the oldest unanswered steps, as many as these.
    fn settle(&mut self, steps: usize, outcome: &Submitted) -> BatchOutcome {
        let answers = match outcome {
            Ok(answers) => answers,
            Err(error) => {
                self.collector.postpone(steps);
                return BatchOutcome::Refused(match error {
                    Unavailable::Overloaded => Refusal::Overloaded,
                    Unavailable::Full | Unavailable::Poisoned(_) | Unavailable::Stopping => {
                        Refusal::NoRoom
                    }
                });
            }
        };
        self.collector
            .settle(answers.iter().map(|answer| answer.as_ref().map(|_| ())));
        answers
            .iter()
            .filter_map(|answer| answer.as_ref().err())
            .for_each(warn_of);
        let wrote = |answer: &Result<Decision, Rejection>| {
            answer
                .as_ref()
                .is_ok_and(|decision| !decision.commits.is_empty())
        };
        if answers.iter().any(wrote) {
            BatchOutcome::Progress
        } else {
            BatchOutcome::Idle
        }
    }

    /// Takes in everything that was published since it last looked. What the window does not hold any more is read
    /// from the log; if it is not there either, the collectors begin anew, as after a restart.
    fn observe(&mut self) {
        let published = self.surroundings.feed.published.load_full();
        let after = self.state.revision;
        if let Ok(changes) = published.window.after(after, usize::MAX) {
            for change in &changes {
                self.collector.observe(change);
            }
            self.state = Arc::clone(&published.state);
            return;
        }
        let state = Arc::clone(&published.state);
        drop(published);
        match self.catch_up(state) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(%after, "what the collectors have not seen was dropped from the log: they look at every object again");
                self.start_over();
            }
            Err(error) => {
                tracing::warn!(%error, %after, "cannot read the log: the collectors look at every object again");
                self.start_over();
            }
        }
    }

    /// Takes in the commits up to this state, unless one of them is not in the log any more (false). Ends early, with
    /// the state that it came to, when it is stopped.
    fn catch_up(&mut self, newest: Arc<State>) -> Result<bool, Error> {
        let mut state = State::clone(&self.state);
        let mut commits = self.surroundings.reader.scan(state.revision.next());
        while state.revision < newest.revision && !is_stopped(&self.stopped) {
            let next = state.revision.next();
            let commit = commits.next().transpose()?;
            let Some(commit) = commit.filter(|commit| commit.revision == next) else {
                return Ok(false);
            };
            let commit = Arc::new(commit);
            let previous = apply(&mut state, &commit);
            self.collector.observe(&Change { commit, previous });
        }
        let is_newest = state.revision == newest.revision;
        self.state = if is_newest { newest } else { Arc::new(state) };
        Ok(true)
    }

    /// Begins with the state that it was made of.
    fn begin(&mut self) {
        self.recall();
        let Some(ttl) = self.surroundings.event_ttl else {
            return;
        };
        let (written, now) = (self.read_when_written(), self.now());
        let written = |event: &Object| written.get(&event.revision).copied().unwrap_or(now);
        self.collector.set_event_ttl(&self.state, ttl, written);
    }

    /// Begins with the newest state. An event that was written since counts as written now, so that none goes too
    /// early.
    fn start_over(&mut self) {
        let state = Arc::clone(&self.surroundings.feed.published.load().state);
        let collector = Collector::new(&state);
        // Together, so that whoever panics above leaves both as they were.
        let known = std::mem::replace(&mut self.state, state).revision;
        let before = std::mem::replace(&mut self.collector, collector);
        self.recall();
        let Some(ttl) = self.surroundings.event_ttl else {
            return;
        };
        let now = self.now();
        let written = |event: &Object| {
            let before = before.event_written(&event.key);
            before.filter(|_| event.revision <= known).unwrap_or(now)
        };
        self.collector.set_event_ttl(&self.state, ttl, written);
    }

    /// When each event was last written, by its revision. Reads the log back as far as to the oldest event; what
    /// cannot be read is missing. Ends early when it is stopped.
    fn read_when_written(&self) -> BTreeMap<Revision, Time> {
        let events = GroupResource::new("", "events");
        let live = self.state.list(&events, None);
        let live = live.filter(|event| !event.is_deleting());
        let mut unread: BTreeSet<Revision> = live.map(|event| event.revision).collect();
        let mut written = BTreeMap::new();
        let mut back = self.surroundings.reader.scan_back(self.state.revision);
        while !unread.is_empty() && !is_stopped(&self.stopped) {
            match back.next() {
                Some(Ok(commit)) if unread.remove(&commit.revision) => {
                    written.insert(commit.revision, commit.time);
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::warn!(%error, "cannot read the log back; old events count as written now");
                    break;
                }
                None => break,
            }
        }
        written
    }

    /// Prepares a new collector: reads back the commits that made removals necessary. If the log cannot be read,
    /// removals will not name that commit. Ends early when it is stopped, since no removals follow then.
    fn recall(&mut self) {
        self.collector.set_report_pause(REPORT_PAUSE_SECONDS);
        let stopped = &self.stopped;
        let back = self.surroundings.reader.scan_back(self.state.revision);
        let back = back.take_while(|_| !is_stopped(stopped));
        if let Err(error) = self.collector.recall(back) {
            tracing::warn!(%error, "cannot read the log back; removals made now may not name their cause");
        }
    }

    /// Waits until a change or the clock may have made something due; breaks at the end.
    fn wait(&mut self) -> ControlFlow<()> {
        select! {
            recv(self.surroundings.feed.notified) -> notified => {
                notified.map_or(ControlFlow::Break(()), ControlFlow::Continue)
            }
            recv(self.stopped) -> _ => ControlFlow::Break(()),
            recv(self.woken) -> _ => ControlFlow::Continue(()),
            default(self.idle) => ControlFlow::Continue(()),
        }
    }

    /// Sleeps, whatever changes meanwhile; breaks at the end.
    fn sleep(&self, pause: Duration) -> ControlFlow<()> {
        match self.stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Disconnected) => ControlFlow::Break(()),
            Ok(()) | Err(RecvTimeoutError::Timeout) => ControlFlow::Continue(()),
        }
    }
}

impl BatchOutcome {
    /// The outcome of two parts: if either wrote something the next turn follows at once, and what was refused
    /// is in its batch again.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Progress, _) | (_, Self::Progress) => Self::Progress,
            (Self::Refused(refusal), _) | (_, Self::Refused(refusal)) => Self::Refused(refusal),
            (Self::Idle, Self::Idle) => Self::Idle,
        }
    }
}

/// Warns of a step that was refused, which is not submitted again until something changes. An object that is
/// out of date, gone or in a terminating namespace is usual while others write; anything else is a defect, or
/// what an earlier release stored.
fn warn_of(rejection: &Rejection) {
    let is_usual = matches!(
        rejection.plain(),
        Rejection::Stale { .. }
            | Rejection::Conflict { .. }
            | Rejection::NotFound { .. }
            | Rejection::AlreadyExists { .. }
            | Rejection::Forbidden { .. }
    );
    if !is_usual {
        tracing::warn!(%rejection, "a step of the collectors was rejected; its object stays until it changes");
    }
}

/// A part of a batch that was submitted.
struct SubmittedPart {
    /// How many steps it has.
    steps: usize,
    /// Where their answers arrive.
    answers: Receiver<Submitted>,
}

fn is_stopped(stopped: &Receiver<()>) -> bool {
    matches!(
        stopped.try_recv(),
        Err(crossbeam_channel::TryRecvError::Disconnected)
    )
}
