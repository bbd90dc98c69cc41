//! Random histories against the naive evaluator: the same objects, deletion marks, finalizers and
//! live owner references must be left, whatever the order of the collector's steps.
//!
//! `HINDSIGHT_HISTORIES` sets how many, `HINDSIGHT_SEED` where to start.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::ObjectKey;
use hindsight_core::command::Intent;
use hindsight_tests::dice::{Dice, number};
use hindsight_tests::naive;
use hindsight_tests::reference::{self, Kind, Policy, Reference, Thing};
use hindsight_tests::world::World;
use serde_json::{Value, json};

const OPERATIONS: usize = 60;
const NAMES: u64 = 7;
const NAMESPACES: [&str; 2] = ["n1", "n2"];
/// Two of the collector's own, which a client may set on a live object too.
const FINALIZERS: [&str; 5] = ["x/a", "x/b", "x/c", "orphan", "foregroundDeletion"];

#[derive(Debug, Clone)]
enum Operation {
    Create(Thing),
    Delete(String, Option<Policy>),
    SetFinalizers(String, Vec<String>),
    SetOwners(String, Vec<Reference>),
    Settle,
}

/// Runs both worlds side by side.
struct Both {
    dice: Dice,
    naive: reference::World,
    real: World,
    limit: usize,
    uids: Vec<(Kind, String, String)>,
}

impl Both {
    fn new(seed: u64, limit: usize) -> Self {
        let mut real = World::new();
        for namespace in NAMESPACES {
            real.run(naive::create_namespace(namespace))
                .expect("a namespace");
        }
        Self {
            dice: Dice(seed),
            naive: reference::World::default(),
            real,
            limit,
            uids: Vec::new(),
        }
    }

    fn operation(&mut self) -> Operation {
        let live: Vec<String> = self
            .naive
            .things
            .iter()
            .map(|one| one.uid.clone())
            .collect();
        let choice = self.dice.roll(10);
        if choice < 4 || live.is_empty() {
            return Operation::Create(self.thing());
        }
        let uid = self.dice.pick(&live);
        match choice {
            4..=6 => {
                let policies = [
                    None,
                    Some(Policy::Background),
                    Some(Policy::Foreground),
                    Some(Policy::Orphan),
                ];
                Operation::Delete(uid, self.dice.pick(&policies))
            }
            7 => Operation::SetFinalizers(uid, self.finalizers()),
            8 => Operation::SetOwners(uid, self.owners()),
            _ => Operation::Settle,
        }
    }

    fn thing(&mut self) -> Thing {
        let kind = if self.dice.roll(5) == 0 {
            Kind::PriorityClass
        } else {
            Kind::ConfigMap
        };
        let namespace = match kind {
            Kind::ConfigMap => self.dice.pick(&NAMESPACES),
            Kind::PriorityClass | Kind::Unknown => "",
        };
        Thing {
            uid: String::new(),
            kind,
            namespace: namespace.into(),
            name: format!("o{}", self.dice.roll(NAMES)),
            finalizers: self.finalizers(),
            owners: self.owners(),
            deleting: false,
        }
    }

    fn finalizers(&mut self) -> Vec<String> {
        match self.dice.roll(8) {
            0 | 1 => vec![self.dice.pick(&FINALIZERS).into()],
            2 => vec!["x/a".into(), self.dice.pick(&FINALIZERS[1..]).into()],
            _ => Vec::new(),
        }
    }

    fn owners(&mut self) -> Vec<Reference> {
        let count = self.dice.pick(&[0, 0, 1, 1, 1, 2, 2, 3]);
        let mut owners: Vec<Reference> = Vec::new();
        for _ in 0..count {
            let owner = self.owner();
            if owners.iter().all(|one| one.uid != owner.uid) {
                owners.push(owner);
            }
        }
        owners
    }

