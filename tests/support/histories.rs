//! Runs many random histories and shrinks each failure.

use crate::author::{LONG, Length, SHORT, limit, live_through};
use crate::dice::number;
use crate::history::{Comparison, smallest};
use crate::reference::World as Naive;
use crate::seeds::{Failure, write};

/// One in this many histories is long.
const LONG_EVERY: u64 = 200;

/// Which histories are long.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    long_every: u64,
}

impl Lengths {
    /// The default, unless the environment overrides it.
    pub fn from_environment() -> Self {
        Self {
            long_every: number("HINDSIGHT_LONG_EVERY", LONG_EVERY).max(1),
        }
    }

    /// The length of the history of this seed.
    pub fn of(self, seed: u64) -> Length {
        if seed.is_multiple_of(self.long_every) {
            LONG
        } else {
            SHORT
        }
    }
}

/// Checks that the history of a seed ends as the naive evaluator says; a failure is shrunk.
pub fn check(seed: u64, length: Length) -> Result<(), Failure> {
    let limit = limit(seed);
    let (history, failed) = {
        let mut comparison = Comparison::new(limit, Naive::visible);
        live_through(seed, length, &mut comparison, |_| {})
    };
    let Some(why) = failed else { return Ok(()) };
    let scenario = smallest(history, limit, Naive::visible).scenario;
    let path = write(seed, &scenario, "scenario");
    Err(Failure {
        seed,
        why,
        scenario,
        path,
    })
}
