//! The size limit for every verb, and how an object that is too large can be removed.

use super::ROOM_BYTES;
use crate::command::Patch;
use crate::object::OBJECT_BYTES_MAX;
use crate::testing::World;
use crate::{Decision, Rejection};
use serde_json::{Value, json};

/// Upper bound of the bytes around the value in a sheet.
const AROUND: usize = 2000;

/// A deployment with one long value.
fn sheet(value: usize) -> Value {
    let pod = json!({"containers": [{"name": "c", "image": "i", "args": ["v".repeat(value)]}]});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}})
}

/// Many keys: their entries in `managedFields` take more bytes than the keys themselves.
fn keys(count: usize) -> Value {
    let data: Value = (0..count)
        .map(|at| (format!("k{at:06}"), Value::from("")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn apply(
    world: &mut World,
    manager: &str,
    resource: &str,
    config: Value,
) -> Result<Decision, Rejection> {
    world.manager(manager);
    world.patch(
        resource,
        "a",
        Patch::Apply {
            config,
            force: true,
            complaint: None,
        },
    )
}

fn length(world: &World, resource: &str) -> usize {
    world
        .get(resource, "a")
        .map_or(0, |object| object.body.len())
}

/// Whether the outcome is a refusal as too large; any other refusal panics, with a shortened message.
fn is_too_large(outcome: Result<Decision, Rejection>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(Rejection::TooLarge(_)) => true,
        Err(other) => panic!(
            "{}",
            other.to_string().chars().take(200).collect::<String>()
        ),
    }
}

#[test]
fn no_verb_makes_an_object_longer_than_the_bound() {
    const KIND: &str = "deployments";
    let (fits, too_long) = (sheet(OBJECT_BYTES_MAX - AROUND), sheet(OBJECT_BYTES_MAX));
    let merge = |object: &Value| Patch::Merge(json!({"spec": object["spec"]}));
    let mut world = World::new();
    assert!(is_too_large(world.create(KIND, too_long.clone())));
    for verb in ["create", "update", "patch", "apply"] {
        let mut world = World::new();
        if verb != "create" {
            world.create(KIND, sheet(1)).expect("a short one");
        }
        let mut send = |object: &Value| match verb {
            "create" => world.create(KIND, object.clone()),
            "update" => world.update(KIND, "", object.clone()),
            "patch" => world.patch(KIND, "a", merge(object)),
            _ => apply(&mut world, "m", KIND, object.clone()),
        };
        assert!(is_too_large(send(&too_long)), "{verb}");
        assert!(!is_too_large(send(&fits)), "{verb}");
        let stored = length(&world, KIND);
        assert!(
            (fits.to_string().len()..=OBJECT_BYTES_MAX).contains(&stored),
            "{verb}"
        );
    }
}

/// Each container lacks its name too.
#[test]
fn what_has_no_room_for_its_defaults_is_too_long_before_it_is_looked_at() {
    let pod = |containers: usize| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": vec![json!({}); containers]}})
    };
    let mut world = World::new();
    assert!(is_too_large(world.create("pods", pod(500_000))));
    let invalid = world.create("pods", pod(1));
    assert!(matches!(invalid, Err(Rejection::Invalid { .. })));
}

#[test]
fn managed_fields_that_make_an_object_too_long_are_dropped_but_not_by_an_apply() {
    let mut world = World::new();
    world.manager("m");
    world
        .create("configmaps", keys(120_000))
        .expect("it is there");
    let stored = world.get("configmaps", "a").expect("an object").document();
    assert_eq!(stored["metadata"].get("managedFields"), None);
    assert_eq!(
        stored["data"].as_object().map(serde_json::Map::len),
        Some(120_000)
    );
    let mut world = World::new();
    assert!(is_too_large(apply(
        &mut world,
        "m",
        "configmaps",
        keys(120_000)
    )));
    let mut share = |manager: usize| {
        let manager = format!("m{manager}");
        !is_too_large(apply(&mut world, &manager, "configmaps", keys(20_000)))
    };
    let taken = (0..20).take_while(|manager| share(*manager)).count();
    assert!((2..20).contains(&taken), "{taken}");
    assert!(length(&world, "configmaps") <= OBJECT_BYTES_MAX);
}

fn with_one_that_is_too_long() -> World {
    let mut world = World::new();
    let mut document = sheet(OBJECT_BYTES_MAX + 1000);
    document["metadata"] = json!({"name": "a", "namespace": "default", "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y", "x/z"]});
    world.find("deployments", document);
    world
}

#[test]
fn what_is_too_long_already_gets_shorter_and_goes() {
    let mut world = with_one_that_is_too_long();
    let mut patch =
        |patch: Value| !is_too_large(world.patch("deployments", "a", Patch::Merge(patch)));
    assert!(!patch(json!({"metadata": {"labels": {"a": "b"}}})));
    assert!(patch(json!({"metadata": {"finalizers": ["x/y"]}})));
    world
        .delete("deployments", "a", None)
        .expect("it is marked");
    let last = Patch::Merge(json!({"metadata": {"finalizers": []}}));
    assert!(!is_too_large(world.patch("deployments", "a", last)));
    assert_eq!(world.get("deployments", "a"), None);
    let mut world = with_one_that_is_too_long();
    assert!(!is_too_large(world.update("deployments", "", sheet(1))));
    assert!(length(&world, "deployments") < AROUND);
}

/// Each removal of a finalizer gives some room, but not on top of the room that an earlier one gave.
#[test]
fn an_object_that_loses_finalizers_again_and_again_does_not_grow_without_end() {
    let mut world = World::new();
    let mut document = sheet(OBJECT_BYTES_MAX - AROUND);
    document["metadata"]["finalizers"] = json!(["x/y"]);
    world.create("deployments", document).expect("it fits");
    let mut patch =
        |patch: Value| !is_too_large(world.patch("deployments", "a", Patch::Merge(patch)));
    let long = |count: usize| json!({"text": "v".repeat(count)});
    let grown = (1..6).take_while(|round| {
        let annotations = long(round * ROOM_BYTES / 2);
        let lets_go = json!({"metadata": {"finalizers": null, "annotations": annotations}});
        let holds = json!({"metadata": {"finalizers": ["x/y"]}});
        patch(lets_go) && patch(holds)
    });
    assert!(grown.count() < 3);
    assert!(length(&world, "deployments") <= OBJECT_BYTES_MAX + ROOM_BYTES);
}
