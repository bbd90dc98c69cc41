//! Rules that are evaluated in a turn of the writer, and rules that take longer than one.

use super::{Evaluation, Passed};
use crate::command::{Create, FieldValidation, Patch, PatchObject};
use crate::schema::{Held, Schema};
use crate::testing::World;
use crate::{Actor, Command, Decision, Intent, Rejection, Time, decide, decide_aside};
use serde_json::{Value, json};
use std::sync::Arc;

/// A world with a kind whose rule compares every item with every other, and whose names must match a pattern.
fn world() -> World {
    let mut world = World::new();
    define(
        &mut world,
        "self.items.all(one, self.items.all(other, one == other || one != 'bad'))",
    );
    world
}

fn define(world: &mut World, rule: &str) {
    let items = json!({"type": "array", "maxItems": 500, "items": {"type": "string"}});
    let name = json!({"type": "string", "pattern": "^([a-z]+-?)+$"});
    let spec = json!({"type": "object", "properties": {"items": items, "name": name, "size": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": rule}]});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({"metadata": {"name": "things.x.io"}, "spec": {"group": "x.io", "scope": "Namespaced",
        "versions": [version], "names": {"plural": "things", "kind": "Thing"}}});
    let done = match world.get("customresourcedefinitions", "things.x.io") {
        Some(_) => world.patch(
            "customresourcedefinitions",
            "things.x.io",
            Patch::Merge(definition),
        ),
        None => world.create("customresourcedefinitions", definition),
    };
    done.expect("defined");
}

fn thing(items: usize, last: &str) -> Value {
    let mut items: Vec<String> = (0..items).map(|number| format!("i{number}")).collect();
    items.push(last.into());
    json!({"metadata": {"name": "a"}, "spec": {"items": items, "name": "a-b"}})
}

fn create(world: &World, object: Value) -> Command {
    let intent = Intent::Create(Create {
        key: crate::ObjectKey {
            name: "".into(),
            ..world.key("things", "")
        },
        version: "v1".into(),
        object,
        validation: FieldValidation::Warn,
    });
    Command::new(Arc::new(Actor::new("tester")), Time(7), [7; 16], intent)
}

fn patch(world: &World, change: Value) -> Command {
    let intent = Intent::Patch(PatchObject {
        key: world.key("things", "a"),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(change),
        validation: FieldValidation::Warn,
    });
    Command::new(Arc::new(Actor::new("tester")), Time(8), [8; 16], intent)
}

fn decided(
    world: &World,
    command: &Command,
    evaluation: Evaluation,
) -> Result<Decision, Rejection> {
    let command = Command {
        evaluation,
        ..command.clone()
    };
    decide(&world.state, command)
}

/// Decides aside what is too long for a turn, and returns how the writer is to decide it then.
fn passed(world: &World, command: &Command) -> Evaluation {
    let (decided_aside, passed) = decide_aside(&world.state, command.clone());
    let whole = decided(world, command, Evaluation::Whole);
    assert_eq!(shown(decided_aside), shown(whole));
    Evaluation::Passed(Box::new(passed.expect("it is valid")))
}

fn shown(decided: Result<Decision, Rejection>) -> String {
    format!("{decided:?}")
}

fn is_stale(decided: &Result<Decision, Rejection>) -> bool {
    matches!(decided, Err(Rejection::Stale { .. }))
}

#[test]
fn a_turn_decides_as_always_or_not_at_all() {
    let world = world();
    let mut turns = [0, 0];
    for items in 0..60 {
        for last in ["good", "bad"] {
            let command = create(&world, thing(items, last));
            let brief = decided(&world, &command, Evaluation::Brief);
            let is_stale = is_stale(&brief);
            turns[usize::from(is_stale)] += 1;
            if !is_stale {
                let whole = decided(&world, &command, Evaluation::Whole);
                assert_eq!(shown(brief), shown(whole), "{items}");
            }
        }
    }
    assert!(turns.iter().all(|turns| *turns > 10), "{turns:?}");
}

#[test]
fn texts_that_take_long_to_match_are_not_matched_in_a_turn() {
    let world = world();
    for (length, expected) in [(10, false), (50_000, true)] {
        let mut object = thing(1, "good");
        object["spec"]["name"] = json!("a".repeat(length));
        let command = create(&world, object);
        let brief = decided(&world, &command, Evaluation::Brief);
        assert_eq!(is_stale(&brief), expected, "{length}");
        let passed = passed(&world, &command);
        assert!(decided(&world, &command, passed).is_ok());
    }
}

