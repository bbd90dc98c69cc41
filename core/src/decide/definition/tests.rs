//! Definitions and their instances, from the command to the state.

mod waiting;

use crate::command::{Create, FieldValidation, Patch};
use crate::kind::Origin;
use crate::object::OBJECT_BYTES_MAX;
use crate::testing::World;
use crate::{
    Actor, Command, Decision, GroupResource, Intent, ObjectKey, Rejection, decide_before_storage,
    draft,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn definition(plural: &str, kind: &str, properties: Value) -> Value {
    json!({
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}],
        },
    })
}

fn widgets(properties: Value) -> World {
    let mut world = World::new();
    let definition = definition("widgets", "Widget", properties);
    world
        .create("customresourcedefinitions", definition)
        .expect("a definition");
    world
}

#[test]
fn a_definition_that_is_wrong_is_refused_and_one_that_is_not_serves_its_kind() {
    let mut world = World::new();
    let wrong = definition("widgets", "Widget", json!({"a": {}}));
    let refused = world
        .create("customresourcedefinitions", wrong)
        .expect_err("no type");
    let message = "CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.com\" is invalid: \
        spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be \
        empty for specified object fields";
    assert_eq!(refused.to_string(), message);
    let unreadable = definition("widgets", "Widget", json!({"a": {"type": 5}}));
    let refused = world
        .create("customresourcedefinitions", unreadable)
        .expect_err("no text");
    assert!(matches!(&refused, Rejection::BadRequest(why) if why.contains("cannot be handled as")));
    let mut typo = definition(
        "widgets",
        "Widget",
        json!({"a": {"type": "string", "defalt": "x"}}),
    );
    typo["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["b"] =
        json!({"type": "string", "format": "phone"});
    let decision = world
        .create("customresourcedefinitions", typo)
        .expect("a definition");
    let field = "spec.versions[0].schema.openAPIV3Schema.properties.a.defalt";
    assert_eq!(
        decision.warnings,
        [
            format!("unknown field \"{field}\""),
            "unrecognized format \"phone\"".to_owned(),
        ]
    );
    assert!(world.state.kinds.by_kind("example.com", "Widget").is_some());
}

#[test]
fn what_mutating_admission_is_shown_has_not_been_judged_by_its_kind() {
    let world = World::new();
    let odd = json!({"a": {"type": "string", "format": "phone"}});
    let intent = Intent::Create(Create {
        key: world.key("customresourcedefinitions", ""),
        version: "v1".into(),
        object: definition("widgets", "Widget", odd),
        validation: FieldValidation::Warn,
    });
    let command = || {
        Command::new(
            Arc::new(Actor::new("tester")),
            world.now(),
            [1; 16],
            intent.clone(),
        )
    };
    let warnings = |decided: Result<Decision, Rejection>| decided.expect("valid").warnings;
    assert!(warnings(draft(&world.state, command())).is_empty());
    let of_kind = ["unrecognized format \"phone\""];
    assert_eq!(
        warnings(decide_before_storage(&world.state, command())),
        of_kind
    );
}

#[test]
fn a_name_that_is_taken_is_not_accepted_and_its_kind_not_served() {
    let mut world = widgets(json!({}));
    for (plural, kind, reason) in [
        ("gadgets", "Widget", "ListKindConflict"),
        ("widget", "Gadget", "PluralConflict"),
    ] {
        let taken = definition(plural, kind, json!({}));
        world
            .create("customresourcedefinitions", taken)
            .expect("a definition");
        let stored = world.get(
            "customresourcedefinitions",
            &format!("{plural}.example.com"),
        );
        let document = stored.expect("a definition").document();
        assert_eq!(document["status"]["conditions"][0]["reason"], reason);
        assert_eq!(document["status"]["conditions"][1]["status"], "False");
        let served = world
            .state
            .kinds
            .iter()
            .any(|one| &*one.resource.resource == plural);
        assert!(!served, "{plural}");
    }
    let kind = world
        .state
        .kinds
        .by_kind("example.com", "Widget")
        .expect("the first");
    assert_eq!(&*kind.resource.resource, "widgets");
}

const DEFINITIONS: &str = "customresourcedefinitions";

/// The reasons of `NamesAccepted` and `Established`, and the kind that is served.
fn said(world: &World, plural: &str) -> (String, Option<String>) {
    let stored = world.get(DEFINITIONS, &format!("{plural}.example.com"));
    let document = stored.expect("a definition").document();
    let conditions = document["status"]["conditions"].as_array().expect("some");
    let reasons: Vec<&str> = conditions
        .iter()
        .filter_map(|one| one["reason"].as_str())
        .collect();
    let served = world
        .state
        .kinds
        .by_resource(&GroupResource::new("example.com", plural));
    (reasons.join("/"), served.map(|kind| kind.kind.to_string()))
}

fn named(plural: &str, kind: &str, short: &[&str]) -> Value {
    let mut definition = definition(plural, kind, json!({}));
    definition["spec"]["names"]["shortNames"] = json!(short);
    definition
}

fn rename(world: &mut World, plural: &str, names: Value) -> usize {
    let patch = Patch::Merge(json!({"spec": {"names": names}}));
    let name = format!("{plural}.example.com");
    let decision = world.patch(DEFINITIONS, &name, patch);
    decision.expect("renamed").commits.len()
}

fn remove(world: &mut World, plural: &str) -> usize {
    let name = format!("{plural}.example.com");
    world.delete(DEFINITIONS, &name, None).expect("marked");
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world
        .patch(DEFINITIONS, &name, free)
        .expect("gone")
        .commits
        .len()
}

#[test]
fn whoever_waits_for_a_name_gets_it_when_it_is_free() {
    let served = |kind: &str| {
        (
            "NoConflicts/InitialNamesAccepted".to_owned(),
            Some(kind.to_owned()),
        )
    };
    let refused = |reason: &str| (format!("{reason}/NotAccepted"), None);
    let mut world = World::new();
    for (plural, kind, short) in [("as", "A", "x"), ("bs", "A", "y"), ("cs", "C", "x")] {
        let definition = named(plural, kind, &[short]);
        world.create(DEFINITIONS, definition).expect("a definition");
    }
    assert_eq!(said(&world, "bs"), refused("ListKindConflict"));
    assert_eq!(said(&world, "cs"), refused("ShortNamesConflict"));
    // A definition gives up a short name, so the one that waited for it gets it.
    assert_eq!(rename(&mut world, "as", json!({"shortNames": ["z"]})), 2);
    assert_eq!(
        (said(&world, "as"), said(&world, "cs")),
        (served("A"), served("C"))
    );
    assert_eq!(said(&world, "bs"), refused("ListKindConflict"));
    // A definition is removed.
    assert_eq!(remove(&mut world, "as"), 2);
    assert_eq!(said(&world, "bs"), served("A"));
    // A definition changes the names that it wants.
    world
        .create(DEFINITIONS, named("ds", "C", &[]))
        .expect("a definition");
    assert_eq!(said(&world, "ds"), refused("ListKindConflict"));
    rename(
        &mut world,
        "ds",
        json!({"kind": "D", "listKind": "DList", "singular": "d"}),
    );
    assert_eq!(said(&world, "ds"), served("D"));
}

/// `as` has the name that `bs` wants, which is as large as a client may make it.
fn longest() -> World {
    let mut world = World::new();
    world.manager("their maker");
    world
        .create(DEFINITIONS, named("as", "A", &["x"]))
        .expect("a definition");
    let described = |bytes: usize| {
        let mut definition = named("bs", "B", &["x"]);
        let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["description"] = "x".repeat(bytes).into();
        definition
    };
    let length = |world: &World| {
        let stored = world.get(DEFINITIONS, "bs.example.com");
        stored.expect("a definition").body.len()
    };
    world
        .create(DEFINITIONS, described(1))
        .expect("a short one");
    let rest = OBJECT_BYTES_MAX - length(&world);
    remove(&mut world, "bs");
    world
        .create(DEFINITIONS, described(1 + rest))
        .expect("a long one");
    assert_eq!(length(&world), OBJECT_BYTES_MAX);
    world
}

/// Its names are accepted with another object's write, which must not be refused because of it.
#[test]
fn a_definition_that_may_not_get_longer_gets_its_names_and_keeps_its_managed_fields() {
    let mut config = named("as", "A", &["z"]);
    config["apiVersion"] = "apiextensions.k8s.io/v1".into();
    config["kind"] = "CustomResourceDefinition".into();
    let apply = Patch::Apply {
        config,
        force: true,
        complaint: None,
    };
    let merge = Patch::Merge(json!({"spec": {"names": {"shortNames": ["z"]}}}));
    for patch in [merge, apply] {
        let mut world = longest();
        let managed_fields = |world: &World| {
            let stored = world.get(DEFINITIONS, "bs.example.com");
            stored.expect("a definition").document()["metadata"]["managedFields"].clone()
        };
        let before = managed_fields(&world);
        assert!(before.is_array(), "it has managedFields");
        let renamed = world.patch(DEFINITIONS, "as.example.com", patch);
        assert_eq!(renamed.expect("renamed").commits.len(), 2);
        assert_eq!(said(&world, "bs").1.as_deref(), Some("B"));
        assert_eq!(managed_fields(&world), before);
    }
}

#[test]
fn what_was_accepted_stays_while_more_is_wanted_and_taken() {
    let mut world = World::new();
    for (plural, kind, short) in [("as", "A", "x"), ("bs", "B", "y")] {
        let definition = named(plural, kind, &[short]);
        world.create(DEFINITIONS, definition).expect("a definition");
    }
    let short = |world: &World| {
        let kind = world
            .state
            .kinds
            .by_kind("example.com", "A")
            .expect("served");
        kind.short_names
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    rename(&mut world, "as", json!({"shortNames": ["x", "y"]}));
    let expected = "ShortNamesConflict/InitialNamesAccepted".to_owned();
    assert_eq!(said(&world, "as"), (expected, Some("A".to_owned())));
    assert_eq!(short(&world), ["x"]);
    // Everything else still works.
    let label = Patch::Merge(json!({"metadata": {"labels": {"l": "v"}}}));
    world
        .patch(DEFINITIONS, "as.example.com", label)
        .expect("written");
    assert_eq!(short(&world), ["x"]);
    world
        .delete(DEFINITIONS, "as.example.com", None)
        .expect("marked");
    let kind = world
        .state
        .kinds
        .by_kind("example.com", "A")
        .expect("served");
    assert!(matches!(
        kind.origin,
        Origin::Custom {
            terminating: true,
            ..
        }
    ));
    assert_eq!(remove(&mut world, "bs"), 2);
    assert_eq!(short(&world), ["x", "y"]);
}

#[test]
fn metadata_of_a_custom_object_keeps_only_what_metadata_has() {
    let mut world = widgets(json!({"metadata": {"type": "object"}, "spec": {"type": "object"}}));
    let object =
        json!({"metadata": {"name": "a", "nam": "b", "labels": {"l": "v"}}, "spec": {"odd": 1}});
    let decision = world.create("widgets", object).expect("a widget");
    assert_eq!(
        decision.warnings,
        [
            "unknown field \"metadata.nam\"",
            "unknown field \"spec.odd\""
        ]
    );
    let stored = world.get("widgets", "a").expect("a widget").document();
    assert_eq!(stored["metadata"]["labels"], json!({"l": "v"}));
    assert_eq!(stored["metadata"].get("nam"), None);
    let wrong = json!({"metadata": {"name": "b", "labels": {"l": 5}}});
    let refused = world
        .create("widgets", wrong)
        .expect_err("labels are texts");
    assert!(matches!(refused, Rejection::BadRequest(_)), "{refused}");
}

#[test]
fn an_object_is_checked_again_only_where_it_changes() {
    let count = |max: u64| {
        json!({"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "maximum": max}, "m": {"type": "integer", "maximum": max}}}})
    };
    let mut world = widgets(count(9));
    let object = json!({"metadata": {"name": "a"}, "spec": {"n": 5, "m": 1}});
    world.create("widgets", object).expect("a widget");
    let mut stricter = world
        .get("customresourcedefinitions", "widgets.example.com")
        .expect("it")
        .document();
    stricter["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = count(3);
    world
        .update("customresourcedefinitions", "", stricter)
        .expect("a stricter definition");
    let mut next = world.get("widgets", "a").expect("a widget").document();
    next["spec"]["m"] = json!(2);
    world
        .update("widgets", "", next.clone())
        .expect("n did not change");
    let mut next = world.get("widgets", "a").expect("a widget").document();
    next["spec"]["n"] = json!(4);
    let refused = world
        .update("widgets", "", next)
        .expect_err("n is too large");
    let why = "Widget.example.com \"a\" is invalid: spec.n: Invalid value: 4: spec.n in body should be less than or equal to 3";
    assert_eq!(refused.to_string(), why);
}

#[test]
fn a_custom_kind_that_is_named_like_a_built_in_one_has_none_of_its_defaults() {
    let mut world = World::new();
    let open = json!({"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = definition("services", "Service", open);
    world
        .create("customresourcedefinitions", definition)
        .expect("a definition");
    let services = GroupResource::new("example.com", "services");
    let create = Create {
        key: ObjectKey::new(services, "default", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
        validation: FieldValidation::Strict,
    };
    let decision = world.run(Intent::Create(create)).expect("created");
    let stored = decision.outcome.object().document();
    assert_eq!(stored["spec"], json!({"ports": [{"port": 80}]}));
}

/// Anybody may define kinds in the group of definitions, with the annotation that says it is not approved.
#[test]
fn only_definitions_define_whatever_else_is_in_their_group() {
    let mut world = widgets(json!({}));
    let mut other = definition("notes", "Note", json!({}));
    other["metadata"] = json!({"name": "notes.apiextensions.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}});
    other["spec"]["group"] = json!("apiextensions.k8s.io");
    let created = world.create("customresourcedefinitions", other);
    created.expect("a definition");
    let note = json!({"metadata": {"name": "widgets.example.com"}});
    world.create("notes", note).expect("a note");
    let gone = world.delete("notes", "widgets.example.com", None);
    gone.expect("gone");
    let widgets = GroupResource::new("example.com", "widgets");
    assert!(world.state.kinds.by_resource(&widgets).is_some());
}

#[test]
fn what_defaults_have_made_too_long_is_read_and_let_go() {
    let properties = |default: Value| {
        let item = json!({"type": "object", "properties": {"a": default}});
        json!({"list": {"type": "array", "items": item}})
    };
    let mut world = widgets(properties(json!({"type": "string"})));
    let list = vec![json!({}); 100_000];
    let mut widget = json!({"metadata": {"name": "w", "finalizers": ["x/y", "x/z"]}, "list": list});
    world.create("widgets", widget.clone()).expect("a widget");
    let with = properties(json!({"type": "string", "default": "x".repeat(100)}));
    let schema = Patch::Merge(definition("widgets", "Widget", with));
    world
        .patch(DEFINITIONS, "widgets.example.com", schema)
        .expect("a default");
    widget["metadata"]["name"] = "v".into();
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    for refused in [
        world.create("widgets", widget),
        world.patch("widgets", "w", Patch::Merge(labels)),
    ] {
        assert!(matches!(refused, Err(Rejection::TooLarge(_))));
    }
    world.delete("widgets", "w", None).expect("it is marked");
    for left in [json!(["x/z"]), json!(null)] {
        let fewer = Patch::Merge(json!({"metadata": {"finalizers": left}}));
        world.patch("widgets", "w", fewer).expect("it is let go");
    }
    assert_eq!(world.get("widgets", "w"), None);
}

/// If each were compared with each, this would not end for minutes: nothing is validated before it is read.
#[test]
fn however_many_versions_are_called_stored_each_is_listed_once() {
    let mut many = definition("widgets", "Widget", json!({}));
    let mut versions = vec![many["spec"]["versions"][0].clone()];
    let version = |index: usize| {
        let mut version = versions[0].clone();
        version["name"] = format!("v{index}").into();
        version
    };
    let more: Vec<Value> = (2..40_000).map(version).collect();
    versions.extend(more);
    many["spec"]["versions"] = versions.into();
    let refused = World::new().create(DEFINITIONS, many).expect_err("invalid");
    let why = "must have exactly one version marked as storage version";
    assert!(refused.to_string().contains(why));
}
