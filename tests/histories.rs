//! A million random histories: `cargo histories`. Prints how many it has seen of how many, and how
//! many a second; a run that was stopped goes on where it was. See `model.rs`.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool tells what it does, and stops where it cannot"
)]

use hindsight_tests::histories::{Run, progress_file};
use std::process::ExitCode;

/// A third of the time is memory otherwise.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Histories between two lines of the report.
const PART: u64 = 1000;

fn main() -> ExitCode {
    let mut run = Run::from_environment(1_000_000);
    let progress = run
        .progress
        .get_or_insert_with(|| progress_file("histories"));
    let (place, end) = (progress.display().to_string(), run.first + run.count);
    println!(
        "seeds {} to {}, from {}, every {}th of 2000 operations, {} at a time; progress in {place}",
        run.first,
        end - 1,
        run.next(),
        run.long_every,
        run.threads
    );
    let failures = run.go(PART, &|count, next, seconds| {
        let left = end - next;
        let rate = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds;
        println!("{count} histories, {rate:.0} a second; {left} to go, the next seed is {next}");
    });
    for failure in &failures {
        println!("{failure}");
    }
    println!("{} failures", failures.len());
    ExitCode::from(u8::from(!failures.is_empty()))
}
