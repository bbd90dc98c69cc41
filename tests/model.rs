//! Random histories against the naive evaluator: the same objects, deletion marks, finalizers and
//! live owner references must be left, whatever the order of the collector's steps. A history that
//! fails is shrunk to a scenario, which is written to a file.
//!
//! `HINDSIGHT_HISTORIES` sets how many, `HINDSIGHT_SEED` where to start, `HINDSIGHT_LONG_EVERY` how
//! many there are to a long one, `HINDSIGHT_SHRUNK` where files go. A million of them, in parts that
//! can be stopped, are `cargo histories` (`histories.rs`).
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::author::{SHORT, limit, live_through};
use hindsight_tests::histories::{Run, write};
use hindsight_tests::history::{Both, smallest};
use hindsight_tests::reference::{Thing, World as Naive};
use hindsight_tests::scenario;

#[test]
fn random_histories_end_as_the_naive_evaluator_says() {
    let run = Run::from_environment(2000);
    let failures = run.go(run.count, &|count, next, seconds| {
        println!("{count} histories in {seconds:.0} s; the next seed is {next}");
    });
    let told: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn a_restart_of_the_collector_changes_nothing() {
    for seed in 1..200 {
        let mut both = Both::new(3, Naive::visible);
        let (history, failed) = live_through(seed, SHORT, &mut both, |both| both.real.restart());
        assert_eq!(failed, None, "seed {seed}: {history:#?}");
    }
}

/// Believes that nobody has two owners for long.
fn wrong(naive: &Naive) -> Vec<Thing> {
    let mut things = naive.visible();
    things.retain(|one| one.owners.len() < 2);
    things
}

#[test]
fn a_history_that_fails_is_told_as_a_short_scenario() {
    let mut shrunk = 0;
    for seed in 1..20 {
        let mut both = Both::new(limit(seed), wrong);
        let (history, failed) = live_through(seed, SHORT, &mut both, |_| {});
        if failed.is_none() {
            continue;
        }
        let least = smallest(history.clone(), limit(seed), wrong);
        assert!(least.operations.len() <= 4, "{}", least.scenario);
        let told = scenario::run(&least.scenario).expect_err("the oracle is wrong");
        assert!(
            told.contains("expect  ") && told.contains("it is live"),
            "{told}"
        );
        let path = write(seed, &least.scenario);
        let read = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(read, least.scenario);
        std::fs::remove_file(path).expect("the file");
        shrunk += 1;
    }
    assert!(shrunk > 3, "only {shrunk} histories met the wrong oracle");
}

#[test]
fn a_history_that_agrees_is_a_scenario_that_passes() {
    for seed in 1..40 {
        let mut both = Both::new(limit(seed), Naive::visible);
        let (_, failed) = live_through(seed, SHORT, &mut both, |_| {});
        assert_eq!(failed, None);
        let text = both.scenario();
        let told = scenario::run(&text);
        assert_eq!(told, Ok(()), "{text}");
    }
}