#[test]
fn what_passed_is_not_evaluated_again_and_what_is_wrong_does_not_pass() {
    let world = world();
    let command = create(&world, thing(150, "good"));
    assert!(is_stale(&decided(&world, &command, Evaluation::Brief)));
    let passed = passed(&world, &command);
    let whole = decided(&world, &command, Evaluation::Whole);
    assert_eq!(shown(decided(&world, &command, passed)), shown(whole));
    let wrong = create(&world, thing(150, "bad"));
    let (refused, passed) = decide_aside(&world.state, wrong);
    assert!(
        matches!(refused, Err(Rejection::Invalid { .. })),
        "{refused:?}"
    );
    assert!(passed.is_none());
}

#[test]
fn what_passed_holds_for_its_document_its_old_version_and_its_schema_alone() {
    let mut world = world();
    let first = create(&world, thing(150, "good"));
    let of_first = passed(&world, &first);
    let other = create(&world, thing(151, "good"));
    assert!(is_stale(&decided(&world, &other, of_first.clone())));
    let short = create(&world, thing(3, "bad"));
    let refused = decided(&world, &short, of_first);
    assert!(
        matches!(refused, Err(Rejection::Invalid { .. })),
        "{refused:?}"
    );

    world.create("things", thing(150, "good")).expect("created");
    let change = patch(
        &world,
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 1}}),
    );
    let of_change = passed(&world, &change);
    assert!(decided(&world, &change, of_change.clone()).is_ok());
    // The same document as a change of another version.
    world
        .patch("things", "a", Patch::Merge(json!({"spec": {"size": 2}})))
        .expect("patched");
    assert!(is_stale(&decided(&world, &change, of_change)));
    let again = passed(&world, &change);
    define(
        &mut world,
        "self.items.all(one, self.items.all(other, one == other || one != 'i3'))",
    );
    assert!(is_stale(&decided(&world, &change, again)));
}

#[test]
fn what_passed_as_a_change_of_one_version_has_not_as_that_of_another() {
    let [new, old, other] = ["new", "old", "other"].map(|name| json!({"a": name}));
    for (passed, asked) in [
        (Some(&old), Some(&other)),
        (Some(&old), None),
        (None, Some(&old)),
    ] {
        let passed_as = Passed::new(None, &new, passed);
        assert!(passed_as.is_of(None, &new, passed));
        assert!(!passed_as.is_of(None, &new, asked), "{passed:?} {asked:?}");
    }
}

#[test]
fn what_passed_as_a_status_has_not_as_an_object() {
    let (schema, new) = (Arc::new(Schema::default()), json!({"a": "b"}));
    for (passed, asked) in [(Held::Status, Held::Object), (Held::Object, Held::Status)] {
        let passed_as = Passed::new(Some((&schema, passed)), &new, None);
        assert!(passed_as.is_of(Some((&schema, passed)), &new, None));
        assert!(
            !passed_as.is_of(Some((&schema, asked)), &new, None),
            "{asked:?}"
        );
    }
}

#[test]
fn a_definition_takes_longer_than_a_turn() {
    let world = world();
    let change = |labels: &str| {
        let intent = Intent::Patch(PatchObject {
            key: world.key("customresourcedefinitions", "things.x.io"),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"labels": {"a": labels}}})),
            validation: FieldValidation::Warn,
        });
        Command::new(Arc::new(Actor::new("tester")), Time(8), [8; 16], intent)
    };
    let [one, other] = ["one", "other"].map(change);
    assert!(is_stale(&decided(&world, &one, Evaluation::Brief)));
    let of_one = passed(&world, &one);
    assert!(decided(&world, &one, of_one.clone()).is_ok());
    assert!(is_stale(&decided(&world, &other, of_one)));
}

#[test]
fn objects_without_such_rules_have_nothing_to_spare() {
    let mut world = World::new();
    let map = json!({"metadata": {"name": "a"}});
    let intent = Intent::Create(Create {
        key: world.key("configmaps", ""),
        version: "v1".into(),
        object: map,
        validation: FieldValidation::Warn,
    });
    let command = Command::new(Arc::new(Actor::new("tester")), Time(7), [7; 16], intent);
    let (decided_aside, passed) = decide_aside(&world.state, command.clone());
    assert!(decided_aside.is_ok() && passed.is_none());
    assert!(decided(&world, &command, Evaluation::Brief).is_ok());
    world
        .create("configmaps", json!({"metadata": {"name": "a"}}))
        .expect("created");
}
