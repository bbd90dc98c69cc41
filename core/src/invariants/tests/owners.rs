//! Whether an owner keeps its dependent, without the code of the decisions.

use super::{create, world};
use crate::command::Propagation;
use crate::invariants::owners::{Hold, hold};
use crate::testing::World;
use serde_json::{Value, json};

const OWNER: &str = "owner";

fn uid(world: &World, name: &str) -> String {
    let object = world.get("configmaps", name).expect("it is there");
    object.meta.uid.as_str().into()
}

/// Checks what the owner of a reference is to a config map with that reference.
#[track_caller]
fn holds(world: &mut World, wanted: Hold, change: &Value) {
    let mut reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": OWNER,
        "uid": uid(world, OWNER)});
    for (name, value) in change.as_object().expect("members") {
        reference[name] = value.clone();
    }
    let name = format!("d{}", world.commits.len());
    let dependent = create(world, json!({"name": name, "ownerReferences": [reference]}));
    let reference = &dependent.meta.owner_references[0];
    assert_eq!(
        hold(&world.state, &dependent, reference),
        wanted,
        "{change}"
    );
}

#[test]
fn who_is_there_by_name_and_identity_keeps_and_so_does_who_cannot_be_known() {
    let mut world = world();
    let held = uid(&world, "held");
    for (wanted, change) in [
        (Hold::Keeps, json!({})),
        (Hold::Left, json!({"uid": "another"})),
        (Hold::Left, json!({"name": "another"})),
        (Hold::Left, json!({"kind": "Secret"})),
        (Hold::Keeps, json!({"kind": "Nothing"})),
        (Hold::Keeps, json!({"apiVersion": "v2"})),
        (Hold::Keeps, json!({"apiVersion": "example.com/v1"})),
        // A kind that is never stored, so nothing can be known of an owner.
        (
            Hold::Keeps,
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}),
        ),
        // It is being deleted, but does not wait for dependents.
        (Hold::Keeps, json!({"name": "held", "uid": held})),
        (Hold::Left, json!({"kind": "Namespace", "name": "going"})),
    ] {
        holds(&mut world, wanted, &change);
    }
}

#[test]
fn who_waits_for_its_dependents_keeps_none_and_who_only_has_the_finalizer_does() {
    let mut world = world();
    let finalizers = json!(["foregroundDeletion"]);
    let live = create(
        &mut world,
        json!({"name": "live", "finalizers": finalizers}),
    );
    let live = json!({"name": "live", "uid": live.meta.uid.as_str()});
    holds(&mut world, Hold::Keeps, &live);
    world
        .delete("configmaps", OWNER, Some(Propagation::Foreground))
        .expect("marked");
    holds(&mut world, Hold::Waits, &json!({}));
}

#[test]
fn an_owner_is_looked_for_beside_its_dependent_or_where_there_are_no_namespaces() {
    let mut world = world();
    let class = json!({"metadata": {"name": "class"}, "value": 1});
    let class = world.create("priorityclasses", class);
    let class = class.expect("created").outcome.object().clone();
    let reference = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "name": "class", "uid": class.meta.uid.as_str()});
    holds(&mut world, Hold::Keeps, &reference);
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": OWNER,
        "uid": uid(&world, OWNER)});
    let metadata = json!({"name": "other", "ownerReferences": [reference]});
    let other = world.create("priorityclasses", json!({"metadata": metadata, "value": 1}));
    let other = other.expect("created").outcome.object().clone();
    let reference = &other.meta.owner_references[0];
    let found = hold(&world.state, &other, reference);
    assert_eq!(found, Hold::Keeps, "of no namespace");
}
