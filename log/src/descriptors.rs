//! The limit on open files.

/// Raises the limit of this process to the highest that it may have, as Go's runtime does for upstream's programs.
/// Shells and init systems keep it low for programs that use `select`, which cannot have more than 1,024. Where it may
/// not be raised it is as before.
#[cfg(target_os = "linux")]
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let highest = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, highest).ok();
}

/// Other systems keep their limit.
#[cfg(not(target_os = "linux"))]
pub const fn raise_descriptor_limit() {}
