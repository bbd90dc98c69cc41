//! A thousand schedules of the simulator: each of one seed, each with faults of its own.
//!
//! `HINDSIGHT_SCHEDULES` sets how many, `HINDSIGHT_SEED` with which seed to begin and
//! `HINDSIGHT_STEPS` how long each is. A schedule that fails prints the command that repeats it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::dice::number;
use hindsight_tests::sim::{self, Bug, Options};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

type Counts = BTreeMap<&'static str, u64>;

fn steps() -> u64 {
    number("HINDSIGHT_STEPS", 150)
}

/// One schedule, or the message of its failure.
fn run(seed: u64) -> Result<Counts, String> {
    let options = Options::of(seed, steps());
    match std::panic::catch_unwind(|| sim::run(options)) {
        Ok(Ok(trace)) => Ok(trace.counts),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!(
            "seed {seed}: a panic; repeat it with HINDSIGHT_SEED={seed} HINDSIGHT_SCHEDULES=1"
        )),
    }
}

/// All schedules, on as many threads as there are processors; one schedule is on one thread.
fn run_all(first: u64, count: u64) -> Counts {
    let next = AtomicU64::new(first);
    let worker = || {
        let mut counts = Counts::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return counts;
            }
            for (kind, times) in run(seed).unwrap_or_else(|failure| panic!("{failure}")) {
                *counts.entry(kind).or_default() += times;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sum = Counts::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            for (kind, times) in worker.join().expect("every schedule holds") {
                *sum.entry(kind).or_default() += times;
            }
        }
    });
    sum
}

/// What a thousand schedules must have seen, or they show nothing.
const HAPPENS: &[&str] = &[
    "kill",
    "cut",
    "torn write",
    "lost write",
    "rot",
    "full",
    "slow",
    "unreadable",
    "clock",
    "stall",
    "disconnect",
    "refusal to open",
    "failure while opening",
    "repair",
    "unread",
    "asked again",
    "look back",
    "look back beyond the floor",
    "snapshot",
    "from a snapshot",
    "prune",
    "prune failed",
    "dry runs compared",
    "refusals judged",
    "preconditions judged",
    "removals explained",
    "events received",
    "requested-orphan",
    "owners-absent",
    "owner-foreground",
    "owner-never-existed",
    "owner-in-other-namespace",
    "namespace-deleted",
    "crd-deleted",
    "ttl-after-finished",
];

#[test]
fn schedules_hold_whatever_fails() {
    let (first, count) = (
        number("HINDSIGHT_SEED", 1),
        number("HINDSIGHT_SCHEDULES", 1_000),
    );
    let counts = run_all(first, count);
    println!("{count} schedules from seed {first}: {counts:#?}");
    if count < 1_000 {
        return;
    }
    for kind in HAPPENS {
        assert!(counts.contains_key(kind), "{kind} never happened");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 1..=20 {
        let trace = || match sim::run(Options::of(seed, steps())) {
            Ok(trace) => trace.lines,
            Err(failure) => failure.trace.lines,
        };
        let (once, again) = (trace(), trace());
        assert!(once.len() > 20, "seed {seed} does something");
        assert_eq!(once, again, "seed {seed}");
    }
}

/// What is broken on purpose, and who must notice.
const BUGS: &[(Bug, &[&str])] = &[
    (
        Bug::SyncDoesNothing,
        &[
            "a sound log opens",
            "acknowledged is recovered",
            "watch: resumable",
        ],
    ),
    (
        Bug::SyncedFrameLost,
        &[
            "a sound log opens",
            "acknowledged is recovered",
            "watch: resumable",
        ],
    ),
    (Bug::ApplyForgets, &["replay equals live"]),
    (
        Bug::WatchLoses,
        &["watch: reliable", "watch: bookmarkable", "watch: resumable"],
    ),
    (Bug::WatchRepeats, &["watch: unique"]),
    (Bug::StaleRead, &["reads see what was acknowledged"]),
    (Bug::DryRunGuesses, &["dry run equals real run"]),
    (
        Bug::CollectorStops,
        &[
            "collector as the naive one",
            "liveness",
            "a plan comes true",
        ],
    ),
];

#[test]
fn whatever_is_broken_is_noticed() {
    for (bug, checkers) in BUGS {
        let found = (1..=50).find_map(|seed| sim::run(Options::of(seed, steps()).with(*bug)).err());
        let failure = found.unwrap_or_else(|| panic!("{bug:?} goes unnoticed"));
        let checker = failure.violation.checker;
        assert!(
            checkers.contains(&checker),
            "{bug:?} is noticed by {checker}:\n{failure}"
        );
    }
}
