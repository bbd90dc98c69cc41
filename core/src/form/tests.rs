//! Objects are stored in the form in which they are read, and those that are in that form are not
//! parsed again.

use super::*;
use crate::command::{
    Basis, Collect, DropOwners, DropReason, FieldValidation, Intent, Patch, PatchObject, Target,
};
use crate::custom::{kind_of_definition, schemas_of_definition};
use crate::kind::Subresource;
use crate::object::Uid;
use crate::testing::World;
use crate::{Revision, State};
use serde_json::json;

const DEFINITIONS: &str = "customresourcedefinitions";
const NAME: &str = "things.example.com";

fn version(name: &str, stored: bool, members: &Value) -> Value {
    let scale = json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"});
    json!({"name": name, "served": true, "storage": stored, "subresources": {"scale": scale},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": members},
            "status": {"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true}}}}})
}

fn text(default: &str) -> Value {
    json!({"type": "string", "default": default})
}

/// Two versions; each has a default for a field that the other does not know.
fn early() -> Value {
    let (one, two) = (
        json!({"a": text("a"), "n": {"type": "integer"}}),
        json!({"b": text("b")}),
    );
    json!([version("v1", false, &one), version("v2", true, &two)])
}

fn late() -> Value {
    let one = json!({"a": text("a"), "n": {"type": "integer"}});
    let two = json!({"a": {"type": "string"}, "c": text("c"), "n": {"type": "integer"}});
    json!([version("v1", false, &one), version("v2", true, &two)])
}

fn definition() -> Value {
    json!({"metadata": {"name": NAME}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing", "singular": "thing",
            "listKind": "ThingList"}, "versions": early()}})
}

fn defined() -> World {
    let mut world = World::new();
    world.create(DEFINITIONS, definition()).expect("defined");
    world
}

/// As if the schemas had always been these.
fn define(world: &mut World, document: &Value, uid: &Uid) {
    let kind = kind_of_definition(document, uid, false).expect("a kind");
    let (by_version, patterns) = schemas_of_definition(document);
    let schemas = Schemas::new(by_version, patterns, Revision::ZERO);
    world.state.kinds.define(kind, Arc::new(schemas));
}

fn patch(world: &mut World, name: &str, version: &str, at: Option<Subresource>, patch: Value) {
    let key = world.key("things", name);
    let patched = world.run(Intent::Patch(PatchObject {
        key,
        version: version.into(),
        subresource: at,
        patch: Patch::Merge(patch),
        validation: FieldValidation::Strict,
    }));
    patched.expect("patched");
}

fn forms(state: &State) -> Vec<Form> {
    let resource = GroupResource::new("example.com", "things");
    let kind = state.kinds.custom(&resource).expect("a kind");
    let form = |version: &str| Form::of(&state.kinds, kind, &version.into());
    ["v1", "v2"].map(form).into()
}

/// Asserts that every thing written since a revision is stored in canonical form; returns their
/// number.
fn assert_canonical(world: &World, since: Revision) -> usize {
    let written = world
        .commits
        .iter()
        .filter(|commit| commit.revision > since);
    let things = written.filter_map(|commit| commit.object());
    let things: Vec<_> = things
        .filter(|one| &*one.key.resource.resource == "things")
        .collect();
    for thing in &things {
        let stored = &forms(&world.state)[1];
        assert!(stored.is_as_stored(thing), "{thing:?}");
        let mut read = thing.document();
        stored.read(&mut read);
        assert_eq!(read, thing.document());
    }
    things.len()
}

#[test]
fn what_is_written_is_what_is_read_whoever_writes_it_and_in_whatever_version() {
    let mut world = defined();
    world
        .create("configmaps", json!({"metadata": {"name": "o"}}))
        .expect("an owner");
    let owner = world.get("configmaps", "o").expect("an owner");
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "x"},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": owner.meta.uid.as_str()}]);
    for name in ["kept", "freed", "marked", "scaled"] {
        let metadata =
            json!({"name": name, "finalizers": ["x.io/f"], "ownerReferences": reference});
        let thing =
            json!({"metadata": metadata, "spec": {"a": "1", "n": 2}, "status": {"s": null}});
        world.create("things", thing).expect("created");
    }
    let since = Revision(2);
    assert_eq!(assert_canonical(&world, since), 4);
    let redefined = json!({"spec": {"versions": late()}});
    world
        .patch(DEFINITIONS, NAME, Patch::Merge(redefined))
        .expect("redefined");
    let since = world.state.revision;
    patch(
        &mut world,
        "kept",
        "v1",
        None,
        json!({"metadata": {"labels": {"a": "b"}}}),
    );
    patch(&mut world, "kept", "v2", None, json!({"spec": {"a": null}}));
    patch(
        &mut world,
        "scaled",
        "v1",
        Some(Subresource::Scale),
        json!({"spec": {"replicas": 4}}),
    );
    world.delete("things", "marked", None).expect("marked");
    let freed = world.get("things", "freed").expect("a thing");
    let dropped = world.run(Intent::Collect(Collect::DropOwners(DropOwners {
        dependent: Target {
            key: freed.key.clone(),
            uid: None,
            revision: None,
        },
        owners: freed.meta.owner_references[..1].to_vec(),
        reason: DropReason::SolidOwnerRemains,
        basis: Basis::at(world.state.revision),
    })));
    assert_eq!(dropped.expect("dropped").commits.len(), 1);
    assert_eq!(assert_canonical(&world, since), 5);
    // Writing them in the new form for the first time changed nothing that was asked for.
    let spec = |name: &str| world.get("things", name).expect("a thing").document()["spec"].clone();
    assert_eq!(spec("marked"), json!({"c": "c"}));
    assert_eq!(spec("freed"), json!({"c": "c"}));
    assert_eq!(spec("scaled"), json!({"c": "c", "n": 4}));
    assert_eq!(spec("kept"), json!({"c": "c"}));
}

