//! Runs two thousand schedules of the simulator, each with a seed and faults of its own.
//!
//! `HINDSIGHT_SCHEDULES` sets how many there are, `HINDSIGHT_SEED` the first seed, `HINDSIGHT_STEPS`
//! the length of each, `HINDSIGHT_SHRUNK` the folder for files. A failing schedule is shrunk to a
//! file, and the command that repeats it is printed. Files in `schedules/` are played by every run.
//! `cargo schedules` (`schedules.rs`) runs as many as wanted, in parts that can be stopped.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

#[path = "simulator/conformance.rs"]
mod conformance;

use hindsight_tests::schedules::{Lengths, Sum};
use hindsight_tests::seeds::Run;
use hindsight_tests::sim::{self, Bug, Options, Schedule, smallest};
use hindsight_tests::tree::repository;

/// Steps of a schedule in which something is broken on purpose.
const STEPS: u64 = 150;

/// What must happen in two thousand schedules, or they show nothing.
const HAPPENS: &[&str] = &[
    "kill",
    "cut",
    "several frames",
    "rot",
    "refused append",
    "failed sync",
    "full",
    "overload",
    "client turned away",
    "collector turned away",
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
    "prune of every kind",
    "backup",
    "backup failed",
    "restore",
    "restore failed",
    "expired",
    "dry runs compared",
    "refusals judged",
    "preconditions judged",
    "removals explained",
    "events received",
    "requested-orphan",
    "owners-absent",
    "owner-foreground",
    "no-such-owner",
    "owner-in-other-namespace",
    "namespace-deleted",
    "crd-deleted",
    "ttl-after-finished",
];

/// What must happen often in two thousand schedules, and how often at least.
const OFTEN: &[(&str, u64)] = &[
    ("broken off", 250),
    ("torn write", 32),
    ("lost write", 10),
    ("kept none", 80),
    ("kept some", 7),
    ("kept all", 120),
    ("first part", 300),
    ("next part", 8),
    ("prune that keeps kinds", 20),
];

#[test]
fn schedules_hold_whatever_fails() {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_SCHEDULES", 2_000);
    let sum = Sum::default();
    let check = |seed| sum.check(lengths.of(seed));
    let failures = run.run_parts(run.count, &check, &|count, next, seconds| {
        println!("{count} schedules in {seconds:.0} s; the next seed is {next}");
    });
    let told: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    let counts = sum.into_counts();
    println!("{counts:#?}");
    if run.count < 2_000 {
        return;
    }
    let once = HAPPENS.iter().map(|kind| (*kind, 1));
    for (kind, least) in once.chain(OFTEN.iter().copied()) {
        let times = counts.get(kind).copied().unwrap_or_default();
        assert!(times >= least, "{kind} happened {times} times, not {least}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 1..=20 {
        let told = || sim::run_verbose(Options::of(seed, STEPS)).expect("it holds");
        let (once, again) = (told(), told());
        assert!(once.lines.len() > 20, "seed {seed} does something");
        assert_eq!(once.lines, again.lines, "seed {seed}");
        let untold = sim::run(Options::of(seed, STEPS)).expect("it holds");
        assert_eq!(once.counts, untold.counts, "told or not, seed {seed}");
    }
}

#[test]
fn the_same_steps_give_the_same_trace() {
    for (bug, _) in BUGS {
        let failure = broken(*bug);
        let again = sim::replay(&failure.schedule, true).expect_err("it fails again");
        assert_eq!(failure.trace.lines, again.trace.lines, "{bug:?}");
        assert_eq!(failure.violation, again.violation, "{bug:?}");
    }
}

#[test]
fn the_files_of_schedules_hold() {
    let folder = repository().join("tests/schedules");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let schedule = Schedule::parse(&text).unwrap_or_else(|why| panic!("{path:?}: {why}"));
        assert!(!schedule.steps.is_empty(), "{path:?} does nothing");
        if let Err(failure) = sim::replay(&schedule, true) {
            panic!("{path:?}: {failure}");
        }
        played += 1;
    }
    assert!(played > 0, "no schedule was played");
}

/// What is broken on purpose, and the checkers of which one must notice.
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
    (Bug::NoteLags, &["a sound log opens"]),
    (Bug::ApplyForgets, &["replay equals live"]),
    (
        Bug::WatchLoses,
        &["watch: reliable", "watch: bookmarkable", "watch: resumable"],
    ),
    (Bug::WatchRepeats, &["watch: unique"]),
    (Bug::StaleRead, &["reads see what was acknowledged"]),
    (Bug::ReadShowsOlder, &["reads show what was written"]),
    (Bug::WatchShowsOlder, &["watch: contents"]),
    (Bug::AnswerShowsOlder, &["answers show what was written"]),
    (Bug::DryRunGuesses, &["dry run equals real run"]),
    (
        Bug::CollectorStops,
        &[
            "collector as the naive one",
            "liveness",
            "a plan comes true",
        ],
    ),
    (
        Bug::CollectorForgets,
        &[
            "collector as the naive one",
            "nothing outlives its namespace",
            "a plan comes true",
        ],
    ),
    (Bug::RestoreRepeats, &["no revision is given out twice"]),
    (
        Bug::WatchResumes,
        &["watch: reliable", "watch: list and events"],
    ),
];

/// The first failure that this bug causes.
fn broken(bug: Bug) -> Box<sim::Failure> {
    let mut seeds = 1..=300;
    let found = seeds.find_map(|seed| sim::run(Options::of(seed, STEPS).with(bug)).err());
    found.unwrap_or_else(|| panic!("{bug:?} goes unnoticed"))
}

#[test]
fn whatever_is_broken_is_noticed() {
    for (bug, checkers) in BUGS {
        let failure = broken(*bug);
        let checker = failure.violation.checker;
        assert!(
            checkers.contains(&checker),
            "{bug:?} is noticed by {checker}:\n{failure}"
        );
    }
    assert!(
        Bug::ALL
            .iter()
            .all(|bug| BUGS.iter().any(|(one, _)| one == bug))
    );
}

/// The most steps that may be left of a schedule in which something is broken on purpose.
const SMALLEST_STEPS_MAX: usize = 14;

#[test]
fn a_schedule_that_fails_shrinks_to_a_small_file_that_fails_alike() {
    for (bug, _) in BUGS {
        let failure = broken(*bug);
        let least = smallest(&failure);
        let script = least.script();
        println!("{bug:?}\n{script}");
        let (steps, all) = (least.schedule.steps.len(), failure.schedule.steps.len());
        assert!(steps <= SMALLEST_STEPS_MAX, "{steps} of {all}:\n{script}");
        assert_eq!(least.violation.checker, failure.violation.checker);
        let read = Schedule::parse(&script).expect("what was written");
        let again = sim::replay(&read, true).expect_err("it still fails");
        assert_eq!(again.violation, least.violation);
        assert_eq!(again.trace.lines, least.trace.lines);
        let mended = Schedule {
            options: Options {
                bug: None,
                ..read.options
            },
            ..read
        };
        let held = sim::replay(&mended, true);
        assert!(held.is_ok(), "without {bug:?} it holds");
    }
}

#[test]
fn what_is_no_schedule_is_named() {
    for line in [
        "jump 1",
        "request",
        "request soon",
        "with luck",
        "broken Nothing",
    ] {
        let refused = Schedule::parse(&format!("seed 1\n{line}\n"));
        assert_eq!(refused.err(), Some(format!("not understood: {line}")));
    }
}
