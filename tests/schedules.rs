//! Runs schedules of the simulator for as long as wanted: `cargo schedules`. Prints how many are
//! done, and how many per second, and at the end what happened in them; a stopped run continues where it
//! was. See `simulator.rs`.

use hindsight_tests::schedules::{Lengths, Sum};
use hindsight_tests::seeds::Run;
use std::process::ExitCode;

/// Otherwise a third of the time is spent allocating memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Schedules between two lines of the report.
const PART: u64 = 10_000;
/// Enough for some days.
const COUNT: u64 = 1_000_000_000;

#[expect(clippy::print_stdout, reason = "tells what was tried")]
fn main() -> ExitCode {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_SCHEDULES", COUNT);
    let sum = Sum::default();
    let code = run.as_program("schedules", PART, &|seed| sum.check(lengths.of(seed)));
    for (what, times) in sum.into_counts() {
        println!("{times:>10} {what}");
    }
    code
}
