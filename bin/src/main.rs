//! The hindsight process.

use std::process::ExitCode;

fn main() -> ExitCode {
    hindsight::cli::run()
}
