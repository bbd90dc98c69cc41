//! Runs schedules of the simulator for as long as wanted: `cargo schedules`. Prints how many are
//! done, and how many per second; a stopped run continues where it was. See `simulator.rs`.

use hindsight_tests::schedules::{Lengths, check};
use hindsight_tests::seeds::Run;
use std::process::ExitCode;

/// Otherwise a third of the time is spent allocating memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Schedules between two lines of the report.
const PART: u64 = 10_000;
/// Enough for some days.
const COUNT: u64 = 1_000_000_000;

fn main() -> ExitCode {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_SCHEDULES", COUNT);
    run.as_program("schedules", PART, &|seed| check(lengths.of(seed)).map(drop))
}
