//! CPU time and memory of a process, as the kernel reports them under `/proc`.

use anyhow::{Context, Result};
use std::time::Duration;

/// The kernel reports the times of a process in hundredths of a second.
const TICKS: u64 = 100;

/// CPU time of a process and all its threads so far.
pub fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program's name may contain spaces; it ends at the last bracket.
    let (_, fields) = stat.rsplit_once(')').context("no name")?;
    let ticks = |at| {
        let field = fields.split_whitespace().nth(at);
        field.and_then(|field| field.parse::<u64>().ok())
    };
    let (user, system) = ticks(11).zip(ticks(12)).context("no times")?;
    Ok(Duration::from_millis((user + system) * 1000 / TICKS))
}

/// Resident memory in megabytes.
pub fn resident_mb(pid: u32) -> Result<f64> {
    megabytes(pid, "VmRSS:")
}

/// Peak resident memory in megabytes.
pub fn peak_mb(pid: u32) -> Result<f64> {
    megabytes(pid, "VmHWM:")
}

fn megabytes(pid: u32, field: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u32 = kilobytes.context("the process ended")?.parse()?;
    Ok(f64::from(kilobytes) / 1024.0)
}
