//! Runs many schedules of the simulator and shrinks each failure.

use crate::dice::number;
use crate::seeds::{Failure, write};
use crate::sim::{self, Options, Trace, smallest};
use std::collections::BTreeMap;

/// Steps of most schedules.
const STEPS: u64 = 50;
/// One in this many schedules is long.
const LONG_EVERY: u64 = 100;
/// Steps of a long schedule.
const LONG_STEPS: u64 = 1000;

/// How often each kind of event happened.
pub type Counts = BTreeMap<&'static str, u64>;

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
pub fn check(options: Options) -> Result<Counts, Failure> {
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
