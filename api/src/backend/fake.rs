//! An engine that does nothing by itself, for tests of the surface alone. What is submitted is
//! decided and applied.

use super::{AsOf, AsOfError, Backend, Seat, StateAt};
use futures_util::future::BoxFuture;
use hindsight_core::{
    Actor, Cause, Change, Check, Command, Commit, Decision, Event, Expired, Object, Rejection,
    Request, Revision, State, Submitted, Time, Unavailable, apply, decide,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

/// The output of a future, and how often other tasks had their turn meanwhile.
pub(crate) async fn beside<T>(asks: impl Future<Output = T>) -> (T, u32) {
    let over = Cell::new(false);
    let asks = async {
        let answer = asks.await;
        over.set(true);
        answer
    };
    let others = async {
        let mut turns = 0;
        while !over.get() {
            turns += 1;
            tokio::task::yield_now().await;
        }
        turns
    };
    tokio::join!(asks, others)
}

/// How many of these objects are referenced elsewhere too.
pub(crate) fn held_elsewhere(objects: &[Arc<Object>]) -> usize {
    let held = objects.iter().filter(|one| Arc::strong_count(one) > 1);
    held.count()
}

/// A state that moves when the test says so.
pub(crate) struct Fake {
    state: Mutex<State>,
    /// What others write just before the next submission.
    pub(crate) meanwhile: Mutex<Vec<Command>>,
    /// How many commands came in each submission.
    pub(crate) submitted: Mutex<Vec<usize>>,
    /// What was recorded of the request of each command.
    pub(crate) requests: Mutex<Vec<Arc<Request>>>,
    /// After so many submissions the next ones are refused.
    pub(crate) refused_after: Mutex<Option<(usize, Unavailable)>>,
    /// The next submission is answered only once this has been sent.
    pub(crate) slow: Mutex<Option<oneshot::Receiver<()>>>,
    /// The revisions of the states that were kept for pages.
    pub(crate) kept: Mutex<Vec<Revision>>,
    /// The seat for the next read of the past.
    pub(crate) seat: Mutex<Option<Seat>>,
    /// How long a read of the log or the past takes.
    pub(crate) reading: Mutex<Duration>,
    /// The wall clock.
    pub(crate) clock: Mutex<Time>,
    /// The revision at which a backup was restored.
    pub(crate) restored: Mutex<Revision>,
    /// How many bytes were read from the log at each time.
    pub(crate) held: Mutex<Vec<usize>>,
    /// A part of the server, and what is wrong with it.
    pub(crate) failed: Mutex<Option<(&'static str, &'static str)>>,
    /// What was put before the window. Watches find it in the log alone, and stay there while the window is empty.
    log: Mutex<Vec<Arc<Commit>>>,
    /// Whether what is in the log is put into the window once a watch asks for it.
    pub(crate) reads_back: AtomicBool,
    /// Whoever asks for it waits while others hold this.
    pub(crate) reading_back: tokio::sync::Mutex<()>,
    /// What happens as soon as a watch has looked and found nothing new.
    pub(crate) once_looked: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// The changes that watches are shown.
    window: Mutex<Vec<Arc<Change>>>,
    moved: watch::Sender<Revision>,
    /// How many seeds were given out.
    seeds: AtomicU64,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State::new(crate::builtin_kinds()));
        let moved = watch::Sender::new(Revision(0));
        Self {
            state,
            meanwhile: Mutex::default(),
            submitted: Mutex::default(),
            refused_after: Mutex::default(),
            requests: Mutex::default(),
            slow: Mutex::default(),
            kept: Mutex::default(),
            seat: Mutex::default(),
            reading: Mutex::default(),
            clock: Mutex::new(Time(0)),
            restored: Mutex::new(Revision::ZERO),
            held: Mutex::default(),
            failed: Mutex::default(),
            log: Mutex::default(),
            reads_back: AtomicBool::new(false),
            reading_back: tokio::sync::Mutex::default(),
            once_looked: Mutex::default(),
            window: Mutex::default(),
            moved,
            seeds: AtomicU64::new(1),
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

    /// Changes the state without notifying watches.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("a lock"));
    }

    /// Puts an object that somebody made.
    pub(crate) fn put(&self, object: &Arc<Object>) -> Arc<Commit> {
        let commit = Arc::new(Commit {
            revision: object.revision,
            time: Time(1),
            actor: Arc::new(Actor::new("admin")),
            request: Arc::default(),
            cause: Cause::Request,
            key: object.key.clone(),
            uid: object.meta.uid.clone(),
            events: vec![Event::ObjectCreated {
                object: Arc::clone(object),
            }],
        });
        self.change(|state| drop(apply(state, &commit)));
        commit
    }

    /// Puts an object while watches look on.
    pub(crate) fn happens(&self, object: &Arc<Object>) {
        let state = self.state();
        let previous = state.get(&object.key).map(Arc::clone);
        let commit = self.put(object);
        let change = Arc::new(Change { commit, previous });
        self.window.lock().expect("a lock").push(change);
        self.moved.send_replace(object.revision);
    }

    /// Puts an object that is older than the window.
    pub(crate) fn put_before_the_window(&self, object: &Arc<Object>) {
        let commit = self.put(object);
        self.log.lock().expect("a lock").push(commit);
    }

    /// Leaves in the log alone what has happened.
    pub(crate) fn empty_the_window(&self) {
        let mut window = self.window.lock().expect("a lock");
        let left = window.drain(..).map(|change| Arc::clone(&change.commit));
        self.log.lock().expect("a lock").extend(left);
    }

    fn folded(&self, until: Revision) -> Option<State> {
        let log = self.log.lock().expect("a lock");
        let mut state = State::new(crate::builtin_kinds());
        for commit in log.iter().filter(|commit| commit.revision <= until) {
            drop(apply(&mut state, commit));
        }
        (!log.is_empty()).then_some(state)
    }

    /// How many receivers are notified when the state moves.
    pub(crate) fn receivers(&self) -> usize {
        self.moved.receiver_count()
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

    fn checks(&self) -> Vec<Check> {
        let failed = self.failed.lock().expect("a lock");
        let failure = |name| failed.filter(|(one, _)| *one == name);
        let check = |name| Check {
            name,
            failure: failure(name).map(|(_, why)| why.into()),
        };
        ["log", "writes", "collectors"].map(check).into()
    }

    fn restored(&self) -> Revision {
        *self.restored.lock().expect("a lock")
    }

    fn changed(&self) -> watch::Receiver<Revision> {
        self.moved.subscribe()
    }

    fn changes_after(&self, asked: Revision, _: usize) -> Result<Vec<Arc<Change>>, Expired> {
        let window = self.window.lock().expect("a lock");
        if let Some(last) = self.log.lock().expect("a lock").last()
            && (asked < last.revision || window.is_empty())
        {
            let oldest = last.revision;
            return Err(Expired { asked, oldest });
        }
        let after = window.iter().filter(|one| one.commit.revision > asked);
        let found: Vec<_> = after.map(Arc::clone).collect();
        drop(window);
        if found.is_empty() {
            let happens = self.once_looked.lock().expect("a lock").take();
            happens.into_iter().for_each(|happens| happens());
        }
        Ok(found)
    }

    fn reach_back(&self, _: Revision) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let _turn = self.reading_back.lock().await;
            let reads_back = self.reads_back.load(Ordering::Relaxed);
            if reads_back {
                let log = std::mem::take(&mut *self.log.lock().expect("a lock"));
                // Objects of the log are new ones.
                let created = log.into_iter().map(|commit| {
                    let previous = None;
                    Arc::new(Change { commit, previous })
                });
                self.window.lock().expect("a lock").extend(created);
            }
            reads_back
        })
    }

    fn commits_after(
        &self,
        revision: Revision,
        limit: usize,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Arc<Commit>>, AsOfError>> {
        let log = self.log.lock().expect("a lock");
        let after = log.iter().filter(|commit| commit.revision > revision);
        let (mut commits, mut held) = (Vec::new(), 0);
        for commit in after.take(limit) {
            if held >= bytes {
                break;
            }
            held += commit.estimated_bytes();
            commits.push(Arc::clone(commit));
        }
        self.held.lock().expect("a lock").push(held);
        let reading = *self.reading.lock().expect("a lock");
        Box::pin(async move {
            sleep(reading).await;
            Ok(commits)
        })
    }

    fn as_of(&self, point: AsOf) -> BoxFuture<'_, Result<StateAt, AsOfError>> {
        let folded = match point {
            AsOf::Revision(revision) => self.folded(revision),
            AsOf::Time(_) => None,
        };
        let state = folded.map_or_else(|| self.state(), Arc::new);
        let seat = self.seat.lock().expect("a lock").take();
        let reading = *self.reading.lock().expect("a lock");
        Box::pin(async move {
            sleep(reading).await;
            let lost = None;
            Ok(StateAt { state, seat, lost })
        })
    }

    fn time_of(&self, revision: Revision) -> BoxFuture<'_, Option<Time>> {
        let log = self.log.lock().expect("a lock");
        let mut until = log.iter().filter(|commit| commit.revision <= revision);
        let time = until.next_back().map(|commit| commit.time);
        Box::pin(async move { time })
    }

    fn keep(&self, state: Arc<State>) {
        self.kept.lock().expect("a lock").push(state.revision);
    }

    fn submit(&self, commands: Vec<Command>) -> BoxFuture<'_, Submitted> {
        for command in std::mem::take(&mut *self.meanwhile.lock().expect("a lock")) {
            self.carry_out(command).expect("accepted");
        }
        let mut submitted = self.submitted.lock().expect("a lock");
        let refused = self.refused_after.lock().expect("a lock").clone();
        if let Some((_, why)) = refused.filter(|(most, _)| submitted.len() >= *most) {
            return Box::pin(async { Err(why) });
        }
        submitted.push(commands.len());
        drop(submitted);
        let requests = commands.iter().map(|command| Arc::clone(&command.request));
        self.requests.lock().expect("a lock").extend(requests);
        let commands = commands.into_iter();
        let answers = commands.map(|command| self.carry_out(command)).collect();
        let slow = self.slow.lock().expect("a lock").take();
        Box::pin(async {
            if let Some(slow) = slow {
                slow.await.ok();
            }
            Ok(answers)
        })
    }

    fn now(&self) -> Time {
        *self.clock.lock().expect("a lock")
    }

    fn seed(&self) -> [u8; 16] {
        let mut seed = [0; 16];
        let next = self.seeds.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        seed.iter_mut()
            .zip(next)
            .for_each(|(byte, next)| *byte = next);
        seed
    }
}
