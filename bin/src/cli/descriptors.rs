//! The limit on open files.

use std::os::fd::AsFd;

/// Descriptors that the listener takes, or more. tokio panics if it finds too few.
const NEEDED: usize = 8;

/// Checks that as many files can be open at once.
pub(super) fn are_left() -> std::io::Result<()> {
    let errors = std::io::stderr();
    let opened = (0..NEEDED).map(|_| errors.as_fd().try_clone_to_owned());
    opened.collect::<std::io::Result<Vec<_>>>().map(drop)
}
