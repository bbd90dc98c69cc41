//! A control plane in this process whose collector is driven by hand, so that a test can look at
//! every point between a request and its consequences.

use crate::http::Client;
use crate::world::tell;
use hindsight::{Config, ControlPlane};
use hindsight_core::{Actor, Change, Command, Decision, Rejection, Revision, State, Time, decide};
use hindsight_gc::{Collector, Step};
use std::sync::Arc;

/// Turns of the collector after which it should have come to rest.
const TURNS_MAX: usize = 10_000;

/// The control plane, its client and its collector.
#[derive(Debug)]
pub struct Stage {
    /// Sends requests.
    pub client: Client,
    /// Every change so far.
    pub changes: Vec<Arc<Change>>,
    plane: ControlPlane,
    collector: Collector,
    /// Steps of the collector that are not decided yet.
    planned: Vec<Step>,
    seen: Revision,
    actor: Arc<Actor>,
    seconds_ahead: i64,
    directory: tempfile::TempDir,
}

impl Stage {
    /// Opens a control plane, in memory or, so that it can be restarted, on disk.
    pub fn new(on_disk: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data_dir = on_disk.then(|| directory.path().join("data"));
        let plane = open(data_dir);
        let actor = Actor::new("collector");
        Self {
            client: Client::new(&plane),
            changes: Vec::new(),
            collector: Collector::new(&plane.empty_state()),
            planned: Vec::new(),
            seen: Revision::ZERO,
            plane,
            actor: Arc::new(actor),
            seconds_ahead: 0,
            directory,
        }
    }

    /// The newest state.
    pub fn state(&self) -> Arc<State> {
        self.plane.state()
    }

    /// A backup of the log.
    pub fn backup(&self) -> Vec<u8> {
        let mut file = Vec::new();
        let made = self.plane.reader().backup(self.now(), &mut file, |_, _| {});
        made.expect("made");
        file
    }

    /// Closes everything and opens it again from the log.
    pub fn restart(&mut self) {
        let data = self.directory.path().join("data");
        assert!(data.exists(), "it must have been opened on a disk");
        self.observe();
        let nowhere = ControlPlane::open(config(None)).expect("opened");
        self.client = Client::new(&nowhere);
        self.plane = nowhere;
        self.plane = open(Some(data));
        self.client = Client::new(&self.plane);
        self.collector = self.begun(&self.state());
        self.planned.clear();
    }

    /// Collects until nothing is due, `limit` steps at a time. The clock is moved forward by
    /// `seconds` first.
    pub fn settle(&mut self, seconds: i64, limit: usize) {
        self.seconds_ahead += seconds;
        let rests = (0..TURNS_MAX).any(|_| !self.turn(limit));
        assert!(rests, "the collector does not come to rest");
        self.begins_at_rest(limit);
    }

    /// A collector that starts from this state, as after a restart.
    fn begun(&self, state: &State) -> Collector {
        let mut collector = Collector::new(state);
        let back = self.plane.reader().scan_back(state.revision);
        collector.recall(back).expect("it reads");
        collector
    }

    /// Checks that a collector that starts now has nothing to add: a restart at rest writes nothing.
    fn begins_at_rest(&self, limit: usize) {
        let state = self.state();
        let mut collector = self.begun(&state);
        for _ in 0..TURNS_MAX {
            let batch = collector.next_batch(&state, self.now(), limit);
            if batch.is_empty() {
                return;
            }
            let answers = batch.into_iter().map(|step| {
                let command = self.command(step);
                let told = format!("{:?}", command.intent);
                let answer = decide(&state, command);
                let adds = answer.as_ref().is_ok_and(|one| !one.commits.is_empty());
                assert!(!adds, "after a restart it would {told}");
                answer.map(drop)
            });
            let answers: Vec<_> = answers.collect();
            collector.settle(answers.iter().map(|answer| answer.as_ref().copied()));
        }
        panic!("a new collector does not come to rest");
    }

    /// Plans one batch of the collector, to be decided at its next turn, whatever happens before that.
    pub fn plan(&mut self, limit: usize) {
        if self.planned.is_empty() {
            self.observe();
            let now = self.now();
            self.planned = self.collector.next_batch(&self.state(), now, limit);
        }
    }

    /// Runs one batch of the collector; false if nothing is due.
    pub fn turn(&mut self, limit: usize) -> bool {
        self.plan(limit);
        let batch = std::mem::take(&mut self.planned);
        if batch.is_empty() {
            return false;
        }
        let answers = self.submit(batch.into_iter());
        let answers = answers.iter().map(|answer| answer.as_ref().map(|_| ()));
        self.collector.settle(answers);
        true
    }

    /// What happened, one line per commit.
    pub fn history(&mut self) -> String {
        self.observe();
        tell(&self.changes)
    }

    /// Lets the collector observe what has changed since the last call.
    pub fn observe(&mut self) {
        let new = self.plane.changes_after(self.seen, usize::MAX);
        for change in new.expect("a window that reaches back") {
            self.collector.observe(&change);
            self.seen = change.commit.revision;
            self.changes.push(change);
        }
    }

    fn now(&self) -> Time {
        self.plane.now().plus_seconds(self.seconds_ahead)
    }

    fn submit(&self, steps: impl Iterator<Item = Step>) -> Vec<Result<Decision, Rejection>> {
        let commands = steps.map(|step| self.command(step));
        let commands = commands.collect();
        let answers = self.plane.submit_blocking(commands);
        answers.expect("a writer that takes commands")
    }

    fn command(&self, step: Step) -> Command {
        let (actor, seed) = (Arc::clone(&self.actor), self.plane.seed());
        Command {
            cause: step.cause,
            manager: Some(step.by.field_manager().into()),
            ..Command::new(actor, self.now(), seed, step.intent)
        }
    }
}

fn open(data_dir: Option<std::path::PathBuf>) -> ControlPlane {
    ControlPlane::open(config(data_dir)).expect("opened")
}

fn config(data_dir: Option<std::path::PathBuf>) -> Config {
    Config {
        data_dir,
        collectors: false,
        ..Config::default()
    }
}
