//! A namespace is not removed before its contents, nor a definition before its instances, whatever is
//! written to them.

use crate::command::{
    Basis, Collect, FieldValidation, FinalizeNamespace, Patch, PatchObject, Propagation, Release,
    Target,
};
use crate::object::ServerFinalizer;
use crate::testing::World;
use crate::{GroupResource, Intent, ObjectKey, Rejection};
use serde_json::{Value, json};

/// A namespace in deletion that has one object left, but whose own list of finalizers is empty.
fn let_go_before() -> World {
    let mut world = World::new();
    let team = json!({"metadata": {"name": "team"}});
    world.create("namespaces", team).expect("created");
    finalize(&mut world, json!([])).expect("it is live");
    let held = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}});
    let created = world.create_in("team", "configmaps", held);
    created.expect("created");
    let policy = Some(Propagation::Foreground);
    world.delete("namespaces", "team", policy).expect("marked");
    world
}

fn finalize(world: &mut World, tokens: Value) -> Result<crate::Decision, Rejection> {
    let namespace = json!({"metadata": {"name": "team"}, "spec": {"finalizers": tokens}});
    world.update("namespaces", "finalize", namespace)
}

fn merge(world: &mut World, resource: &str, name: &str, patch: Value) -> Result<(), Rejection> {
    let patched = world.patch(resource, name, Patch::Merge(patch));
    patched.map(|_| ())
}

fn target(world: &World, resource: &str, name: &str) -> Target {
    let object = world.get(resource, name).expect("it is there");
    Target {
        key: object.key.clone(),
        uid: Some(object.meta.uid.clone()),
        revision: None,
    }
}

fn content_of_team(world: &World) -> Vec<String> {
    let contents = world.state.contents("team");
    contents.map(|object| object.key.to_string()).collect()
}

#[test]
fn a_namespace_is_not_let_go_while_something_is_left_in_it() {
    let mut world = let_go_before();
    let refused = finalize(&mut world, json!([])).expect_err("it has contents");
    let text = refused.to_string();
    assert!(matches!(refused, Rejection::Conflict { .. }), "{text}");
    assert!(text.contains("1 of configmaps"), "{text}");
    finalize(&mut world, json!(["x/z"])).expect("it is not let go by this");
    assert_eq!(content_of_team(&world), ["configmaps team/a"]);
}

#[test]
fn what_else_is_written_to_a_namespace_with_contents_is_no_removal() {
    let mut world = let_go_before();
    let patch = json!({"metadata": {"labels": {"a": "b"}, "finalizers": null}});
    merge(&mut world, "namespaces", "team", patch).expect("written");
    let again = world.delete("namespaces", "team", None).expect("accepted");
    assert!(again.commits.is_empty(), "it is being deleted already");
    let mut world = let_go_before();
    let released = world.run(Intent::Collect(Collect::Release(Release {
        owner: target(&world, "namespaces", "team"),
        finalizer: ServerFinalizer::Foreground,
        basis: Basis::at(world.state.revision),
    })));
    released.expect("written");
    let left = world.get("namespaces", "team").expect("it is still there");
    assert_eq!(left.meta.finalizers.len(), 0);
}

#[test]
fn an_empty_namespace_that_nothing_holds_is_let_go() {
    let mut world = let_go_before();
    let let_go = |world: &mut World| {
        world.run(Intent::Collect(Collect::FinalizeNamespace(
            FinalizeNamespace {
                target: target(world, "namespaces", "team"),
            },
        )))
    };
    let patch = json!({"metadata": {"finalizers": null}});
    merge(&mut world, "namespaces", "team", patch).expect("written");
    let early = let_go(&mut world);
    assert!(matches!(early, Err(Rejection::Stale { .. })), "{early:?}");
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "team", "a");
    let marked = world.delete_with("configmaps", "a", |delete| delete.target.key = key.clone());
    marked.expect("marked");
    let freed = world.run(Intent::Patch(PatchObject {
        key,
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({"metadata": {"finalizers": null}})),
        validation: FieldValidation::Warn,
    }));
    freed.expect("gone");
    let_go(&mut world).expect("it is empty");
    assert_eq!(world.get("namespaces", "team"), None);
}

#[test]
fn a_definition_keeps_its_finalizer_while_an_instance_is_left() {
    let mut world = World::new();
    world.define_things(&[]);
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing",
        "metadata": {"name": "t", "finalizers": ["x/y"]}});
    world.create("things", thing).expect("created");
    let definitions = "customresourcedefinitions";
    let marked = world.delete(definitions, "things.x.io", None);
    marked.expect("marked");
    let strip = json!({"metadata": {"finalizers": null}});
    let refused = merge(&mut world, definitions, "things.x.io", strip.clone());
    let text = refused.expect_err("an instance is left").to_string();
    assert!(text.contains("things.x.io default/t among them"), "{text}");
    let release = |world: &mut World| {
        world.run(Intent::Collect(Collect::Release(Release {
            owner: target(world, definitions, "things.x.io"),
            finalizer: ServerFinalizer::Definition,
            basis: Basis::at(world.state.revision),
        })))
    };
    let early = release(&mut world);
    assert!(matches!(early, Err(Rejection::Stale { .. })), "{early:?}");
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    merge(&mut world, definitions, "things.x.io", label).expect("written");
    world.delete("things", "t", None).expect("marked");
    merge(&mut world, "things", "t", strip.clone()).expect("gone");
    merge(&mut world, definitions, "things.x.io", strip).expect("gone");
    assert_eq!(world.get(definitions, "things.x.io"), None);
}
