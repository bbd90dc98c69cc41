//! What the refusal of a patch shows of the object.

use crate::command::{FieldValidation, Patch, PatchObject};
use crate::kind::{BuiltinKinds, BuiltinSchemas, GroupVersionKind};
use crate::schema::{Format, Schema, object_meta, parse};
use crate::testing::World;
use crate::{Intent, Rejection, State, builtin};
use serde_json::{Value, json};
use std::sync::Arc;

const STORED: &str = "c3RvcmVk";

/// The schema of secrets alone.
#[derive(Debug)]
struct OfSecrets;

impl BuiltinSchemas for OfSecrets {
    fn schema(&self, kind: &GroupVersionKind) -> Option<Arc<Schema>> {
        let text = json!({"type": "string"});
        let bytes = Schema {
            format: Format::of_field("byte"),
            ..parse(&text)
        };
        let data = Schema {
            additional: Some(Arc::new(bytes)),
            ..parse(&json!({"type": "object"}))
        };
        let members = json!({"apiVersion": text, "kind": text, "type": text});
        let mut secret = parse(&json!({"type": "object", "properties": members}));
        let metadata = Arc::new(object_meta().clone());
        secret.properties.insert("metadata".into(), metadata);
        secret.properties.insert("data".into(), Arc::new(data));
        (&*kind.kind == "Secret").then(|| Arc::new(secret))
    }
}

fn world() -> World {
    let mut world = World::new();
    let kinds = BuiltinKinds::new(builtin::kinds(), Some(Box::new(OfSecrets)));
    world.state = State::new(Arc::new(kinds));
    let namespace = json!({"metadata": {"name": "default"}});
    world.create("namespaces", namespace).expect("created");
    world
}

/// The refusal of a patch of a secret that holds a value.
fn refusal(patch: Patch, validation: FieldValidation) -> String {
    let mut world = world();
    let secret = json!({"metadata": {"name": "a"}, "data": {"old": STORED}});
    world.create("secrets", secret).expect("created");
    world.manager("applier");
    let refused = world.run(Intent::Patch(PatchObject {
        key: world.key("secrets", "a"),
        version: "v1".into(),
        subresource: None,
        patch,
        validation,
    }));
    let Err(Rejection::Invalid { causes, .. }) = refused else {
        panic!("{refused:?}");
    };
    let [cause] = &causes[..] else {
        panic!("{causes:?}");
    };
    format!("{}: {}", cause.field, cause.message)
}

fn not_base64() -> Value {
    json!({"data": {"new": "plain-text!"}})
}

#[test]
fn the_refusal_of_a_strategic_patch_shows_the_patch() {
    let strict = Patch::Strategic(json!({"bogus": 1}));
    assert_eq!(
        refusal(strict, FieldValidation::Strict),
        r#"patch: Invalid value: "map[bogus:1]": strict decoding error: unknown field "bogus""#
    );
    let unreadable = Patch::Strategic(not_base64());
    assert_eq!(
        refusal(unreadable, FieldValidation::Ignore),
        r#"patch: Invalid value: "map[data:map[new:plain-text!]]": illegal base64 data at input byte 5"#
    );
}

#[test]
fn the_refusal_of_a_merge_patch_shows_the_outcome() {
    let shown = refusal(Patch::Merge(not_base64()), FieldValidation::Ignore);
    assert!(shown.contains(STORED), "{shown}");
    assert!(
        shown.ends_with(": illegal base64 data at input byte 5"),
        "{shown}"
    );
}

#[test]
fn the_refusal_of_a_configuration_shows_no_value() {
    let mut config = not_base64();
    config["apiVersion"] = "v1".into();
    config["kind"] = "Secret".into();
    config["metadata"] = json!({"name": "a"});
    let patch = Patch::Apply {
        config,
        force: false,
        complaint: None,
    };
    assert_eq!(
        refusal(patch, FieldValidation::Ignore),
        "patch: failed to convert new object (default/a; /v1, Kind=Secret) to proper version (v1): \
         unable to convert unstructured object to /v1, Kind=Secret: illegal base64 data at input byte 5"
    );
}

#[test]
fn bytes_that_cannot_be_decoded_are_not_repeated() {
    let mut secret = not_base64();
    secret["metadata"] = json!({"name": "a"});
    let why = "illegal base64 data at input byte 5";
    assert_eq!(
        world().create("secrets", secret).err(),
        Some(Rejection::unreadable("Secret", "v1", why))
    );
}
