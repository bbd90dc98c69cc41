//! What a process holds: descriptors, threads and memory, as Linux tells.

use std::path::Path;

/// Open descriptors.
pub fn descriptors(process: u32) -> usize {
    count(&format!("/proc/{process}/fd"))
}

/// Threads.
pub fn threads(process: u32) -> usize {
    count(&format!("/proc/{process}/task"))
}

/// Memory that is in use, in MiB.
pub fn resident_mib(process: u32) -> usize {
    mib(process, "VmRSS:")
}

/// The most memory that was ever in use, in MiB.
pub fn peak_mib(process: u32) -> usize {
    mib(process, "VmHWM:")
}

fn mib(process: u32, field: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.expect("a size") / 1024
}

fn count(folder: &str) -> usize {
    std::fs::read_dir(Path::new(folder))
        .expect("a process")
        .count()
}
