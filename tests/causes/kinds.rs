//! Owners whose kind becomes known, or is known no more.

use super::*;

/// A reference to a Gadget that never was.
fn ghost() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "uid": "ghost"})
}

/// The commit with which this user brings a custom kind.
fn define(world: &mut World, user: &str, kind: Kind) -> Revision {
    let name = kind.definition().expect("a definition");
    let definition = json!({"metadata": {"name": name}});
    let made = world.run_by(user, naive::create(Kind::Definition, "", definition));
    made.expect("created").commits[0].revision
}

/// The cause of the removal of `kid`, and the user behind it.
fn behind(world: &World) -> (Cause, String) {
    let kid = explained(world, &naive::key(Kind::ConfigMap, "n1", "kid"));
    let root = kid.root.expect("a root");
    (removal(world, "kid").cause, root.user)
}

#[test]
fn what_a_new_kind_takes_away_goes_because_of_its_definition() {
    for restarts in [false, true] {
        let mut world = world();
        let owner = create(&mut world, "own", &[], Value::Null);
        create(&mut world, "kid", &[&owner, &ghost()], Value::Null);
        delete(&mut world, "own", Policy::Background);
        world.settle(10);
        assert!(is_there(&world, "kid"), "an unknown kind protects it");
        let defined = define(&mut world, "alice", Kind::Gadget);
        define(&mut world, "bob", Kind::Widget);
        if restarts {
            world.restart();
        }
        world.settle(10);
        let expected = (Cause::Commit(defined), "alice".to_owned());
        assert_eq!(behind(&world), expected, "{restarts}");
    }
}

#[test]
fn so_does_what_had_no_owner_but_one_of_the_kind() {
    let mut world = world();
    create(&mut world, "kid", &[&ghost()], Value::Null);
    let defined = define(&mut world, "alice", Kind::Gadget);
    patch(&mut world, "kid", json!({"labels": {"touched": "since"}}));
    world.settle(10);
    assert_eq!(behind(&world), (Cause::Commit(defined), "alice".to_owned()));
}

/// The history of seed 60,005,042: another owner that never was makes no write of the object the cause.
#[test]
fn nor_is_a_later_write_the_cause_if_another_owner_never_was() {
    let mut world = world();
    let never = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "never"});
    create(&mut world, "kid", &[&ghost(), &never], Value::Null);
    let defined = define(&mut world, "alice", Kind::Gadget);
    patch(&mut world, "kid", json!({"labels": {"touched": "since"}}));
    world.settle(10);
    assert_eq!(behind(&world), (Cause::Commit(defined), "alice".to_owned()));
}

#[test]
fn a_definition_is_no_cause_for_who_came_later_or_for_what_happened_later() {
    let mut world = world();
    define(&mut world, "alice", Kind::Gadget);
    let owner = create(&mut world, "own", &[], Value::Null);
    create(&mut world, "kid", &[&owner, &ghost()], Value::Null);
    world.settle(10);
    let deleted = delete(&mut world, "own", Policy::Background);
    world.settle(10);
    assert_eq!(removal(&world, "kid").cause, Cause::Commit(deleted));

    let mut world = super::world();
    let owner = create(&mut world, "own", &[], Value::Null);
    create(&mut world, "kid", &[&owner, &ghost()], Value::Null);
    define(&mut world, "alice", Kind::Gadget);
    let deleted = delete(&mut world, "own", Policy::Background);
    world.settle(10);
    assert_eq!(removal(&world, "kid").cause, Cause::Commit(deleted));
}

#[test]
fn who_waits_for_its_dependents_loses_them_because_of_the_definition_that_came_after() {
    let mut world = world();
    let owner = create(&mut world, "own", &[], json!(["x/y"]));
    create(&mut world, "kid", &[&owner, &ghost()], Value::Null);
    delete(&mut world, "own", Policy::Foreground);
    world.settle(10);
    assert!(is_there(&world, "kid"), "an unknown kind protects it");
    let defined = define(&mut world, "alice", Kind::Gadget);
    world.settle(10);
    assert_eq!(behind(&world), (Cause::Commit(defined), "alice".to_owned()));
}

#[test]
fn what_became_of_an_owner_is_known_after_the_end_of_its_kind() {
    let mut world = world();
    let name = Kind::Gadget.definition().expect("a definition");
    let definition = json!({"metadata": {"name": name}});
    world
        .run(naive::create(Kind::Definition, "", definition))
        .expect("created");
    let gadget = json!({"metadata": {"name": "g"}});
    let made = world.run(naive::create(Kind::Gadget, "", gadget));
    let uid = made.expect("created").outcome.object().meta.uid.clone();
    let gadget =
        json!({"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "uid": uid.as_str()});
    let a = create(&mut world, "a", &[], Value::Null);
    create(&mut world, "kid", &[&a, &gadget], Value::Null);
    let key = naive::key(Kind::Gadget, "", "g");
    let deleted = world.run(naive::delete(key, Some(Policy::Background)));
    let gone = deleted.expect("accepted").commits[0].revision.0;
    world.settle(10);
    let at = revision(&world, "kid");
    let key = naive::key(Kind::Definition, "", name);
    let deleted = world.run(naive::delete(key, Some(Policy::Background)));
    deleted.expect("accepted");
    world.settle(10);
    delete(&mut world, "a", Policy::Background);
    world.settle(10);
    let expected = ("g".to_owned(), at, Some((EndedAs::Gone, gone)));
    assert_eq!(dropped(&world, "kid"), [expected]);
}
