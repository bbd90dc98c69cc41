//! Owners that were to orphan their dependents, until a later request decided otherwise.

use super::*;

const OWNER: &str = "own";

/// Runs a request of this user about the owner; returns the revision.
fn ask(world: &mut World, user: &str, how: Result<Policy, Value>) -> Revision {
    let key = naive::key(Kind::ConfigMap, "n1", OWNER);
    let intent = match how {
        Ok(policy) => naive::delete(key, Some(policy)),
        Err(finalizers) => naive::patch(key, json!({"metadata": {"finalizers": finalizers}})),
    };
    let decision = world.run_by(user, intent).expect("accepted");
    decision.commits[0].revision
}

/// An owner with these finalizers, and an object that it has.
fn owned(finalizers: Value) -> World {
    let mut world = world();
    let owner = create(&mut world, OWNER, &[], finalizers);
    create(&mut world, "kid", &[&owner], Value::Null);
    world
}

fn explained_by_name(world: &World, name: &str) -> Explanation {
    explained(world, &naive::key(Kind::ConfigMap, "n1", name))
}

#[test]
fn who_goes_with_an_owner_that_was_to_orphan_it_goes_because_of_who_removed_that() {
    for how in [Ok(Policy::Background), Err(Value::Null)] {
        let mut world = owned(Value::Null);
        let first = ask(&mut world, "alice", Ok(Policy::Orphan));
        let last = ask(&mut world, "bob", how);
        world.settle(10);
        let gone = removal(&world, "kid").revision.0;
        assert_eq!(removal(&world, OWNER).revision, last);
        let kid = explained_by_name(&world, "kid");
        assert_eq!(links(&kid), [(gone, None), (last.0, Some(first.0))]);
        let root = kid.root.expect("a root");
        assert_eq!((&*root.user, root.revision), ("bob", last));
        let own = explained_by_name(&world, OWNER);
        assert_eq!(links(&own), [(last.0, None), (first.0, None)]);
        assert_eq!(own.root.expect("a root").user, "alice");
    }
}

#[test]
fn so_it_is_if_a_finalizer_kept_the_owner_until_later() {
    for how in [Ok(Policy::Background), Err(json!(["x/y"]))] {
        let mut world = owned(json!(["x/y"]));
        let first = ask(&mut world, "alice", Ok(Policy::Orphan));
        let second = ask(&mut world, "bob", how);
        world.settle(10);
        assert!(is_there(&world, "kid"));
        let last = ask(&mut world, "carol", Err(Value::Null));
        world.settle(10);
        let gone = removal(&world, "kid").revision.0;
        let kid = explained_by_name(&world, "kid");
        let expected = [(gone, None), (last.0, None), (second.0, Some(first.0))];
        assert_eq!(links(&kid), expected);
        assert_eq!(kid.root.expect("a root").user, "bob");
    }
}

#[test]
fn of_several_owners_that_one_is_gone_by_who_removed_it() {
    let mut world = world();
    let own = create(&mut world, OWNER, &[], Value::Null);
    let other = create_alone(&mut world, "other");
    create(&mut world, "kid", &[&own, &other], Value::Null);
    ask(&mut world, "alice", Ok(Policy::Orphan));
    ask(&mut world, "bob", Ok(Policy::Background));
    delete(&mut world, "other", Policy::Background);
    world.settle(10);
    let kid = explained_by_name(&world, "kid");
    let end = kid.chain[0].owners[0].end.as_ref().expect("it is known");
    assert_eq!((end.ended, &*end.user), (EndedAs::Gone, "bob"));
}
