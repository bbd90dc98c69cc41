//! The hindsight process.

use std::process::ExitCode;

/// Objects are allocated by one thread and freed by another, which the C library's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hindsight::cli::run()
}