    /// Mostly somebody who is or was there, at times misspelt, unknown or made up.
    fn owner(&mut self) -> Reference {
        let blocks = self.dice.roll(2) == 0;
        if self.uids.is_empty() || self.dice.roll(12) == 0 {
            let uid = format!("made-up-{}", self.dice.roll(3));
            return Reference {
                kind: Kind::ConfigMap,
                name: "o0".into(),
                uid,
                blocks,
            };
        }
        let (kind, name, uid) = self.dice.pick(&self.uids.clone());
        let kind = if self.dice.roll(25) == 0 {
            Kind::Unknown
        } else {
            kind
        };
        let name = if self.dice.roll(20) == 0 {
            "misspelt".into()
        } else {
            name
        };
        Reference {
            kind,
            name,
            uid,
            blocks,
        }
    }

    fn run(&mut self, operation: Operation) {
        match operation {
            Operation::Create(thing) => self.create(thing),
            Operation::Delete(uid, policy) => {
                self.real
                    .run(naive::delete(self.key(&uid), policy))
                    .expect("a delete of a live object is accepted");
                self.naive.delete(&uid, policy);
            }
            Operation::SetFinalizers(uid, finalizers) => {
                let accepted = self.patch(
                    &uid,
                    json!({"metadata": {"finalizers": naive::list(&finalizers)}}),
                );
                assert_eq!(self.naive.set_finalizers(&uid, &finalizers), accepted);
            }
            Operation::SetOwners(uid, owners) => {
                let change = json!({"metadata": {"ownerReferences": naive::references(&owners)}});
                assert!(self.patch(&uid, change));
                self.naive.set_owners(&uid, &owners);
            }
            Operation::Settle => self.settle(),
        }
    }

    fn create(&mut self, mut thing: Thing) {
        let object = json!({"metadata": {"name": thing.name,
            "finalizers": naive::list(&thing.finalizers), "ownerReferences": naive::references(&thing.owners)}});
        let made = self
            .real
            .run(naive::create(thing.kind, &thing.namespace, object))
            .map(|made| made.outcome.object().meta.uid.to_string());
        if let Ok(uid) = &made {
            thing.uid.clone_from(uid);
            self.uids
                .push((thing.kind, thing.name.clone(), uid.clone()));
        }
        assert_eq!(self.naive.create(thing), made.is_ok());
    }

    fn settle(&mut self) {
        self.real.settle(self.limit);
        assert!(
            self.naive.settle(),
            "the naive evaluator does not come to rest"
        );
        assert_eq!(
            self.real_things(),
            self.naive_things(),
            "{}",
            self.real.history()
        );
    }

    fn key(&self, uid: &str) -> ObjectKey {
        let thing = self
            .naive
            .things
            .iter()
            .find(|one| one.uid == uid)
            .expect("it is live");
        naive::key(thing.kind, &thing.namespace, &thing.name)
    }

    fn patch(&mut self, uid: &str, change: Value) -> bool {
        let patch: Intent = naive::patch(self.key(uid), change);
        self.real.run(patch).is_ok()
    }

    fn real_things(&self) -> Vec<Thing> {
        naive::world(&self.real.state).visible()
    }

    fn naive_things(&self) -> Vec<Thing> {
        self.naive.visible()
    }
}

#[test]
fn random_histories_end_as_the_naive_evaluator_says() {
    let (first, count) = (
        number("HINDSIGHT_SEED", 1),
        number("HINDSIGHT_HISTORIES", 700),
    );
    for seed in first..first + count {
        let limit = [1, 2, 512][usize::try_from(seed % 3).expect("small")];
        let mut both = Both::new(seed, limit);
        let mut history = Vec::new();
        for _ in 0..OPERATIONS {
            let operation = both.operation();
            history.push(operation.clone());
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                both.run(operation);
            }));
            assert!(outcome.is_ok(), "seed {seed}: {history:#?}");
        }
        both.settle();
    }
    println!("{count} histories from seed {first}, {OPERATIONS} operations each");
}

#[test]
fn a_restart_of_the_collector_changes_nothing() {
    for seed in 1..200 {
        let mut both = Both::new(seed, 3);
        for _ in 0..OPERATIONS {
            let operation = both.operation();
            both.run(operation);
            both.real.restart();
        }
        both.settle();
    }
}
