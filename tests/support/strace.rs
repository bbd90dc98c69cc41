//! Uses `strace` to record system calls, or to make them fail, wait, or kill the process.

use crate::disk::skipped;
use crate::wait::wait_until;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A tracer that is attached to a running process. Detached when dropped.
#[derive(Debug)]
pub struct Strace(Child);

/// Whether `strace` is installed; prints that the test is skipped if not.
fn is_installed() -> bool {
    let output = Command::new("strace").arg("--version").output();
    let is = output.is_ok_and(|output| output.status.success());
    if !is {
        skipped("system calls", "strace is not installed");
    }
    is
}

fn inject(calls: &str, fault: &str) -> [String; 4] {
    let trace = format!("trace={calls}");
    [
        "-e".into(),
        trace,
        "-e".into(),
        format!("inject={calls}:{fault}"),
    ]
}

/// A command with a fault in the n-th call of these kinds, counted in each thread; `None` if this
/// machine cannot do that.
pub fn with_fault(served: &Command, calls: &str, fault: &str, at: u64) -> Option<Command> {
    with_recorded_fault(served, calls, fault, at, Path::new("/dev/null"))
}

/// A command with a fault in every call of these kinds on this file, unless the fault says in which
/// (`when=`).
pub fn with_fault_of(served: &Command, calls: &str, fault: &str, file: &Path) -> Option<Command> {
    with_faults_of(served, &[(calls, fault)], file)
}

/// A command with each of these faults in every call of its kinds on this file, or in those that it names.
pub fn with_faults_of(served: &Command, faults: &[(&str, &str)], file: &Path) -> Option<Command> {
    if !is_installed() {
        return None;
    }
    let calls: Vec<&str> = faults.iter().map(|(calls, _)| *calls).collect();
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-qq", "-o", "/dev/null", "-P"])
        .arg(file)
        .args(["-e", &format!("trace={}", calls.join(","))]);
    for (calls, fault) in faults {
        command.args(["-e", &format!("inject={calls}:{fault}")]);
    }
    command.arg(served.get_program()).args(served.get_args());
    Some(command)
}

/// As [`with_fault`]; the calls are recorded, with the files that they are about.
pub fn with_recorded_fault(
    served: &Command,
    calls: &str,
    fault: &str,
    at: u64,
    record: &Path,
) -> Option<Command> {
    if !is_installed() {
        return None;
    }
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-qq", "-y", "-o"])
        .arg(record)
        .args(inject(calls, &format!("{fault}:when={at}")))
        .arg(served.get_program())
        .args(served.get_args());
    Some(command)
}

/// A command whose calls of these kinds are recorded, with the files that they are about.
pub fn recorded(served: &Command, calls: &str, record: &Path) -> Option<Command> {
    recorded_with(&[], served, calls, record)
}

/// The same, with all bytes written and the times; see [`crate::cuts`].
pub fn recorded_whole(served: &Command, calls: &str, record: &Path) -> Option<Command> {
    recorded_with(&["-ttt", "-xx", "-s", "20000000"], served, calls, record)
}

/// The same of a process that is killed in the n-th of these calls that one of its threads makes.
pub fn recorded_until_killed(
    served: &Command,
    calls: &str,
    (killing, at): (&str, u64),
    record: &Path,
) -> Option<Command> {
    let kill = format!("inject={killing}:signal=KILL:when={at}");
    let more = ["-ttt", "-xx", "-s", "20000000", "-e", &kill];
    recorded_with(&more, served, calls, record)
}

fn recorded_with(more: &[&str], served: &Command, calls: &str, record: &Path) -> Option<Command> {
    if !is_installed() {
        return None;
    }
    let mut command = Command::new("strace");
    command
        .args(["-D", "-f", "-y"])
        .args(more)
        .args(["-e", &format!("trace={calls}"), "-o"])
        .arg(record)
        .arg(served.get_program())
        .args(served.get_args());
    Some(command)
}

/// The record of a process, once the tracer has written its end. Its first thread makes the first call.
pub fn complete_record(record: &Path) -> String {
    let thread = |line: &str| line.split(' ').next().map(str::to_owned);
    let mut text = String::new();
    wait_until("the record of the calls has an end", || {
        text = std::fs::read_to_string(record).expect("a record");
        let first = text.lines().next().and_then(thread);
        let mut ends = text.lines().rev().take_while(|line| line.contains("+++"));
        ends.any(|line| thread(line) == first)
    });
    text
}

impl Strace {
    /// Injects faults from here on, in every thread of a running process.
    pub fn attach(process: u32, calls: &str, fault: &str) -> Option<Self> {
        let mut tracer = Command::new("strace");
        tracer.args(["-o", "/dev/null"]).args(inject(calls, fault));
        Self::on(process, tracer)
    }

    /// As [`Self::attach`]; the calls are recorded, with their times and the files that they are
    /// about.
    pub fn attach_and_record(
        process: u32,
        calls: &str,
        fault: &str,
        record: &Path,
    ) -> Option<Self> {
        let mut tracer = Command::new("strace");
        tracer.args(["-y", "-ttt"]).args(inject(calls, fault));
        tracer.arg("-o").arg(record);
        Self::on(process, tracer)
    }

    /// As [`Self::attach_and_record`], for calls on this file alone.
    pub fn attach_to_file(
        process: u32,
        calls: &str,
        fault: &str,
        file: &Path,
        record: &Path,
    ) -> Option<Self> {
        let mut tracer = Command::new("strace");
        tracer.args(["-y", "-ttt", "-P"]).arg(file);
        tracer.args(inject(calls, fault)).arg("-o").arg(record);
        Self::on(process, tracer)
    }

    /// Has each call of this kind on one of these files wait before it is made. These calls are recorded, with
    /// their files: when they begin, and with `(DELAYED)` when they have ended.
    pub fn delay(
        process: u32,
        call: &str,
        files: &[PathBuf],
        wait: Duration,
        record: &Path,
    ) -> Option<Self> {
        let mut tracer = Command::new("strace");
        tracer.arg("-y");
        for file in files {
            tracer.arg("-P").arg(file);
        }
        tracer.args(inject(call, &format!("delay_enter={}", wait.as_micros())));
        tracer.arg("-o").arg(record);
        Self::on(process, tracer)
    }

    /// Records calls of these kinds, with the files that they are about.
    pub fn record(process: u32, calls: &str, record: &Path) -> Option<Self> {
        let mut tracer = Command::new("strace");
        let calls = format!("trace={calls}");
        tracer.args(["-y", "-e", &calls, "-o"]).arg(record);
        Self::on(process, tracer)
    }

    fn on(process: u32, mut tracer: Command) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let mut tracer = tracer
            .args(["-f", "-p", &process.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace starts");
        let mut said = BufReader::new(tracer.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says something");
        let tracer = Self(tracer);
        if !line.contains("attached") {
            skipped("system calls", line.trim());
            return None;
        }
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Some(tracer)
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        // On SIGINT the tracer detaches. It may never learn of the end of a process that it has
        // killed itself.
        let process = self.0.id().to_string();
        Command::new("kill").args(["-INT", &process]).status().ok();
        for _ in 0..100 {
            if self.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
