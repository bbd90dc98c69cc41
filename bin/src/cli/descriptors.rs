//! The limit on open files.

use std::os::fd::AsFd;

/// Descriptors that the listener takes, or more. tokio panics if it finds too few.
const NEEDED: usize = 8;

/// Raises the limit to the highest that this process may have, as Go's runtime does for upstream's programs. Shells
/// and init systems keep it low for programs that use `select`, which cannot have more than 1,024.
#[cfg(target_os = "linux")]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let highest = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Where it may not be raised it is as before.
    setrlimit(Resource::Nofile, highest).ok();
}

#[cfg(not(target_os = "linux"))]
pub(super) const fn raise_limit() {}

/// Checks that as many files can be open at once.
pub(super) fn are_left() -> std::io::Result<()> {
    let errors = std::io::stderr();
    let opened = (0..NEEDED).map(|_| errors.as_fd().try_clone_to_owned());
    opened.collect::<std::io::Result<Vec<_>>>().map(drop)
}
