//! What a process holds: descriptors, threads and memory, as Linux tells.

use std::path::Path;
use std::process::Command;

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

/// Lets this process, and those that it starts, have so many descriptors, if the system allows it.
pub fn may_open(descriptors: usize) {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("its limits");
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    if soft.is_none_or(|soft: usize| soft >= descriptors) {
        return;
    }
    let process = std::process::id().to_string();
    let raised = Command::new("prlimit")
        .args(["--pid", &process, &format!("--nofile={descriptors}:")])
        .status();
    assert!(raised.is_ok_and(|raised| raised.success()), "{limits}");
}
