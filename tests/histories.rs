//! Runs a million random histories: `cargo histories`. Prints how many of them are done, and how many
//! per second; a stopped run continues where it was. See `model.rs`.

use hindsight_tests::histories::{Lengths, check};
use hindsight_tests::seeds::Run;
use std::process::ExitCode;

/// Otherwise a third of the time is spent allocating memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Histories between two lines of the report.
const PART: u64 = 1000;

fn main() -> ExitCode {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_HISTORIES", 1_000_000);
    run.as_program("histories", PART, &|seed| check(seed, lengths.of(seed)))
}
