//! Sets of fields, and how clients see them.

use crate::fields::{FieldSet, set_of};
use crate::schema::{Schema, parse};
use serde_json::{Value, json};

pub(super) fn schema() -> Schema {
    let port = json!({"type": "object", "properties": {
        "port": {"type": "integer"}, "name": {"type": "string"},
        "protocol": {"type": "string", "default": "TCP"}}});
    let text = json!({"type": "string"});
    let point = json!({"type": "object", "properties":
        {"x": {"type": "integer"}, "y": {"type": "integer"}}});
    let whole = |mut schema: Value| {
        schema["x-kubernetes-map-type"] = json!("atomic");
        schema
    };
    let keyed = |items: &Value, keys: Value| {
        json!({"type": "array", "items": items, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys})
    };
    let spec = json!({"type": "object", "properties": {
        "count": {"type": "integer"}, "text": text, "on": {"type": "boolean"},
        "point": point, "whole": whole(point.clone()),
        "labels": {"type": "object", "additionalProperties": text},
        "points": {"type": "object", "additionalProperties": point},
        "args": {"type": "array", "items": text},
        "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "ports": keyed(&port, json!(["port", "protocol"])),
        "items": keyed(&json!({"type": "object", "properties": {"name": text, "image": text,
            "ports": keyed(&port, json!(["port", "protocol"])),
            "limits": {"type": "object", "additionalProperties": text}}}), json!(["name"])),
        "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "target": {"x-kubernetes-int-or-string": true},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "object", "properties": {"a": text}}}},
        "inner": {"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true},
    }});
    parse(&json!({"type": "object", "properties": {"spec": spec,
        "status": {"type": "object", "properties": {"count": {"type": "integer"}}}}}))
}

/// A spec, and its fields.
const SETS: &str = r#"
{"count": 1} | {"f:count": {}}
{"point": {"x": 1}} | {"f:point": {"f:x": {}}}
{"whole": {"x": 1}} | {"f:whole": {}}
{"point": {}, "labels": {}, "items": []} | {"f:point": {}, "f:labels": {}}
{"point": null, "labels": null, "items": null, "count": null, "args": null} | {"f:point": {}, "f:labels": {}, "f:items": {}, "f:count": {}, "f:args": {}}
{"labels": {"a": "1", "b": "2"}} | {"f:labels": {"f:a": {}, "f:b": {}}}
{"points": {"a": {"x": 1}}} | {"f:points": {"f:a": {".": {}, "f:x": {}}}}
{"args": ["a", "a"]} | {"f:args": {}}
{"args": []} | {"f:args": {}}
{"set": ["b", "a"]} | {"f:set": {"v:\"a\"": {}, "v:\"b\"": {}}}
{"set": ["<a&>"]} | {"f:set": {"v:\"\\u003ca\\u0026\\u003e\"": {}}}
{"set": ["b", "a", "a"]} | {"f:set": {"v:\"a\"": {}, "v:\"b\"": {}}}
{"numbers": [1, 1.0, 2]} | {"f:numbers": {"v:1": {}, "v:2": {}}}
{"items": [{"name": "a", "image": "i"}]} | {"f:items": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}}}}
{"items": [{"name": "a", "image": "i"}, {"name": "a"}]} | {"f:items": {"k:{\"name\":\"a\"}": {}}}
{"ports": [{"protocol": "UDP", "port": 80}]} | {"f:ports": {"k:{\"port\":80,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}
{"ports": [{"port": 80}]} | {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}
{"target": 1} | {"f:target": {}}
{"target": "http"} | {"f:target": {}}
{"free": {"a": {"b": [1]}, "known": {"a": "1", "c": 1}}} | {"f:free": {"f:a": {".": {}, "f:b": {}}, "f:known": {"f:a": {}, "f:c": {}}}}
{"inner": {"apiVersion": "v1", "metadata": {"name": "n", "finalizers": ["x/y"]}, "data": {}}} | {"f:inner": {"f:apiVersion": {}, "f:metadata": {"f:name": {}, "f:finalizers": {"v:\"x/y\"": {}}}, "f:data": {}}}
{"unknown": {"a": 1}} | {"f:unknown": {".": {}, "f:a": {}}}
"#;

pub(super) fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table
        .trim()
        .lines()
        .map(|line| line.split(" | ").map(str::trim).collect())
}

pub(super) fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[test]
fn an_object_has_the_fields_that_its_schema_tells_apart() {
    let schema = schema();
    for row in rows(SETS) {
        let [spec, expected] = row[..] else {
            panic!("a row of {} columns", row.len());
        };
        let set = set_of(&json!({"spec": read(spec)}), Some(&schema));
        let expected = json!({"f:spec": read(expected)});
        assert_eq!(set.to_fields_v1(), expected, "{spec}");
        assert_eq!(FieldSet::from_fields_v1(&expected), Some(set), "{spec}");
    }
}

/// Objects that fit a kind with and without a schema, and their fields.
const OBJECTS: &str = r#"
{"apiVersion": "v1", "kind": "A", "metadata": {}} | {}
{"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 1, "managedFields": []}} | {}
{"metadata": {"labels": {"a": "b"}, "generateName": "x"}} | {"f:metadata": {"f:labels": {"f:a": {}}, "f:generateName": {}}}
{"metadata": {"finalizers": ["a/b"], "ownerReferences": [{"uid": "u", "name": "n"}]}} | {"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}, "f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}}}
"#;

#[test]
fn metadata_has_owners_but_for_what_the_server_keeps() {
    let schema = schema();
    for row in rows(OBJECTS) {
        for schema in [Some(&schema), None] {
            let set = set_of(&read(row[0]), schema);
            assert_eq!(set.to_fields_v1(), read(row[1]), "{}", row[0]);
        }
    }
}

#[test]
fn where_nothing_is_known_maps_are_told_apart_and_lists_are_not() {
    let set = set_of(&json!({"a": {"b": [{"c": 1}]}, "d": 1}), None);
    let expected = json!({"f:a": {".": {}, "f:b": {}}, "f:d": {}});
    assert_eq!(set.to_fields_v1(), expected);
}

/// Upstream's decoder adds one field after the other, too.
#[test]
fn a_set_is_the_same_in_whatever_order_its_fields_come() {
    for (sent, read) in [
        (
            json!({"f:b": {}, "f:a": {}, "v:2": {}, "v:-1": {}, "v:10": {}, "i:1": {}}),
            json!({"f:a": {}, "f:b": {}, "v:-1": {}, "v:2": {}, "v:10": {}, "i:1": {}}),
        ),
        (
            json!({"v:1": {}, "v: 1": {"f:b": {}}, "v:1 ": {"f:a": {"f:c": {}}}, "v:1.0": {"f:a": {}}}),
            json!({"v:1": {".": {}, "f:a": {".": {}, "f:c": {}}, "f:b": {}}}),
        ),
        (
            json!({"k:{\"a\":1}": {"f:x": {}}, "k:{ \"a\":1}": {"f:x": {}, "f:w": {}}}),
            json!({"k:{\"a\":1}": {"f:w": {}, "f:x": {}}}),
        ),
    ] {
        let set = FieldSet::from_fields_v1(&sent).expect("a set");
        assert_eq!(set.to_fields_v1(), read);
        assert_eq!(FieldSet::from_fields_v1(&read), Some(set));
    }
}
