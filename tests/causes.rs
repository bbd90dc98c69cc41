//! A removal names the commit that made it necessary, not merely one close to it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops where its ground is not what it expects"
)]

#[path = "causes/kinds.rs"]
mod kinds;
#[path = "causes/overruled.rs"]
mod overruled;

use hindsight_core::{Cause, Commit, ObjectKey, Revision};
use hindsight_projector::{End, EndedAs, Explanation, Subject, explain};
use hindsight_tests::naive;
use hindsight_tests::reference::{Kind, Policy};
use hindsight_tests::sim::check::replay::Read;
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

/// An object without owners.
fn create_alone(world: &mut World, name: &str) -> Value {
    create(world, name, &[], Value::Null)
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
    let [a, b] = ["a", "b"].map(|name| create_alone(&mut world, name));
    create(&mut world, "dependent", &[&a, &b], Value::Null);
    delete(&mut world, "b", Policy::Background);
    let last = delete(&mut world, "a", Policy::Background);
    world.settle(10);
    assert_eq!(removal(&world, "dependent").cause, Cause::Commit(last));
}

#[test]
fn of_several_owners_all_are_told_and_of_one_the_next_link_tells() {
    let mut world = world();
    let a = create(&mut world, "a", &[], json!(["x/y"]));
    let b = create_alone(&mut world, "b");
    create(&mut world, "one", &[&b], Value::Null);
    create(&mut world, "both", &[&a, &b], Value::Null);
    delete(&mut world, "b", Policy::Background);
    delete(&mut world, "a", Policy::Foreground);
    world.settle(10);
    let owners = |name: &str| {
        let found = explained(&world, &naive::key(Kind::ConfigMap, "n1", name));
        let owners = found.chain[0].owners.iter();
        let told = owners.map(|owner| (owner.name.clone(), owner.waits));
        told.collect::<Vec<_>>()
    };
    let both = [("a".to_owned(), true), ("b".to_owned(), false)];
    assert_eq!(owners("both"), both);
    assert_eq!(owners("one"), []);
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
fn an_owner_is_released_because_of_its_mark_whatever_happened_since() {
    for policy in [Policy::Foreground, Policy::Orphan] {
        let mut world = world();
        let owner = create_alone(&mut world, "owner");
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

/// The causes that the removals of objects with this prefix name.
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

fn explained(world: &World, key: &ObjectKey) -> Explanation {
    let subject = Subject {
        api_version: String::new(),
        kind: String::new(),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        uid: String::new(),
    };
    let log = Read::of(world.changes.iter().map(|change| &*change.commit));
    let found = explain(&log, &world.state, key, None, subject);
    found.unwrap_or_else(|never| match never {})
}

/// The revision of each link, and that of the other request that is reported with it.
fn links(found: &Explanation) -> Vec<(u64, Option<u64>)> {
    let links = found.chain.iter();
    let also = |link: &hindsight_projector::Link| link.also.as_ref().map(|also| also.revision.0);
    links.map(|link| (link.revision.0, also(link))).collect()
}

fn root(found: &Explanation) -> Option<Revision> {
    found.root.as_ref().map(|root| root.revision)
}

fn is_there(world: &World, name: &str) -> bool {
    let key = naive::key(Kind::ConfigMap, "n1", name);
    world.state.get(&key).is_some()
}

#[test]
fn who_goes_with_an_owner_that_was_made_to_wait_later_goes_because_of_that() {
    let mut world = world();
    let owner = create(&mut world, "own", &[], json!(["x/y"]));
    create(&mut world, "kid", &[&owner], Value::Null);
    let first = delete(&mut world, "own", Policy::Background);
    world.settle(10);
    assert!(is_there(&world, "kid"), "a finalizer holds its owner");
    let second = delete(&mut world, "own", Policy::Foreground);
    world.settle(10);

    let kid = explained(&world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    let gone = removal(&world, "kid").revision.0;
    let expected = [(gone, None), (second.0, Some(first.0))];
    assert_eq!((links(&kid), root(&kid)), (expected.to_vec(), Some(second)));

    let key = naive::key(Kind::ConfigMap, "n1", "own");
    let waiting = explained(&world, &key);
    assert_eq!(links(&waiting), [(first.0, Some(second.0))]);
    patch(&mut world, "own", json!({"finalizers": null}));
    world.settle(10);
    let own = explained(&world, &key);
    let gone = removal(&world, "own").revision.0;
    assert_eq!(links(&own), [(gone, None), (first.0, Some(second.0))]);
    assert_eq!(
        root(&own),
        Some(first),
        "it would have gone without the second"
    );
}

#[test]
fn who_orphans_what_another_deleted_is_told_with_the_first() {
    let mut world = world();
    let owner = create(&mut world, "own", &[], json!(["x/y"]));
    create(&mut world, "kid", &[&owner], Value::Null);
    let first = delete(&mut world, "own", Policy::Background);
    delete(&mut world, "own", Policy::Foreground);
    let last = delete(&mut world, "own", Policy::Orphan);
    world.settle(10);
    patch(&mut world, "own", json!({"finalizers": null}));
    world.settle(10);
    assert!(is_there(&world, "kid"));
    let own = explained(&world, &naive::key(Kind::ConfigMap, "n1", "own"));
    let asked = links(&own).pop();
    assert_eq!(asked, Some((first.0, Some(last.0))));
    assert_eq!(root(&own), Some(first));
}

#[test]
fn a_second_request_for_the_same_is_not_told() {
    let mut world = world();
    create(&mut world, "own", &[], json!(["x/y"]));
    let first = delete(&mut world, "own", Policy::Foreground);
    let key = naive::key(Kind::ConfigMap, "n1", "own");
    let again = world.run(naive::delete(key.clone(), Some(Policy::Foreground)));
    assert!(again.expect("accepted").commits.is_empty());
    patch(&mut world, "own", json!({"labels": {"touched": "since"}}));
    assert_eq!(links(&explained(&world, &key)), [(first.0, None)]);
}

#[test]
fn an_owner_that_waits_again_takes_along_because_of_the_last_time() {
    let mut world = world();
    let owner = create(&mut world, "own", &[], json!(["x/y"]));
    create(&mut world, "kid", &[&owner], Value::Null);
    let first = delete(&mut world, "own", Policy::Foreground);
    delete(&mut world, "own", Policy::Background);
    let last = delete(&mut world, "own", Policy::Foreground);
    patch(&mut world, "own", json!({"labels": {"touched": "since"}}));
    world.settle(10);
    let kid = explained(&world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    assert_eq!(links(&kid).pop(), Some((last.0, Some(first.0))));
    assert_eq!(root(&kid), Some(last));
}

#[test]
fn with_a_second_owner_too_it_is_the_later_request() {
    let mut world = world();
    let own = create(&mut world, "own", &[], json!(["x/y"]));
    let other = create_alone(&mut world, "other");
    create(&mut world, "kid", &[&own, &other], Value::Null);
    let first = delete(&mut world, "own", Policy::Background);
    delete(&mut world, "other", Policy::Background);
    world.settle(10);
    assert!(is_there(&world, "kid"), "one of its owners is there");
    let second = delete(&mut world, "own", Policy::Foreground);
    world.settle(10);
    let kid = explained(&world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    assert_eq!(links(&kid).pop(), Some((second.0, Some(first.0))));
    assert_eq!(root(&kid), Some(second));
}

#[test]
fn so_it_is_with_a_definition_that_an_instance_keeps() {
    let mut world = world();
    let name = Kind::Gadget.definition().expect("a definition");
    let definition = json!({"metadata": {"name": name}});
    let made = world.run(naive::create(Kind::Definition, "", definition));
    let uid = made.expect("created").outcome.object().meta.uid.clone();
    let gadget = json!({"metadata": {"name": "g", "finalizers": ["x/y"]}});
    world
        .run(naive::create(Kind::Gadget, "", gadget))
        .expect("created");
    let owner = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "name": name, "uid": uid.as_str(), "blockOwnerDeletion": true});
    let class = json!({"metadata": {"name": "kid", "ownerReferences": [owner]}, "value": 1});
    world
        .run(naive::create(Kind::PriorityClass, "", class))
        .expect("created");
    let key = naive::key(Kind::Definition, "", name);
    let delete = |world: &mut World, policy| {
        let decision = world.run(naive::delete(key.clone(), Some(policy)));
        world.settle(10);
        decision.expect("accepted").commits[0].revision
    };
    let first = delete(&mut world, Policy::Background);
    let kid = naive::key(Kind::PriorityClass, "", "kid");
    assert!(world.state.get(&kid).is_some());
    let second = delete(&mut world, Policy::Foreground);
    assert!(world.state.get(&kid).is_none());
    let kid = explained(&world, &kid);
    assert_eq!(links(&kid).pop(), Some((second.0, Some(first.0))));
    assert_eq!(root(&kid), Some(second));
}

/// A former owner of an object: its name, when it was dropped, and what had become of it.
type Before = (String, u64, Option<(EndedAs, u64)>);

fn dropped(world: &World, name: &str) -> Vec<Before> {
    let found = explained(world, &naive::key(Kind::ConfigMap, "n1", name));
    let told = found.chain.iter().flat_map(|link| &link.dropped);
    told.map(|one| {
        (
            one.name.clone(),
            one.revision.0,
            one.end.as_ref().map(ended),
        )
    })
    .collect()
}

fn ended(end: &End) -> (EndedAs, u64) {
    (end.ended, end.revision.0)
}

/// The current revision of this object.
fn revision(world: &World, name: &str) -> u64 {
    let found = world.state.get(&naive::key(Kind::ConfigMap, "n1", name));
    found.expect("it is there").revision.0
}

#[test]
fn owners_that_went_before_are_told_with_the_last() {
    let mut world = world();
    let mut make = |name| create(&mut world, name, &[], Value::Null);
    let (a, b, c, d) = (make("a"), make("b"), make("c"), make("d"));
    create(&mut world, "kid", &[&a, &b, &c, &d], Value::Null);
    create(&mut world, "one", &[&d], Value::Null);
    let mut dropped_at = Vec::new();
    for name in ["a", "b"] {
        let gone = delete(&mut world, name, Policy::Background);
        world.settle(10);
        let end = (EndedAs::Gone, gone.0);
        dropped_at.insert(0, (name.to_owned(), revision(&world, "kid"), Some(end)));
    }
    let of_c = delete(&mut world, "c", Policy::Background);
    let of_d = delete(&mut world, "d", Policy::Background);
    world.settle(10);
    assert_eq!(dropped(&world, "kid"), dropped_at);
    let kid = explained(&world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    let owners = kid.chain[0].owners.iter();
    let owners: Vec<_> = owners
        .map(|owner| (&*owner.name, owner.end.as_ref().map(ended)))
        .collect();
    let gone = |revision: Revision| Some((EndedAs::Gone, revision.0));
    assert_eq!(owners, [("c", gone(of_c)), ("d", gone(of_d))]);
    assert_eq!(dropped(&world, "one"), []);
}

#[test]
fn an_owner_is_gone_since_its_removal_and_by_whoever_asked_for_that() {
    let mut world = world();
    let a = create(&mut world, "a", &[], json!(["x/y"]));
    let b = create_alone(&mut world, "b");
    create(&mut world, "kid", &[&a, &b], Value::Null);
    let key = naive::key(Kind::ConfigMap, "n1", "a");
    let asked = world.run_by("alice", naive::delete(key, Some(Policy::Background)));
    asked.expect("accepted");
    patch(&mut world, "a", json!({"finalizers": null}));
    let gone = removal(&world, "a").revision;
    delete(&mut world, "b", Policy::Background);
    world.settle(10);
    let kid = explained(&world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    let end = kid.chain[0].owners[0].end.as_ref().expect("it is known");
    assert_eq!((end.revision, &*end.user), (gone, "alice"));
}

#[test]
fn an_owner_that_waited_or_orphaned_was_dropped_because_of_that() {
    for (policy, what) in [
        (Policy::Foreground, EndedAs::Waiting),
        (Policy::Orphan, EndedAs::Orphaning),
    ] {
        let mut world = world();
        let a = create(&mut world, "a", &[], json!(["x/y"]));
        let b = create_alone(&mut world, "b");
        create(&mut world, "kid", &[&a, &b], Value::Null);
        delete(&mut world, "a", Policy::Background);
        let mark = delete(&mut world, "a", policy);
        patch(&mut world, "a", json!({"labels": {"touched": "since"}}));
        world.settle(10);
        let at = revision(&world, "kid");
        delete(&mut world, "b", Policy::Background);
        world.settle(10);
        let expected = ("a".to_owned(), at, Some((what, mark.0)));
        assert_eq!(dropped(&world, "kid"), [expected], "{policy:?}");
    }
}

#[test]
fn an_owner_that_a_request_took_away_is_told_and_one_that_came_back_is_not() {
    let mut world = world();
    let [a, b] = ["a", "b"].map(|name| create_alone(&mut world, name));
    create(&mut world, "kid", &[&a, &b], Value::Null);
    patch(&mut world, "kid", json!({"ownerReferences": [b]}));
    delete(&mut world, "b", Policy::Background);
    patch(&mut world, "kid", json!({"ownerReferences": [a]}));
    let at = revision(&world, "kid");
    delete(&mut world, "a", Policy::Background);
    world.settle(10);
    assert_eq!(dropped(&world, "kid"), [("b".to_owned(), at, None)]);
}

#[test]
fn a_deletion_by_a_request_is_explained_without_owners() {
    let mut world = world();
    let [a, b] = ["a", "b"].map(|name| create_alone(&mut world, name));
    create(&mut world, "kid", &[&a, &b], Value::Null);
    delete(&mut world, "a", Policy::Background);
    world.settle(10);
    delete(&mut world, "kid", Policy::Background);
    assert_eq!(dropped(&world, "kid"), []);
}
