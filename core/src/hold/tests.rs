//! What holds stored objects, and who lets go of it.

use super::{Hold, holds, holds_next};
use crate::testing::World;
use serde_json::{Value, json};

/// What holds this object, in the order in which it is told, and whether clients let go of it.
#[track_caller]
fn held(world: &mut World, resource: &str, mut document: Value) -> Vec<(Hold<'static>, bool)> {
    let name = document["metadata"]["name"].clone();
    document["metadata"]["uid"] = name.clone();
    world.find(resource, document);
    let name = name.as_str().expect("a name");
    let object = world.get(resource, name).expect("it is stored");
    let held: Vec<Hold<'_>> = holds(&world.state, &object).collect();
    let document = object.document();
    let after: Vec<Hold<'_>> = holds_next(&world.state, &object, &document).collect();
    assert_eq!(held, after, "after a write that changes nothing");
    let owned = |hold: Hold<'_>| match hold {
        Hold::Finalizer(name) => Hold::Finalizer(String::leak(name.to_owned())),
        Hold::Token(name) => Hold::Token(name.into_owned().into()),
        Hold::Contents => Hold::Contents,
        Hold::Seconds(seconds) => Hold::Seconds(seconds),
    };
    let told = held.into_iter().map(owned);
    told.map(|hold| (hold.clone(), hold.is_of_clients()))
        .collect()
}

#[test]
fn all_that_holds_an_object_is_found() {
    let mut world = World::new();
    let content = json!({"metadata": {"name": "a"}});
    world.create("configmaps", content).expect("created");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes", "x/t"]},
        "metadata": {"name": "default", "finalizers": ["foregroundDeletion", "x/f"]}});
    let expected = [
        (Hold::Finalizer("foregroundDeletion"), false),
        (Hold::Finalizer("x/f"), true),
        (Hold::Token("kubernetes".into()), false),
        (Hold::Token("x/t".into()), true),
        (Hold::Contents, false),
    ];
    assert_eq!(held(&mut world, "namespaces", namespace), expected);
    let cleanup = "customresourcecleanup.apiextensions.k8s.io";
    for (metadata, expected) in [
        (
            json!({"finalizers": [cleanup]}),
            vec![(Hold::Finalizer(cleanup), false)],
        ),
        (
            json!({"finalizers": ["orphan"]}),
            vec![(Hold::Finalizer("orphan"), false)],
        ),
        (
            json!({"deletionGracePeriodSeconds": 7}),
            vec![(Hold::Seconds(7), true)],
        ),
        (json!({"deletionGracePeriodSeconds": 0}), Vec::new()),
        (json!({}), Vec::new()),
    ] {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
        pod["metadata"]["name"] = json!("p");
        assert_eq!(held(&mut world, "pods", pod.clone()), expected, "{pod}");
    }
}

#[test]
fn instances_hold_their_definition() {
    let mut world = World::new();
    let definition = world.define_things(&[]);
    assert_eq!(holds(&world.state, &definition).next(), None);
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}});
    world.create("things", thing).expect("created");
    let held: Vec<Hold<'_>> = holds(&world.state, &definition).collect();
    assert_eq!(held, [Hold::Contents]);
}
