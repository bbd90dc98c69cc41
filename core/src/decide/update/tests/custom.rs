//! What of a custom object is checked by whom.

use crate::testing::World;
use crate::{Decision, Rejection};
use serde_json::{Value, json};

/// The kind `Thing` in `things.x.io`, with a status, a scale and this schema.
fn define(world: &mut World, schema: Value) {
    let paths = json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n",
        "labelSelectorPath": ".status.of"});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "subresources": {"status": {}, "scale": paths}, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"metadata": {"name": "things.x.io"}, "spec": {"group": "x.io",
        "scope": "Namespaced", "versions": [version], "names": {"plural": "things", "kind": "Thing"}}});
    let done = match world.get("customresourcedefinitions", "things.x.io") {
        Some(stored) => {
            let mut document = stored.document();
            document["spec"] = definition["spec"].clone();
            world.update("customresourcedefinitions", "", document)
        }
        None => world.create("customresourcedefinitions", definition),
    };
    done.expect("defined");
}

fn told(decided: Result<Decision, Rejection>) -> String {
    match decided {
        Ok(_) => String::new(),
        Err(Rejection::Invalid { causes, .. }) => {
            let told = causes.iter().map(|cause| {
                let value = cause.message.trim_start_matches("Invalid value: ");
                format!("{}: {value}", cause.field)
            });
            told.collect::<Vec<_>>().join("; ")
        }
        Err(other) => format!("{other:?}"),
    }
}

const COUNTS: &str = r#"
{"spec": {"n": 0}} |
{"spec": {"n": 2147483647}} |
{"spec": {}} |
{"spec": null} |
{"spec": {"n": -1}} | .spec.n: -1: should be a non-negative integer
{"spec": {"n": 3000000000}} | .spec.n: 3000000000: should be less than or equal to 2147483647
{"spec": {"n": "3"}} | .spec.n: 0: .spec.n accessor error: 3 is of the type string, expected int64
{"spec": {"n": 2.5}} | .spec.n: 0: .spec.n accessor error: 2.5 is of the type float64, expected int64
{"spec": {"n": {"a": [1]}}} | .spec.n: 0: .spec.n accessor error: map[a:[1]] is of the type map[string]interface {}, expected int64
{"spec": {"n": null}} | .spec.n: 0: .spec.n accessor error: <nil> is of the type <nil>, expected int64
{"spec": 7} | .spec.n: 0: .spec.n accessor error: 7 is of the type int64, expected map[string]interface{}
"#;

const STATUS: &str = r#"
{"n": 2, "of": "a=b"} |
{"n": -1} | .status.n: -1: should be a non-negative integer
{"n": 3000000000, "of": ["a"]} | .status.n: 3000000000: should be less than or equal to 2147483647; .status.of: "": .status.of accessor error: [a] is of the type []interface {}, expected string
"a" | .status.n: 0: .status.n accessor error: a is of the type string, expected map[string]interface{}; .status.of: "": .status.of accessor error: a is of the type string, expected map[string]interface{}
"#;

fn rows(table: &str) -> impl Iterator<Item = (Value, &str)> {
    table.lines().filter(|row| !row.is_empty()).map(|row| {
        let (value, said) = row.split_once(" |").expect(row);
        (serde_json::from_str(value).expect(row), said.trim())
    })
}

#[test]
fn what_a_scale_shows_is_checked_where_it_is_written() {
    let mut world = World::new();
    define(
        &mut world,
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    );
    let thing = |name: &str| json!({"metadata": {"name": name}, "spec": {"n": 1}});
    world.create("things", thing("a")).expect("created");
    for (number, (mut document, said)) in rows(COUNTS).enumerate() {
        document["metadata"] = json!({"name": format!("t{number}")});
        let created = told(world.create("things", document.clone()));
        assert_eq!(created, said, "{document}");
        document["metadata"] = world.get("things", "a").expect("a").document()["metadata"].clone();
        let updated = told(world.update("things", "", document.clone()));
        assert_eq!(updated, said, "{document}");
    }
    for (status, said) in rows(STATUS) {
        let mut document = world.get("things", "a").expect("a").document();
        document["status"] = status;
        let updated = told(world.update("things", "status", document.clone()));
        assert_eq!(updated, said, "{document}");
    }
}

/// What was stored before somebody counted is only refused by whoever can mend it.
#[test]
fn a_write_of_the_status_does_not_ask_for_the_desired_count() {
    let mut world = World::new();
    world.define_things(&[]);
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing",
        "metadata": {"name": "a", "uid": "u"}, "spec": {"n": -1}});
    world.find("things", thing);
    define(
        &mut world,
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    );
    let mut document = world.get("things", "a").expect("a").document();
    document["status"] = json!({"n": 1});
    assert_eq!(told(world.update("things", "status", document.clone())), "");
    document["metadata"] = world.get("things", "a").expect("a").document()["metadata"].clone();
    document["metadata"]["labels"] = json!({"a": "b"});
    let said = ".spec.n: -1: should be a non-negative integer";
    assert_eq!(told(world.update("things", "", document)), said);
}

#[test]
fn a_write_of_the_status_is_held_against_what_the_schema_says_of_the_status() {
    let mut world = World::new();
    let schema = |spec: Value, required: Value| {
        json!({"type": "object", "required": required, "properties": {"spec": spec,
            "status": {"type": "object", "properties": {
                "n": {"type": "integer", "maximum": 9}, "m": {"type": "integer", "maximum": 3},
                "of": {"type": "string"},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}},
            "x-kubernetes-validations": [{"rule": "!has(self.status) || !has(self.status.n) || self.status.n != 7"}]})
    };
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    define(&mut world, schema(free, json!([])));
    let without = json!({"metadata": {"name": "a"}});
    world.create("things", without).expect("created");
    let embedding = json!({"metadata": {"name": "b"}, "spec": {"emb": {"a": 1}}});
    world.create("things", embedding).expect("created");
    let strict = json!({"type": "object", "properties": {"emb": {"type": "object",
        "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}});
    define(&mut world, schema(strict, json!(["spec"])));
    for name in ["a", "b"] {
        for (status, said) in [
            (json!({"n": 1}), ""),
            (
                json!({"n": 10}),
                "status.n: 10: n in body should be less than or equal to 9",
            ),
            (json!({"n": 7}), "<nil>: failed rule: "),
            (
                json!({"set": ["x", "x"]}),
                "status.set[1]: Duplicate value: \"x\"",
            ),
            (json!("x"), "status: "),
        ] {
            let mut document = world.get("things", name).expect(name).document();
            document["status"] = status;
            let found = told(world.update("things", "status", document.clone()));
            assert!(
                found.starts_with(said) && found.is_empty() == said.is_empty(),
                "{document}: {found}"
            );
        }
        let mut document = world.get("things", name).expect(name).document();
        document["metadata"]["labels"] = json!({"a": "b"});
        assert_ne!(told(world.update("things", "", document)), "", "{name}");
    }
}
