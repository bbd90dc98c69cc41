//! Whose turn it is, and when those who wait for others are looked at again.

use super::{CONFIG_MAPS, NAMESPACES, config_map, deleted, keep_only, namespace_that_goes, pruned};
use crate::collector::{AGAIN_MAX, Collector};
use crate::testing::{empty, put, world, write};
use crate::trial::carry_out;
use hindsight_core::{Commit, Rejection, State, Time};
use hindsight_projector::OwnershipGraph;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// Collectors for what is left of this state after a first batch: one that carried it out, one that begins then, and,
/// with the state from before, one whose batch was not decided.
fn after_a_batch(state: &State, limit: usize) -> [(Collector, State); 3] {
    let mut running = Collector::new(state);
    let batch = running.next_batch(state, Time(0), limit);
    let mut postponed = running.clone();
    postponed.postpone(batch.len());
    let mut later = state.clone();
    let mut commits: Vec<Arc<Commit>> = Vec::new();
    for step in batch {
        let done = carry_out(&mut later, step.command(Time(0), [0; 16]));
        let (_, changes) = done.expect("accepted");
        changes.iter().for_each(|change| running.observe(change));
        running.settle(std::iter::once(Ok(())));
        commits.extend(changes.into_iter().map(|change| change.commit));
    }
    let mut begun = Collector::new(&later);
    let back = commits.iter().rev().map(Ok::<_, Infallible>);
    begun
        .recall(back.map(|read| read.map(|commit| &**commit)))
        .expect("it reads");
    [
        (running, later.clone()),
        (begun, later),
        (postponed, state.clone()),
    ]
}

#[test]
fn whoever_comes_has_its_turn_after_those_who_were_to_come_next() {
    let state = world(&[("b", &["gone"]), ("c", &["gone"])]);
    for (mut collector, mut state) in after_a_batch(&state, 1) {
        let newcomer = write(&mut state, CONFIG_MAPS, config_map("n", "a"));
        collector.observe(&newcomer);
        let batch = collector.next_batch(&state, Time(0), 1);
        assert_eq!(
            deleted(&batch).iter().map(|one| one.1).collect::<Vec<_>>(),
            ["c"]
        );
    }
}

#[test]
fn namespaces_that_are_emptied_take_turns() {
    let mut state = namespace_that_goes(20);
    let document = json!({"apiVersion": "v1", "kind": "Namespace", "metadata":
        {"name": "later", "deletionTimestamp": "2024-01-01T00:00:00Z"}, "spec": {"finalizers": ["kubernetes"]}});
    put(&mut state, NAMESPACES, document);
    put(&mut state, CONFIG_MAPS, config_map("later", "last"));
    let first = Collector::new(&state).next_batch(&state, Time(0), 4);
    assert!(deleted(&first).iter().all(|one| one.1 != "last"));
    for (mut collector, state) in after_a_batch(&state, 4) {
        let batch = collector.next_batch(&state, Time(0), 4);
        assert!(deleted(&batch).iter().any(|one| one.1 == "last"));
    }
}

#[test]
fn jobs_that_are_due_and_never_fit_leave_half_of_each_batch_to_others() {
    let ended = json!({"type": "Complete", "status": "True",
        "lastTransitionTime": "1969-01-01T00:00:00Z"});
    for (others, expected) in [(3, "a0 a1 j0 j1"), (1, "a0 j0 j1 j2"), (0, "j0 j1 j2 j3")] {
        let mut state = empty();
        for number in 0..9 {
            let metadata = json!({"name": format!("j{number}"), "namespace": "n"});
            let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
                "spec": {"ttlSecondsAfterFinished": 1}, "status": {"conditions": [ended]}});
            put(&mut state, ("batch", "jobs"), job);
        }
        for number in 0..others {
            let other = config_map("n", &format!("a{number}"));
            put(&mut state, CONFIG_MAPS, other);
        }
        let mut collector = Collector::new(&state);
        let batch = collector.next_batch(&state, Time(0), 4);
        let mut found: Vec<&str> = deleted(&batch).iter().map(|one| one.1).collect();
        found.sort_unstable();
        assert_eq!(found.join(" "), expected);
    }
}

/// More dependents than are looked at again in one turn. Each has the owner `above`, which is decided first, and one
/// that is gone. One of the owners of `above` waits for it.
fn dependents() -> (Vec<String>, State) {
    let names: Vec<String> = (0..=AGAIN_MAX).map(|number| format!("d{number}")).collect();
    let both: &[&str] = &["above", "gone"];
    let dependents = names.iter().map(|name| (&**name, both));
    let above: [(&str, &[&str]); 3] = [
        ("stays", &[]),
        ("waits!foregroundDeletion,x/y", &[]),
        ("above", &["stays", "waits"]),
    ];
    let all: Vec<(&str, &[&str])> = above.into_iter().chain(dependents).collect();
    let state = world(&all);
    (names, state)
}

/// The owner of `above` waits no more, so that nothing happens to `above` itself.
#[test]
fn all_who_wait_for_one_are_looked_at_as_soon_as_it_is_decided() {
    let (names, mut state) = dependents();
    let mut collector = Collector::new(&state);
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch), ["above"]);
    collector.settle(std::iter::once(Err(&Rejection::Internal("no".into()))));
    let owner = state.objects().find(|object| &*object.key.name == "waits");
    let owner = owner.cloned().expect("the owner");
    keep_only(&mut collector, &mut state, &owner, "x/y");
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch).len(), names.len());
}

/// Nobody tells the collector that there is nothing left to decide about the owner and most of its dependents; only
/// its graph shows it. The others must not wait for ever.
#[test]
fn all_who_wait_are_looked_at_when_nothing_else_can_be_done() {
    let (names, mut state) = dependents();
    let mut collector = Collector::new(&state);
    assert_eq!(collector.next_batch(&state, Time(0), 100).len(), 1);
    collector.settle(std::iter::once(Err(&Rejection::Internal("no".into()))));
    let (last, others) = names.split_last().expect("dependents");
    let others = others.iter().map(|name| &**name);
    for name in others.chain(["above"]) {
        let metadata = json!({"name": name, "namespace": "n"});
        let freed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        write(&mut state, CONFIG_MAPS, freed);
    }
    collector.graph = OwnershipGraph::rebuild(&state);
    let batch = collector.next_batch(&state, Time(0), 100);
    assert_eq!(pruned(&batch), [last]);
}
