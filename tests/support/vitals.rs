//! What a process holds: descriptors, threads and memory, as Linux reports them under `/proc`.

use std::path::Path;
use std::process::Command;

/// Number of open descriptors.
pub fn descriptors(process: u32) -> usize {
    count(&format!("/proc/{process}/fd"))
}

/// Number of threads.
pub fn threads(process: u32) -> usize {
    count(&format!("/proc/{process}/task"))
}

/// Whether it has ended and its exit code was not collected yet.
pub fn is_ended(process: u32) -> bool {
    let status = status(process);
    field(&status, "State:").is_some_and(|state| state.starts_with('Z'))
}

/// Resident memory in MiB.
pub fn resident_mib(process: u32) -> usize {
    mib(process, "VmRSS:")
}

/// Peak resident memory in MiB.
pub fn peak_mib(process: u32) -> usize {
    mib(process, "VmHWM:")
}

fn mib(process: u32, name: &str) -> usize {
    let status = status(process);
    let kib = field(&status, name).and_then(|size| size.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<usize>().ok())
        .expect("a size")
        / 1024
}

fn status(process: u32) -> String {
    std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status")
}

fn field<'status>(status: &'status str, name: &str) -> Option<&'status str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::trim_start)
}

/// The states of the connections to a server that listens at this IPv4 address, those too that it has not accepted, by
/// the numbers of Linux.
pub fn connections(address: &str) -> Vec<String> {
    let port: u16 = address
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse().ok())
        .expect("a port");
    let at_port = format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table");
    let lines = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let here = lines.filter(|line| line[1].ends_with(&at_port));
    here.map(|line| line[3].to_owned()).collect()
}

fn count(folder: &str) -> usize {
    std::fs::read_dir(Path::new(folder))
        .expect("a process")
        .count()
}

/// Raises the limit of descriptors for this process, and those that it starts, if it is lower.
pub fn raise_descriptor_limit(descriptors: usize) {
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