#[test]
fn bytes_of_before_are_read_and_those_of_after_are_sent_as_they_are() {
    let mut world = defined();
    world
        .create(
            "things",
            json!({"metadata": {"name": "a"}, "spec": {"a": "1"}}),
        )
        .expect("created");
    let before = world.get("things", "a").expect("a thing");
    let sent = |form: &Form, object: &Object| form.body(object).as_ptr() == object.body.as_ptr();
    let [one, two] = &forms(&world.state)[..] else {
        panic!("two versions")
    };
    assert!(sent(two, &before) && !sent(one, &before));
    assert_eq!(one.document(&before)["spec"], json!({}));
    let redefined = json!({"spec": {"versions": late()}});
    world
        .patch(DEFINITIONS, NAME, Patch::Merge(redefined))
        .expect("redefined");
    let [one, two] = &forms(&world.state)[..] else {
        panic!("two versions")
    };
    assert!(!sent(two, &before));
    assert_eq!(two.document(&before)["spec"], json!({"c": "c"}));
    assert_eq!(one.document(&before)["spec"], json!({}));
    let shown = two.object(&before).into_owned();
    assert_eq!(
        (shown.revision, shown.document()),
        (before.revision, two.document(&before))
    );
    // Showing an object at a later revision does not count as a new write.
    let later = shown.shown_at(Some(world.state.revision.next()));
    assert!(sent(two, &later));
}

#[test]
fn what_a_definition_says_of_itself_changes_no_schema_and_a_state_that_is_put_together_shows_the_same()
 {
    let mut world = defined();
    world
        .create("things", json!({"metadata": {"name": "a"}}))
        .expect("created");
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    world
        .patch(DEFINITIONS, NAME, Patch::Merge(labelled))
        .expect("labelled");
    let thing = world.get("things", "a").expect("a thing");
    let builtin = Arc::clone(world.state.kinds.builtin());
    let objects = world.state.objects().cloned();
    let again = State::assemble(builtin, objects, &world.state.image());
    assert!(again.is_same(&world.state));
    for (known, read) in forms(&world.state).iter().zip(&forms(&again)) {
        assert_eq!(known.body(&thing), read.body(&thing));
    }
    assert!(forms(&world.state)[1].is_as_stored(&thing));
    assert!(!forms(&again)[1].is_as_stored(&thing));
}

#[test]
fn schemas_are_compiled_anew_only_if_the_definition_has_others() {
    let mut world = defined();
    let schemas = |world: &World| {
        let kind = world.state.kinds.by_kind("example.com", "Thing");
        let found = kind.and_then(|kind| world.state.kinds.schemas(kind));
        Arc::clone(found.expect("schemas"))
    };
    let first = schemas(&world);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = world.patch(DEFINITIONS, NAME, Patch::Merge(label));
    labelled.expect("labelled");
    let mut same = world.get(DEFINITIONS, NAME).expect("it").document();
    same["status"]["conditions"] = json!([]);
    world.update(DEFINITIONS, "status", same).expect("a status");
    assert!(Arc::ptr_eq(&first, &schemas(&world)));
    let late = json!({"spec": {"versions": late()}});
    let changed = world.patch(DEFINITIONS, NAME, Patch::Merge(late));
    changed.expect("other schemas");
    assert!(!Arc::ptr_eq(&first, &schemas(&world)));
}

/// An earlier release stored the metadata of embedded objects as it was sent.
#[test]
fn metadata_of_an_embedded_object_that_was_stored_as_it_was_sent_is_no_change() {
    let mut free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = |free: &Value| {
        let mut definition = definition();
        definition["spec"]["versions"] = json!([version("v1", true, &json!({"free": free}))]);
        definition
    };
    let mut world = World::new();
    let created = world.create(DEFINITIONS, definition(&free));
    created.expect("defined");
    let thing = json!({"metadata": {"name": "a"}, "spec": {"free": {"apiVersion": "v1",
        "kind": "P", "metadata": {"labels": {}, "creationTimestamp": null}}}});
    world.create("things", thing).expect("created");
    free["x-kubernetes-embedded-resource"] = true.into();
    let uid = world.get(DEFINITIONS, NAME).expect("it").meta.uid.clone();
    define(&mut world, &definition(&free), &uid);
    let same = world.get("things", "a").expect("a thing").document();
    world.update("things", "", same).expect("updated");
    let thing = world.get("things", "a").expect("a thing");
    assert_eq!(thing.meta.generation, 1);
}

/// A release may build in a kind that a user has already defined.
#[test]
fn what_is_built_in_is_not_stored_as_a_definition_of_it_says() {
    let mut world = World::new();
    let ingresses = GroupResource::new("networking.k8s.io", "ingresses");
    let document = json!({"metadata": {"name": "ingresses.networking.k8s.io"},
        "spec": {"group": "networking.k8s.io", "scope": "Namespaced", "versions": early(),
            "names": {"plural": "ingresses", "kind": "Ingress"}}});
    define(&mut world, &document, &"u".into());
    assert!(world.state.kinds.custom(&ingresses).is_some());
    assert!(of_storage(&world.state.kinds, &ingresses).is_none());
}
