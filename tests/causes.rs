//! A removal names the commit that made it necessary, and not merely one that was near.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_core::{Cause, Commit, Revision};
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy};
use hindsight_tests::world::World;
use serde_json::{Value, json};

fn create(world: &mut World, name: &str, owners: &[&Value], finalizers: Value) -> Value {
    let metadata = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
    let object = json!({"metadata": metadata});
    let decision = world.run(naive::create(Kind::ConfigMap, "n1", object));
    let decision = decision.expect("created");
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "blockOwnerDeletion": true,
        "uid": decision.outcome.object().meta.uid.as_str()})
}

fn world() -> World {
    let mut world = World::new();
    world.run(naive::create_namespace("n1")).expect("created");
    world
}

fn delete(world: &mut World, name: &str, policy: Policy) -> Revision {
    let key = naive::key(Kind::ConfigMap, "n1", name);
    let decision = world
        .run(naive::delete(key, Some(policy)))
        .expect("accepted");
    decision.commits.last().expect("a commit").revision
}

fn patch(world: &mut World, name: &str, metadata: Value) {
    let key = naive::key(Kind::ConfigMap, "n1", name);
    let patched = world.run(naive::patch(key, json!({"metadata": metadata})));
    patched.expect("accepted");
}

/// The commit that removed this object.
fn removal(world: &World, name: &str) -> Commit {
    let changes = world.changes.iter();
    let mut commits = changes.map(|change| &change.commit);
    let found = commits.find(|commit| &*commit.key.name == name && commit.object().is_none());
    Commit::clone(found.expect("it is gone"))
}

#[test]
fn of_several_owners_the_last_to_go_is_the_cause() {
    let mut world = world();
    let (a, b) = (
        create(&mut world, "a", &[], Value::Null),
        create(&mut world, "b", &[], Value::Null),
    );
    create(&mut world, "dependent", &[&a, &b], Value::Null);
    delete(&mut world, "b", Policy::Background);
    let last = delete(&mut world, "a", Policy::Background);
    world.settle(10);
    assert_eq!(removal(&world, "dependent").cause, Cause::Commit(last));
}

#[test]
fn what_a_waiting_owner_takes_along_goes_because_of_its_mark() {
    let mut world = world();
    let owner = create(&mut world, "owner", &[], json!(["x/y"]));
    create(&mut world, "dependent", &[&owner], Value::Null);
    let mark = delete(&mut world, "owner", Policy::Foreground);
    patch(&mut world, "owner", json!({"labels": {"touched": "since"}}));
    world.settle(10);
    assert_eq!(removal(&world, "dependent").cause, Cause::Commit(mark));
}

#[test]
fn an_owner_is_let_go_because_of_its_mark_whatever_happened_since() {
    for policy in [Policy::Foreground, Policy::Orphan] {
        let mut world = world();
        let owner = create(&mut world, "owner", &[], Value::Null);
        create(&mut world, "dependent", &[&owner], json!(["x/y"]));
        let mark = delete(&mut world, "owner", policy);
        patch(&mut world, "owner", json!({"labels": {"touched": "since"}}));
        world.settle(10);
        patch(&mut world, "dependent", json!({"finalizers": null}));
        world.settle(10);
        assert_eq!(
            removal(&world, "owner").cause,
            Cause::Commit(mark),
            "{policy:?}"
        );
    }
}

/// What the removals of these name as their cause.
fn causes(world: &World, prefix: &str) -> Vec<Cause> {
    let removed = world.changes.iter().map(|change| &change.commit);
    let removed =
        removed.filter(|commit| commit.object().is_none() && commit.key.name.starts_with(prefix));
    removed.map(|commit| commit.cause.clone()).collect()
}

#[test]
fn a_restart_in_the_middle_of_a_cascade_forgets_no_cause() {
    let mut world = world();
    let top = create(&mut world, "top", &[], json!([]));
    let middle = create(&mut world, "middle", &[&top], json!([]));
    for number in 0..40 {
        create(&mut world, &format!("leaf{number}"), &[&middle], json!([]));
    }
    let deleted = delete(&mut world, "top", Policy::Background);
    while world.turn(1) {
        world.restart();
    }
    let middle = causes(&world, "middle");
    assert_eq!(middle, [Cause::Commit(deleted)]);
    let gone = world.changes.iter().map(|change| &change.commit);
    let mut gone = gone
        .filter(|commit| commit.object().is_none() && &*commit.key.name == "middle")
        .map(|commit| commit.revision);
    let expected = Cause::Commit(gone.next_back().expect("a removal"));
    assert_eq!(causes(&world, "leaf"), vec![expected; 40]);
}

#[test]
fn a_cascade_of_any_length_names_the_owner_to_its_end() {
    let mut world = world();
    let owner = create(&mut world, "owner", &[], json!([]));
    for number in 0..17_000 {
        create(&mut world, &format!("child{number}"), &[&owner], json!([]));
    }
    let deleted = delete(&mut world, "owner", Policy::Background);
    world.settle(500);
    assert_eq!(
        causes(&world, "child"),
        vec![Cause::Commit(deleted); 17_000]
    );
}

#[test]
fn an_owner_in_another_namespace_is_no_cause() {
    let mut world = world();
    world.run(naive::create_namespace("n2")).expect("created");
    let owner = create(&mut world, "owner", &[], json!([]));
    let elsewhere = json!({"metadata": {"name": "elsewhere"}});
    let elsewhere = world.run(naive::create(Kind::ConfigMap, "n2", elsewhere));
    let uid = elsewhere
        .expect("created")
        .outcome
        .object()
        .meta
        .uid
        .clone();
    let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere",
        "uid": uid.as_str()});
    create(&mut world, "child", &[&owner, &elsewhere], json!([]));
    let deleted = delete(&mut world, "owner", Policy::Background);
    let key = naive::key(Kind::ConfigMap, "n2", "elsewhere");
    let later = world.run(naive::delete(key, Some(Policy::Background)));
    later.expect("accepted");
    world.settle(1);
    assert_eq!(causes(&world, "child"), [Cause::Commit(deleted)]);
}
