//! Schedules of the simulator for as long as one likes: `cargo schedules`. Prints how many it has
//! seen and how many a second; a run that was stopped goes on where it was. See `simulator.rs`.

use hindsight_tests::schedules::{Lengths, check};
use hindsight_tests::seeds::Run;
use std::process::ExitCode;

/// A third of the time is memory otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Schedules between two lines of the report.
const PART: u64 = 10_000;
/// Some days.
const COUNT: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_SCHEDULES", COUNT);
    run.as_program("schedules", PART, &|seed| check(lengths.of(seed)).map(drop))
}
