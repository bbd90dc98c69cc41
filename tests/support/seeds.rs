//! Runs many seeds in parallel, with the progress kept in a file, until they are done or time is up.

use crate::dice::number;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Failures after which a run stops.
const FAILURES_MAX: usize = 20;

/// Which seeds to run, and how.
#[derive(Debug)]
pub struct Run {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub count: u64,
    /// How many run in parallel.
    pub threads: usize,
    /// A file that holds the next seed, so that a stopped run can be continued.
    pub progress: Option<PathBuf>,
    /// How long the run may take; unlimited if `None`.
    pub time: Option<Duration>,
}

/// A seed that failed.
#[derive(Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What is wrong.
    pub why: String,
    /// The smallest scenario or schedule found that still fails.
    pub scenario: String,
    /// The file that it was written to.
    pub path: PathBuf,
}

/// Checks one seed.
pub type Check<'a> = dyn Fn(u64) -> Result<(), Failure> + Sync + 'a;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seed, why, path) = (self.seed, &self.why, self.path.display());
        write!(
            f,
            "seed {seed}: {why}\nshrunk to {path}:\n{}",
            self.scenario
        )
    }
}

impl Run {
    /// A run of `count` seeds, unless the environment variable `variable` says how many.
    pub fn from_environment(variable: &str, count: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = number("HINDSIGHT_THREADS", cores as u64);
        let seconds = number("HINDSIGHT_SECONDS", 0);
        Self {
            first: number("HINDSIGHT_SEED", 1),
            count: number(variable, count),
            threads: usize::try_from(threads).expect("a small number").max(1),
            progress: std::env::var_os("HINDSIGHT_PROGRESS").map(PathBuf::from),
            time: (seconds > 0).then(|| Duration::from_secs(seconds)),
        }
    }

    /// The next seed of a stopped run, or the first.
    pub fn next(&self) -> u64 {
        let text = self
            .progress
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        let next = text.and_then(|text| text.trim().parse().ok());
        next.unwrap_or(self.first).max(self.first)
    }

    /// Runs the remaining seeds in parts of `run_part` seeds. After each part, `report` is called with the
    /// number of seeds done so far, the next seed and the seconds passed.
    pub fn run_parts(
        &self,
        part: u64,
        check: &Check<'_>,
        report: &dyn Fn(u64, u64, f64),
    ) -> Vec<Failure> {
        let (begun, end) = (self.next(), self.first.saturating_add(self.count));
        let (mut next, since) = (begun, Instant::now());
        let is_over = || self.time.is_some_and(|time| since.elapsed() >= time);
        let mut failures = Vec::new();
        while next < end && failures.len() < FAILURES_MAX && !is_over() {
            let until = next.saturating_add(part).min(end);
            failures.append(&mut self.run_part(check, next, until));
            next = until;
            if let Some(path) = &self.progress {
                std::fs::write(path, next.to_string()).expect("a file that can be written");
            }
            report(next - begun, next, since.elapsed().as_secs_f64());
        }
        failures
    }

    fn run_part(&self, check: &Check<'_>, next: u64, until: u64) -> Vec<Failure> {
        let (next, failures) = (AtomicU64::new(next), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= until {
                    return;
                }
                if let Err(failure) = check(seed) {
                    failures.lock().expect("no thread panics").push(failure);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(work);
            }
        });
        failures.into_inner().expect("no thread panics")
    }

    /// Runs as a program: prints a line after every part, and the failures at the end. Progress is
    /// kept in the target directory, in a file of this name.
    pub fn as_program(mut self, what: &str, part: u64, check: &Check<'_>) -> ExitCode {
        let place = self
            .progress
            .get_or_insert_with(|| progress_file(what))
            .display()
            .to_string();
        let (first, next, threads) = (self.first, self.next(), self.threads);
        let end = first.saturating_add(self.count);
        println!(
            "{what} {first} to {}, from {next}, {threads} at a time; progress in {place}",
            end - 1
        );
        let failures = self.run_parts(part, check, &|count, next, seconds| {
            let left = end - next;
            let rate = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / seconds;
            println!("{count} {what}, {rate:.0} a second; {left} to go, the next seed is {next}");
        });
        for failure in &failures {
            println!("{failure}");
        }
        println!("{} failures", failures.len());
        ExitCode::from(u8::from(!failures.is_empty()))
    }
}

/// The file in which a tool keeps its progress: in the target directory, unless the environment says
/// otherwise.
pub fn progress_file(tool: &str) -> PathBuf {
    if let Some(place) = std::env::var_os("HINDSIGHT_PROGRESS") {
        return place.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    std::fs::create_dir_all(&target).expect("a target directory");
    target.join(format!("{tool}.next"))
}

/// Writes the shrunk scenario of a seed to a file, and returns its path.
pub fn write(seed: u64, scenario: &str, extension: &str) -> PathBuf {
    let folder = std::env::var_os("HINDSIGHT_SHRUNK");
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("seed-{seed}.{extension}"));
    std::fs::write(&path, scenario).expect("a folder that can be written to");
    path
}
