//! Definitions and their objects, from the command to the state.

use crate::command::{Create, FieldValidation};
use crate::testing::World;
use crate::{GroupResource, Intent, ObjectKey, Rejection};
use serde_json::{Value, json};

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
        spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be \
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
            "unrecognized format \"phone\"".to_owned(),
            format!("unknown field \"{field}\"")
        ]
    );
    assert!(world.state.kinds.by_kind("example.com", "Widget").is_some());
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
