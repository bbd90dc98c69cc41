//! Many random histories: in parallel, with their progress in a file, each failure shrunk.

use crate::author::{LONG, Length, SHORT, limit, live_through};
use crate::dice::number;
use crate::history::{Both, smallest};
use crate::reference::World as Naive;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Every so many histories one is long.
const LONG_EVERY: u64 = 200;
/// Failures after which nobody reads on.
const FAILURES_MAX: usize = 20;

/// Which histories to run, and how.
#[derive(Debug)]
pub struct Run {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub count: u64,
    /// Every so many histories one is long.
    pub long_every: u64,
    /// How many at a time.
    pub threads: usize,
    /// Holds the next seed, so that a run that was stopped goes on there.
    pub progress: Option<PathBuf>,
}

/// A seed whose history went wrong.
#[derive(Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What is wrong.
    pub why: String,
    /// The least that is still wrong.
    pub scenario: String,
    /// Where that is written.
    pub path: PathBuf,
}

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

/// Where a tool keeps how far it is, unless it is told otherwise: beside what cargo builds.
pub fn progress_file(tool: &str) -> PathBuf {
    if let Some(place) = std::env::var_os("HINDSIGHT_PROGRESS") {
        return place.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    std::fs::create_dir_all(&target).expect("a target directory");
    target.join(format!("{tool}.next"))
}

impl Run {
    /// `count` histories, unless the environment wants others.
    pub fn from_environment(count: u64) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = number("HINDSIGHT_THREADS", cores as u64);
        Self {
            first: number("HINDSIGHT_SEED", 1),
            count: number("HINDSIGHT_HISTORIES", count),
            long_every: number("HINDSIGHT_LONG_EVERY", LONG_EVERY).max(1),
            threads: usize::try_from(threads).expect("a small number").max(1),
            progress: std::env::var_os("HINDSIGHT_PROGRESS").map(PathBuf::from),
        }
    }

    fn length(&self, seed: u64) -> Length {
        if seed.is_multiple_of(self.long_every) {
            LONG
        } else {
            SHORT
        }
    }

    /// The next seed of a run that was stopped, or the first.
    pub fn next(&self) -> u64 {
        let text = self
            .progress
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        let next = text.and_then(|text| text.trim().parse().ok());
        next.unwrap_or(self.first).max(self.first)
    }

    /// Runs what is left, so many at a time; `told` hears of each part how many, of all, in how
    /// many seconds.
    pub fn go(&self, part: u64, told: &dyn Fn(u64, u64, f64)) -> Vec<Failure> {
        let (begun, end) = (self.next(), self.first + self.count);
        let (mut next, since) = (begun, Instant::now());
        let mut failures = Vec::new();
        while next < end && failures.len() < FAILURES_MAX {
            let until = (next + part).min(end);
            failures.append(&mut self.part(next, until));
            next = until;
            if let Some(path) = &self.progress {
                std::fs::write(path, next.to_string()).expect("a file that can be written");
            }
            told(next - begun, next, since.elapsed().as_secs_f64());
        }
        failures
    }

    fn part(&self, next: u64, until: u64) -> Vec<Failure> {
        let (next, failures) = (AtomicU64::new(next), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= until {
                    return;
                }
                if let Err(failure) = check(seed, self.length(seed)) {
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
}

/// Whether the history of a seed ends as the naive evaluator says.
pub fn check(seed: u64, length: Length) -> Result<(), Failure> {
    let limit = limit(seed);
    let (history, failed) = {
        let mut both = Both::new(limit, Naive::visible);
        live_through(seed, length, &mut both, |_| {})
    };
    let Some(why) = failed else { return Ok(()) };
    let scenario = smallest(history, limit, Naive::visible).scenario;
    let path = write(seed, &scenario);
    Err(Failure {
        seed,
        why,
        scenario,
        path,
    })
}

/// Writes a scenario where somebody will look for it.
pub fn write(seed: u64, scenario: &str) -> PathBuf {
    let folder = std::env::var_os("HINDSIGHT_SHRUNK");
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("seed-{seed}.scenario"));
    std::fs::write(&path, scenario).expect("a folder that can be written to");
    path
}
