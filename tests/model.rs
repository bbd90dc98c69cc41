//! Random histories against the naive evaluator: the same objects, deletion marks, finalizers and
//! live owner references must be left, whatever the order of the collector's steps. A history that
//! fails is shrunk to a scenario, which is written to a file.
//!
//! `HINDSIGHT_HISTORIES` sets how many, `HINDSIGHT_SEED` where to start, `HINDSIGHT_OPERATIONS` and
//! `HINDSIGHT_NAMES` how long each is and of how many names; `HINDSIGHT_SHRUNK` where files go.
//! For a long run: 2000 operations of 50 names, and `HINDSIGHT_PROGRESS`, a file that holds the next
//! seed: a run that was stopped goes on from there.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::dice::{Dice, number};
use hindsight_tests::history::{Both, Id, NAMESPACES, New, Operation, Owner, Who, smallest};
use hindsight_tests::reference::{Kind, Policy, Thing, World as Naive};
use hindsight_tests::scenario;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

const OPERATIONS: u64 = 60;
const NAMES: u64 = 7;
/// Two of the collector's own, which a client may set on a live object too.
const FINALIZERS: [&str; 5] = ["x/a", "x/b", "x/c", "orphan", "foregroundDeletion"];

/// Makes operations up, each for the world as it is.
struct Author {
    dice: Dice,
    names: u64,
    made: Vec<(Kind, String)>,
}

impl Author {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice(seed),
            names: number("HINDSIGHT_NAMES", NAMES),
            made: Vec::new(),
        }
    }

    fn operation(&mut self, live: &[Id]) -> Operation {
        let choice = self.dice.roll(10);
        if choice < 4 || live.is_empty() {
            let new = self.new_object();
            self.made.push((new.kind, new.name.clone()));
            return Operation::Create(self.made.len() - 1, new);
        }
        let id = self.dice.pick(live);
        match choice {
            4..=6 => {
                let policies = [
                    None,
                    Some(Policy::Background),
                    Some(Policy::Foreground),
                    Some(Policy::Orphan),
                ];
                Operation::Delete(id, self.dice.pick(&policies))
            }
            7 => Operation::SetFinalizers(id, self.finalizers()),
            8 => Operation::SetOwners(id, self.owners()),
            _ => Operation::Settle,
        }
    }

    fn new_object(&mut self) -> New {
        let kind = if self.dice.roll(5) == 0 {
            Kind::PriorityClass
        } else {
            Kind::ConfigMap
        };
        let namespace = match kind {
            Kind::ConfigMap => self.dice.pick(&NAMESPACES),
            Kind::PriorityClass | Kind::Unknown => "",
        };
        New {
            kind,
            namespace: namespace.into(),
            name: format!("o{}", self.dice.roll(self.names)),
            finalizers: self.finalizers(),
            owners: self.owners(),
        }
    }

    fn finalizers(&mut self) -> Vec<String> {
        match self.dice.roll(8) {
            0 | 1 => vec![self.dice.pick(&FINALIZERS).into()],
            2 => vec!["x/a".into(), self.dice.pick(&FINALIZERS[1..]).into()],
            _ => Vec::new(),
        }
    }

    fn owners(&mut self) -> Vec<Owner> {
        let count = self.dice.pick(&[0, 0, 1, 1, 1, 2, 2, 3]);
        let mut owners: Vec<Owner> = Vec::new();
        for _ in 0..count {
            let owner = self.owner();
            if owners.iter().all(|one| one.who != owner.who) {
                owners.push(owner);
            }
        }
        owners
    }

    /// Mostly somebody who is or was there, at times misspelt, unknown or made up.
    fn owner(&mut self) -> Owner {
        let blocks = self.dice.roll(2) == 0;
        if self.made.is_empty() || self.dice.roll(12) == 0 {
            return Owner {
                who: Who::Nobody(self.dice.roll(3)),
                kind: Kind::ConfigMap,
                name: "o0".into(),
                blocks,
            };
        }
        let everybody: Vec<Id> = (0..self.made.len()).collect();
        let id = self.dice.pick(&everybody);
        let (mut kind, mut name) = self.made[id].clone();
        if self.dice.roll(25) == 0 {
            kind = Kind::Unknown;
        }
        if self.dice.roll(20) == 0 {
            name = "misspelt".into();
        }
        Owner {
            who: Who::Made(id),
            kind,
            name,
            blocks,
        }
    }
}

/// Makes a history up while it runs; the operations, and what went wrong.
fn live_through(
    seed: u64,
    both: &mut Both,
    each: fn(&mut Both),
) -> (Vec<Operation>, Option<String>) {
    let mut author = Author::new(seed);
    let mut history = Vec::new();
    let count = number("HINDSIGHT_OPERATIONS", OPERATIONS);
    for turn in 0..=count {
        let operation = if turn == count {
            Operation::Settle
        } else {
            author.operation(&both.live())
        };
        history.push(operation.clone());
        let ran = catch_unwind(AssertUnwindSafe(|| both.run(&operation)));
        if let Err(why) = ran.unwrap_or_else(|_| Err("a panic".into())) {
            return (history, Some(why));
        }
        each(both);
    }
    (history, None)
}

const fn limit(seed: u64) -> usize {
    match seed % 3 {
        0 => 1,
        1 => 2,
        _ => 512,
    }
}

/// Writes the scenario where somebody will look for it.
fn write(seed: u64, scenario: &str) -> PathBuf {
    let folder = std::env::var_os("HINDSIGHT_SHRUNK");
    let folder = folder.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let path = folder.join(format!("seed-{seed}.scenario"));
    std::fs::write(&path, scenario).expect("a folder that can be written to");
    path
}

#[test]
fn random_histories_end_as_the_naive_evaluator_says() {
    let progress = std::env::var_os("HINDSIGHT_PROGRESS").map(PathBuf::from);
    let begun = progress
        .as_ref()
        .and_then(|path| std::fs::read_to_string(path).ok());
    let begun = begun.and_then(|text| text.trim().parse().ok());
    let first: u64 = begun.unwrap_or_else(|| number("HINDSIGHT_SEED", 1));
    let count = number("HINDSIGHT_HISTORIES", 700);
    for seed in first..first + count {
        let mut both = Both::new(limit(seed), Naive::visible);
        let (history, failed) = live_through(seed, &mut both, |_| {});
        if let Some(why) = failed {
            let shrunk = smallest(history, limit(seed), Naive::visible);
            let path = write(seed, &shrunk.scenario);
            let (path, scenario) = (path.display(), &shrunk.scenario);
            panic!("seed {seed}: {why}\nshrunk to {path}:\n{scenario}");
        }
        if let Some(path) = &progress {
            std::fs::write(path, (seed + 1).to_string()).expect("a file that can be written");
        }
    }
    println!(
        "{count} histories from seed {first}; the next one is {}",
        first + count
    );
}

#[test]
fn a_restart_of_the_collector_changes_nothing() {
    for seed in 1..200 {
        let mut both = Both::new(3, Naive::visible);
        let (history, failed) = live_through(seed, &mut both, |both| both.real.restart());
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
        let (history, failed) = live_through(seed, &mut both, |_| {});
        if failed.is_none() {
            continue;
        }
        let least = smallest(history.clone(), limit(seed), wrong);
        assert!(least.operations.len() <= 3, "{}", least.scenario);
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
        let (_, failed) = live_through(seed, &mut both, |_| {});
        assert_eq!(failed, None);
        let text = both.scenario();
        let told = scenario::run(&text);
        assert_eq!(told, Ok(()), "{text}");
    }
}
