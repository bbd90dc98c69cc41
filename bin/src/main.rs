//! The hindsight process.

use std::process::ExitCode;

/// Objects are allocated by one thread and freed by another; the C library's allocator is slow at it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    hindsight::cli::run()
}
