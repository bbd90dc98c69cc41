//! Random histories against the naive evaluator: the same objects, deletion marks, finalizers and
//! owner references must be left, whatever the order of the collector's steps; and the rules in
//! `support/rules.rs` must hold. Requests come at rest and in the middle of cascades. A failing
//! history is shrunk to a scenario, which is written to a file. If the scenario collects only a part,
//! how far that gets depends on UIDs, so it may have to be run more than once.
//!
//! `HINDSIGHT_HISTORIES` sets how many there are, `HINDSIGHT_SEED` where they start,
//! `HINDSIGHT_LONG_EVERY` how many there are for each long one, `HINDSIGHT_SHRUNK` the folder for
//! files. `cargo histories` (`histories.rs`) runs a million of them, in parts that can be stopped.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::{Cause, Commit, Event, Revision};
use hindsight_tests::author::{LONG, SHORT, limit, live_through};
use hindsight_tests::histories::{Lengths, check};
use hindsight_tests::history::{Comparison, Operation, Stops, smallest};
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Reference, Thing, World as Naive};
use hindsight_tests::scenario;
use hindsight_tests::seeds::{Run, write};
use hindsight_tests::world::World;
use serde_json::json;
use std::sync::Arc;

#[test]
fn random_histories_end_as_the_naive_evaluator_says() {
    let lengths = Lengths::from_environment();
    let run = Run::from_environment("HINDSIGHT_HISTORIES", 3000);
    let check = |seed| check(seed, lengths.of(seed));
    let failures = run.run_parts(run.count, &check, &|count, next, seconds| {
        println!("{count} histories in {seconds:.0} s; the next seed is {next}");
    });
    let told: Vec<String> = failures.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// An owner, and another object in a namespace that is being deleted, wait for each other. When they
/// were let go together, the audit took the second for an owner that went too early.
#[test]
fn a_long_history_that_the_audit_once_refused_holds() {
    let failed = check(20_392_153, LONG);
    assert!(failed.is_ok(), "{}", failed.expect_err("a failure"));
}

#[test]
fn a_restart_of_the_collector_changes_nothing() {
    for seed in 1..200 {
        let mut comparison = Comparison::new(3, Naive::visible);
        let (history, failed) = live_through(seed, SHORT, &mut comparison, |comparison| {
            comparison.real.restart();
        });
        assert_eq!(failed, None, "seed {seed}: {history:#?}");
    }
}

/// What was written, apart from reports about references, and how many of those there are.
fn told(comparison: &Comparison) -> (Vec<String>, usize) {
    let commits = comparison.real.changes.iter().map(|change| &change.commit);
    let (reports, steps): (Vec<_>, Vec<_>) =
        commits.partition(|commit| commit.key.resource.is_event());
    let place = |revision: Revision| steps.partition_point(|commit| commit.revision < revision);
    let tell = |commit: &&Arc<Commit>| {
        let cause = match &commit.cause {
            Cause::Commit(revision) => format!("the commit at {}", place(*revision)),
            other => format!("{other:?}"),
        };
        let events: Vec<&str> = commit.events.iter().map(Event::name).collect();
        let (key, uid, user) = (&commit.key, &commit.uid, &commit.actor.user);
        format!("{key} {uid} {events:?} by {user} because of {cause}")
    };
    (steps.iter().map(tell).collect(), reports.len())
}

/// A crash leaves all of a batch or nothing. Of an object that goes before it is reported, nothing is reported after a
/// restart, and a report is an object too; so histories are not compared if they differ in that.
#[test]
fn a_collector_that_begins_anew_before_each_batch_writes_the_same_log() {
    let mut compared = 0;
    for seed in 1..400 {
        let mut comparison = Comparison::new(limit(seed), Naive::visible);
        let (mut history, failed) = live_through(seed, SHORT, &mut comparison, |_| {});
        assert_eq!(failed, None, "seed {seed}");
        // A plan that is made before a request is not decided after a restart, but made anew.
        history.retain(|operation| !matches!(operation, Operation::Plan));
        let lived = |stops: Stops| {
            let mut comparison = Comparison::new(limit(seed), Naive::visible).with_stops(stops);
            for operation in &history {
                assert_eq!(comparison.run(operation), Ok(()), "seed {seed}");
            }
            told(&comparison)
        };
        let ((without, all_reports), (with, reports)) =
            (lived(Stops::Never), lived(Stops::BeforeEachBatch));
        if reports < all_reports {
            continue;
        }
        compared += 1;
        let mut both = std::iter::zip(&without, &with);
        let differ = both.find(|(one, other)| one != other);
        assert_eq!(differ, None, "seed {seed}");
        assert_eq!(without.len(), with.len(), "seed {seed}");
    }
    assert!(compared > 300, "{compared} were compared");
}

/// A history with requests at rest only, because how far a part of a collection gets, and what is planned,
/// depends on UIDs.
fn without_parts(seed: u64) -> Vec<Operation> {
    let mut comparison = Comparison::new(limit(seed), Naive::visible);
    let (mut history, failed) = live_through(seed, SHORT, &mut comparison, |_| {});
    assert_eq!(failed, None, "seed {seed}");
    history.retain(|operation| !matches!(operation, Operation::Turn(_) | Operation::Plan));
    history
}

fn lived(history: &[Operation], uids: u64, seed: u64) -> Comparison {
    let mut comparison = Comparison::with_uids(uids, limit(seed), Naive::visible);
    for operation in history {
        assert_eq!(
            comparison.run(operation),
            Ok(()),
            "seed {seed}: {history:#?}"
        );
    }
    comparison
}

#[test]
fn other_uids_change_nothing() {
    for seed in 1..200 {
        let history = without_parts(seed);
        let rest_states = [0, 1, 2].map(|uids| lived(&history, uids, seed).rest_states().to_vec());
        assert!(!rest_states[0].is_empty(), "nothing was looked at");
        for other in &rest_states[1..] {
            assert_eq!(*other, rest_states[0], "seed {seed}: {history:#?}");
        }
    }
}

/// Creates a dependent of an owner of this kind that never existed.
fn garbage(world: &mut World, kind: Kind, number: usize) {
    let nobody = Reference {
        kind,
        name: "nobody".into(),
        uid: "nobody".into(),
        blocks: false,
    };
    let object = json!({"metadata": {"name": format!("garbage-{number}"),
        "ownerReferences": naive::references(&[nobody])}});
    let created = world.run(naive::create(Kind::ConfigMap, "n1", object));
    created.expect("created");
}

fn namespace_that_goes(world: &mut World, number: usize) {
    let name = format!("goes-{number}");
    let created = world.run(naive::create_namespace(&name));
    created.expect("created");
    let deleted = world.run(naive::delete(naive::key(Kind::Namespace, "", &name), None));
    deleted.expect("deleted");
}

#[test]
fn a_definition_ends_although_the_collector_never_rests() {
    type Load = fn(&mut World, usize);
    let loads: [(&str, Load); 3] = [
        ("garbage", |world, number| {
            garbage(world, Kind::ConfigMap, number);
        }),
        ("namespaces", namespace_that_goes),
        ("what names a kind that ends before", |world, number| {
            garbage(world, Kind::Gadget, number);
        }),
    ];
    for (what, load) in loads {
        let mut world = World::new();
        let created = world.run(naive::create_namespace("n1"));
        created.expect("created");
        let keys = [Kind::Gadget, Kind::Widget].map(|kind| {
            let name = kind.definition().expect("a custom kind");
            let definition = json!({"metadata": {"name": name}});
            let created = world.run(naive::create(Kind::Definition, "", definition));
            created.expect("created");
            naive::key(Kind::Definition, "", name)
        });
        load(&mut world, 0);
        for key in &keys {
            let deleted = world.run(naive::delete(key.clone(), None));
            deleted.expect("deleted");
        }
        let widgets = |world: &World| world.state.get(&keys[1]).is_some();
        for turn in 1..10 {
            load(&mut world, turn);
            assert!(world.turn(1), "{what} keep it from rest");
        }
        assert!(!widgets(&world), "{what} held the definition");
    }
}

/// A wrong oracle: it expects that no live object has two owners at rest.
fn wrong(naive: &Naive) -> Vec<Thing> {
    let mut things = naive.visible();
    things.retain(|one| one.deleting || one.owners.len() < 2);
    things
}

#[test]
fn a_history_that_fails_is_told_as_a_short_scenario() {
    let mut shrunk = 0;
    for seed in 1..20 {
        let mut comparison = Comparison::new(limit(seed), wrong);
        let (history, failed) = live_through(seed, SHORT, &mut comparison, |_| {});
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
        let path = write(seed, &least.scenario, "scenario");
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
        let text = lived(&without_parts(seed), 0, seed).scenario();
        let told = scenario::run(&text);
        assert_eq!(told, Ok(()), "{text}");
    }
}
