//! Deterministic simulation: the control plane in one thread, with every random choice derived from
//! one seed. Clients, the writer, the projections, the collector, watches and a clock run over a disk
//! that fails. The same seed gives the same trace. See `docs/decisions/0009-simulator.md`.

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
pub mod restoring;
pub mod schedule;
pub mod script;
pub mod server;
pub mod shrinking;
pub mod steps;
pub mod trace;
pub mod watchers;
pub mod workload;

pub use check::Violation;
pub use options::{Bug, Faults, Options};
pub use script::Schedule;
pub use shrinking::smallest;
pub use steps::{Act, Step};
pub use trace::Trace;

use crate::dice::Dice;
use check::{Checked, violation};
use clients::Clients;
use collecting::Collecting;
use disk::Disk;
use hindsight_log::Base;
use history::History;
use rayon::ThreadPoolBuilder;
use restoring::Backup;
use server::Server;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use watchers::{Selection, Watcher};

/// Lines of the trace that a failure shows.
const TRACE_SHOWN: usize = 60;

/// One schedule under way.
#[derive(Debug)]
pub struct Simulation {
    options: Options,
    /// Chooses the steps.
    chooser: Dice,
    /// Makes every other choice within a step.
    dice: Dice,
    /// Every step so far.
    taken: Vec<Step>,
    /// The simulated time in microseconds; only commands carry it.
    clock: i64,
    disk: Arc<Disk>,
    running: Option<Running>,
    history: History,
    clients: Clients,
    watchers: Vec<Watcher>,
    trace: Trace,
    /// How many of the next syncs are delayed: each of them does nothing.
    slow: u64,
    /// How many of the next submissions are turned away.
    overloaded: u64,
    /// Snapshots of the log's end, oldest first.
    snapshots: Vec<Base>,
    /// The last backup.
    backup: Option<Backup>,
}

/// State that lives as long as the simulated process.
#[derive(Debug)]
struct Running {
    server: Server,
    collecting: Collecting,
    /// The state before the last one that was published; `Bug::StaleRead` answers from it.
    stale: hindsight_core::State,
    poisoned: bool,
    /// Writes that the disk had refused when this process started.
    refused: u64,
}

/// A schedule that broke a promise.
#[derive(Debug)]
pub struct Failure {
    /// The schedule that was played.
    pub schedule: Schedule,
    /// The promise that it broke.
    pub violation: Violation,
    /// What happened until then.
    pub trace: Trace,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Violation { checker, what } = &self.violation;
        let Options { seed, steps, .. } = self.schedule.options;
        writeln!(f, "{}", self.trace.tail(TRACE_SHOWN))?;
        writeln!(f, "seed {seed}: {checker}: {what}\nto repeat it:")?;
        write!(
            f,
            "HINDSIGHT_SEED={seed} HINDSIGHT_STEPS={steps} HINDSIGHT_SCHEDULES=1 \
             cargo test -p hindsight-tests --test simulator schedules"
        )
    }
}

/// Runs the schedule of a seed to its end. If it fails it is run again with its trace written down.
pub fn run(options: Options) -> Result<Trace, Box<Failure>> {
    let with_trace = |failure: Box<Failure>| {
        let again = play(options, None, true);
        again.err().unwrap_or(failure)
    };
    play(options, None, false).map_err(with_trace)
}

/// Runs the schedule of a seed to its end and writes its trace down.
pub fn run_verbose(options: Options) -> Result<Trace, Box<Failure>> {
    play(options, None, true)
}

/// Runs a schedule whose steps are given; with `is_verbose` its trace is written down.
pub fn replay(schedule: &Schedule, is_verbose: bool) -> Result<Trace, Box<Failure>> {
    play(schedule.options, Some(&schedule.steps), is_verbose)
}

fn play(options: Options, steps: Option<&[Step]>, is_verbose: bool) -> Result<Trace, Box<Failure>> {
    alone();
    let mut simulation = Simulation::new(options);
    simulation.trace.is_verbose = is_verbose;
    let played = catch_unwind(AssertUnwindSafe(|| simulation.play(steps)));
    let played = played.unwrap_or_else(|_| Err(violation("nothing panics", "a panic".into())));
    match played {
        Ok(()) => Ok(simulation.trace),
        Err(violation) => Err(Box::new(Failure {
            schedule: Schedule {
                options,
                steps: simulation.taken,
            },
            violation,
            trace: simulation.trace,
        })),
    }
}

/// Makes this thread the only one of its rayon pool: frames are decoded by all threads of a pool.
fn alone() {
    thread_local! {
        static IS_ALONE: () = {
            let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            // Leaked, because dropping the pool at the end of the thread would make the thread wait
            // for itself.
            std::mem::forget(pool.build().expect("a pool of one thread"));
        };
    }
    IS_ALONE.with(|()| ());
}

impl Simulation {
    fn new(options: Options) -> Self {
        let mut dice = Dice(options.seed);
        let disk = Disk::new(Dice(dice.roll(u64::MAX)), options.has(Bug::SyncDoesNothing));
        disk.inner().ignores_notes = options.has(Bug::NoteLags);
        let watcher = |_| {
            let mut watcher = Watcher::new(Selection::any(&mut dice));
            watcher.loses_one_in = options.has(Bug::WatchLoses).then_some(7);
            watcher.repeats_one_in = options.has(Bug::WatchRepeats).then_some(7);
            watcher.shows_older = options.has(Bug::WatchShowsOlder);
            watcher.resumes_across_restores = options.has(Bug::WatchResumes);
            watcher
        };
        let watchers = (0..options.watchers).map(watcher).collect();
        let mut history = History::new(options.has(Bug::ApplyForgets));
        history.kept_kinds = options.kept_kinds();
        Self {
            options,
            chooser: Dice(dice.roll(u64::MAX)),
            dice,
            taken: Vec::new(),
            clock: 1_700_000_000_000_000,
            disk: Arc::new(disk),
            running: None,
            history,
            clients: Clients::default(),
            watchers,
            trace: Trace::default(),
            slow: 0,
            overloaded: 0,
            snapshots: Vec::new(),
            backup: None,
        }
    }

    fn play(&mut self, steps: Option<&[Step]>) -> Checked {
        self.reseed_apart();
        self.start()?;
        self.first_requests()?;
        match steps {
            Some(steps) => steps
                .iter()
                .try_for_each(|step| self.note_and_take(*step))?,
            None => self.choose_all()?,
        }
        self.reseed_apart();
        self.come_to_rest()?;
        check::after_all(self)
    }

    fn choose_all(&mut self) -> Checked {
        for _ in 0..self.options.steps {
            let step = self.choose();
            self.note_and_take(step)?;
        }
        Ok(())
    }

    fn note_and_take(&mut self, step: Step) -> Checked {
        self.taken.push(step);
        self.take(step)
    }
}
