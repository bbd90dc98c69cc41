//! Runs many schedules of the simulator and shrinks each failure.

use crate::dice::number;
use crate::seeds::{Failure, write};
use crate::sim::{self, Options, Trace, smallest};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Steps of most schedules.
const STEPS: u64 = 50;
/// One in this many schedules is long.
const LONG_EVERY: u64 = 100;
/// Steps of a long schedule.
const LONG_STEPS: u64 = 1000;

/// How often each kind of event happened.
pub type Counts = BTreeMap<&'static str, u64>;

/// How often each kind of event happened in all schedules.
#[derive(Debug, Default)]
pub struct Sum(Mutex<Counts>);

impl Sum {
    /// Runs a schedule and adds what happened in it.
    pub fn check(&self, options: Options) -> Result<(), Failure> {
        let counts = check(options)?;
        let mut sum = self.0.lock().expect("no panic");
        for (kind, times) in counts {
            *sum.entry(kind).or_default() += times;
        }
        Ok(())
    }

    /// What happened so far.
    pub fn into_counts(self) -> Counts {
        self.0.into_inner().expect("no panic")
    }
}

/// How many steps schedules have.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    steps: u64,
    long_every: u64,
}

impl Lengths {
    /// The default, unless the environment overrides it.
    pub fn from_environment() -> Self {
        Self {
            steps: number("HINDSIGHT_STEPS", STEPS),
            long_every: number("HINDSIGHT_LONG_EVERY", LONG_EVERY).max(1),
        }
    }

    /// The schedule of this seed.
    pub fn of(self, seed: u64) -> Options {
        let steps = if seed.is_multiple_of(self.long_every) {
            self.steps.max(LONG_STEPS)
        } else {
            self.steps
        };
        Options::of(seed, steps)
    }
}

/// Runs a schedule; returns how often each kind of event happened, or the shrunk failure.
fn check(options: Options) -> Result<Counts, Failure> {
    match sim::run(options) {
        Ok(Trace { counts, .. }) => Ok(counts),
        Err(failure) => {
            let scenario = smallest(&failure).script();
            Err(Failure {
                seed: options.seed,
                why: failure.to_string(),
                path: write(options.seed, &scenario, "schedule"),
                scenario,
            })
        }
    }
}
