//! Definitions that wait for names: more than get them by one decision.

use super::super::NAMED_BYTES_MAX;
use super::{DEFINITIONS, longest, named, remove, said};
use crate::command::{FieldValidation, Patch, PatchObject};
use crate::kind::Subresource;
use crate::object::{OBJECT_BYTES_MAX, ObjectKey};
use crate::testing::World;
use crate::{Decision, Intent, next_to_be_named};
use serde_json::json;

/// Asks for what the server says of a definition, as the collector does.
fn settle(world: &mut World, name: &str) -> Decision {
    let intent = Intent::Patch(PatchObject {
        key: ObjectKey::definition(name),
        version: "v1".into(),
        subresource: Some(Subresource::Status),
        patch: Patch::Merge(json!({})),
        validation: FieldValidation::Ignore,
    });
    world.run(intent).expect("settled")
}

fn next(world: &World) -> Option<String> {
    let next = next_to_be_named(&world.state, &ObjectKey::definition("any.example.com"))?;
    Some(next.key.name.to_string())
}

fn bytes(decision: &Decision) -> usize {
    let objects = decision.commits.iter().filter_map(|commit| commit.object());
    objects.map(|object| object.body.len()).sum()
}

#[test]
fn more_than_a_record_may_hold_get_their_names_one_decision_after_the_other() {
    const COUNT: usize = 8;
    let wanted: Vec<String> = (0..COUNT).map(|index| format!("x{index}")).collect();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let mut world = World::new();
    let first = world.create(DEFINITIONS, named("as", "A", &wanted));
    first.expect("a definition");
    for (index, short) in wanted.iter().enumerate() {
        let mut long = named(&format!("b{index}s"), &format!("B{index}"), &[*short]);
        let schema = &mut long["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["description"] = "x".repeat(OBJECT_BYTES_MAX / 2).into();
        world.create(DEFINITIONS, long).expect("a definition");
    }
    assert_eq!(next(&world), None);
    let marked = world.delete(DEFINITIONS, "as.example.com", None);
    marked.expect("marked");
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let gone = world.patch(DEFINITIONS, "as.example.com", free);
    let mut decision = gone.expect("gone");
    let mut decisions = 1;
    while let Some(name) = next(&world) {
        assert!(bytes(&decision) <= NAMED_BYTES_MAX + OBJECT_BYTES_MAX);
        decision = settle(&mut world, &name);
        decisions += 1;
    }
    assert!(bytes(&decision) <= NAMED_BYTES_MAX + OBJECT_BYTES_MAX);
    assert_eq!(decisions, 3, "two of them, then three, then three");
    for index in 0..COUNT {
        let served = said(&world, &format!("b{index}s")).1;
        assert_eq!(served, Some(format!("B{index}")));
    }
}

#[test]
fn one_that_may_not_get_longer_gets_its_name_when_it_is_asked_for() {
    let mut world = longest();
    let stored = |world: &World| {
        let stored = world.get(DEFINITIONS, "bs.example.com");
        stored.expect("a definition").document()
    };
    let waits = stored(&world);
    remove(&mut world, "as");
    assert_eq!(next(&world), None);
    world.find(DEFINITIONS, waits);
    assert_eq!(next(&world).as_deref(), Some("bs.example.com"));
    settle(&mut world, "bs.example.com");
    assert_eq!(next(&world), None);
    let named = stored(&world);
    assert_eq!(named["status"]["acceptedNames"]["shortNames"], json!(["x"]));
    assert!(named["metadata"]["managedFields"].is_array());
}
