//! The control plane in one thread, with every chance taken from one seed: clients, the writer, the
//! projections, the collector, watches and a clock over a disk that fails. The same seed gives the
//! same trace. See `docs/decisions/0009-simulator.md`.

pub mod check;
pub mod clients;
pub mod collecting;
pub mod damage;
pub mod disk;
pub mod faults;
pub mod history;
pub mod keeping;
pub mod life;
pub mod options;
pub mod rest;
pub mod schedule;
pub mod server;
pub mod trace;
pub mod watchers;
pub mod workload;

pub use check::Violation;
pub use options::{Bug, Faults, Options};
pub use trace::Trace;

use crate::dice::Dice;
use check::Checked;
use clients::Clients;
use collecting::Collecting;
use disk::Disk;
use hindsight_log::Base;
use history::History;
use server::Server;
use std::sync::Arc;
use watchers::{Selection, Watcher};

/// Lines of the trace that a failure shows.
const TRACE_SHOWN: usize = 60;

/// One schedule under way.
#[derive(Debug)]
pub struct Simulation {
    options: Options,
    dice: Dice,
    /// Microseconds. Nothing but commands sees it.
    clock: i64,
    disk: Arc<Disk>,
    running: Option<Running>,
    history: History,
    clients: Clients,
    watchers: Vec<Watcher>,
    trace: Trace,
    /// Syncs that do not come yet.
    slow: u64,
    /// Ends of the log that were written down, oldest first.
    snapshots: Vec<Base>,
}

/// What lives as long as the process.
#[derive(Debug)]
struct Running {
    server: Server,
    collecting: Collecting,
    /// What a reader saw some time ago.
    stale: hindsight_core::State,
    poisoned: bool,
    /// Writes that the disk refused before this life.
    refused: u64,
}

/// A schedule that went wrong.
#[derive(Debug)]
pub struct Failure {
    /// The schedule.
    pub options: Options,
    /// What is wrong.
    pub violation: Violation,
    /// What happened.
    pub trace: Trace,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Violation { checker, what } = &self.violation;
        let Options { seed, steps, .. } = self.options;
        writeln!(f, "{}\n{:#?}", self.trace.tail(TRACE_SHOWN), self.options)?;
        writeln!(f, "seed {seed}: {checker}: {what}\nto repeat it:")?;
        write!(
            f,
            "HINDSIGHT_SEED={seed} HINDSIGHT_STEPS={steps} HINDSIGHT_SCHEDULES=1 \
             cargo test -p hindsight-tests --test simulator schedules"
        )
    }
}

/// Runs one schedule to its end.
pub fn run(options: Options) -> Result<Trace, Box<Failure>> {
    let mut simulation = Simulation::new(options);
    match simulation.play() {
        Ok(()) => Ok(simulation.trace),
        Err(violation) => Err(Box::new(Failure {
            options,
            violation,
            trace: simulation.trace,
        })),
    }
}

impl Simulation {
    fn new(options: Options) -> Self {
        let mut dice = Dice(options.seed);
        let disk = Disk::new(Dice(dice.roll(u64::MAX)), options.has(Bug::SyncDoesNothing));
        let watcher = |_| {
            let mut watcher = Watcher::new(Selection::any(&mut dice));
            watcher.loses = options.has(Bug::WatchLoses).then_some(7);
            watcher.repeats = options.has(Bug::WatchRepeats).then_some(7);
            watcher
        };
        let watchers = (0..options.watchers).map(watcher).collect();
        Self {
            options,
            dice,
            clock: 1_700_000_000_000_000,
            disk: Arc::new(disk),
            running: None,
            history: History::new(options.has(Bug::ApplyForgets)),
            clients: Clients::default(),
            watchers,
            trace: Trace::default(),
            slow: 0,
            snapshots: Vec::new(),
        }
    }

    fn play(&mut self) -> Checked {
        self.start()?;
        self.first_requests()?;
        for _ in 0..self.options.steps {
            self.step()?;
        }
        self.come_to_rest()?;
        check::after_all(self)
    }
}
