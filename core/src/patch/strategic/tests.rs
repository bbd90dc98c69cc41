//! Tables of documents, patches and results; and patches computed from two documents.

mod round_trip;

use super::{apply, unreadable};
use crate::Rejection;
use crate::schema::{Schema, parse};
use serde_json::{Value, json};

/// A list of maps, one of strings, one that is replaced, and a map of strings.
fn schema() -> Schema {
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "image": {"type": "string"},
        "env": {"type": "array", "items": {"type": "object", "properties":
            {"name": {"type": "string"}, "value": {"type": "string"}}},
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}}});
    parse(&json!({"type": "object", "properties": {
        "items": {"type": "array", "items": item,
            "x-kubernetes-patch-strategy": "merge,retainKeys",
            "x-kubernetes-patch-merge-key": "name"},
        "set": {"type": "array", "items": {"type": "string"},
            "x-kubernetes-patch-strategy": "merge"},
        "whole": {"type": "array", "items": {"type": "object"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "count": {"type": "integer"}, "on": {"type": "boolean"}, "text": {"type": "string"},
        "selector": {"type": "object", "additionalProperties": {"type": "string"},
            "x-kubernetes-patch-strategy": "replace"},
        "part": {"type": "object", "properties": {"x": {"type": "integer"},
            "y": {"type": "integer"}}}}}))
}

fn patched(live: &Value, change: &Value) -> Result<Value, Rejection> {
    apply(live, change, &schema())
}

/// A member's value, the patch of it, and the result. New elements come before those that the patch
/// does not name.
const MERGES: &str = r#"
labels {"a": "1", "b": "1"} | {"a": "2"} | {"a": "2", "b": "1"}
selector {"a": "1", "b": "1"} | {"a": "2"} | {"a": "2"}
selector {"a": "1"} | {} | {}
items [{"name": "a", "image": "1"}, {"name": "b"}] | [{"name": "a", "image": "2"}] | [{"name": "a", "image": "2"}, {"name": "b"}]
items [{"name": "a"}, {"name": "b"}] | [{"name": "c"}] | [{"name": "c"}, {"name": "a"}, {"name": "b"}]
items [{"name": "a"}, {"name": "b"}, {"name": "c"}] | [{"name": "c"}, {"name": "a"}] | [{"name": "b"}, {"name": "c"}, {"name": "a"}]
items [{"name": "a"}, {"name": "b"}, {"name": "a", "image": "1"}] | [{"name": "a", "$patch": "delete"}, {"name": "z", "$patch": "delete"}] | [{"name": "b"}]
items [{"name": "a"}] | [{"$patch": "replace"}, {"name": "z"}] | [{"name": "z"}]
items [{"name": "a", "env": [{"name": "x", "value": "1"}]}] | [{"name": "a", "env": [{"name": "y"}]}] | [{"name": "a", "env": [{"name": "y"}, {"name": "x", "value": "1"}]}]
set ["a", "b"] | ["b", "c"] | ["a", "b", "c"]
set ["a"] | ["c", "a"] | ["c", "a"]
set [] | [] | []
whole [{"a": 1}, {"b": 1}] | [{"a": 2}] | [{"a": 2}]
labels {"a": "1"} | {"b": "2", "a": null} | {"b": "2"}
labels {"a": "1"} | {"$patch": "replace", "b": "2"} | {"b": "2"}
labels {"a": "1"} | {"$patch": "delete"} | {}
"#;

fn rows(table: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    table.trim().lines().map(|line| {
        let (head, rest) = line.split_once(' ').expect("a head");
        (head, rest.split(" | ").collect())
    })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn lists_merge_as_their_schema_says() {
    for (member, cells) in rows(MERGES) {
        let [live, change, expected] = [0, 1, 2].map(|cell| json!({member: read(cells[cell])}));
        assert_eq!(patched(&live, &change), Ok(expected), "{live} {change}");
    }
}

#[test]
fn directives_beside_a_list_and_in_a_map_are_carried_out() {
    let live = json!({"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "set": ["a", "b", "c"], "part": {"x": 1, "y": 2}});
    for (change, pointer, expected) in [
        (
            json!({"$setElementOrder/items": [{"name": "c"}, {"name": "a"}]}),
            "/items",
            json!([{"name": "b"}, {"name": "c"}, {"name": "a"}]),
        ),
        (
            json!({"$setElementOrder/items": [{"name": "c"}, {"name": "n"}, {"name": "a"}],
                "items": [{"name": "n", "image": "1"}, {"name": "b", "$patch": "delete"}]}),
            "/items",
            json!([{"name": "c"}, {"name": "n", "image": "1"}, {"name": "a"}]),
        ),
        (
            json!({"$setElementOrder/set": ["c", "b"], "$deleteFromPrimitiveList/set": ["a"]}),
            "/set",
            json!(["c", "b"]),
        ),
        (
            json!({"$deleteFromPrimitiveList/set": ["b", "z"]}),
            "/set",
            json!(["a", "c"]),
        ),
        (
            json!({"$deleteFromPrimitiveList/none": ["b"]}),
            "/none",
            Value::Null,
        ),
        (
            json!({"part": {"$retainKeys": ["x"], "x": 5}}),
            "/part",
            json!({"x": 5}),
        ),
        (
            json!({"part": {"$retainKeys": ["y"], "x": null}}),
            "/part",
            json!({"y": 2}),
        ),
        (
            json!({"$setElementOrder/none": []}),
            "/items",
            live["items"].clone(),
        ),
    ] {
        let result = patched(&live, &change).expect("it applies");
        let found = result.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(*found, expected, "{change}");
    }
}

#[test]
fn what_is_new_keeps_no_null_and_no_directive() {
    let change = json!({"items": [{"name": "n", "image": null, "$retainKeys": ["name"],
        "env": [{"name": "e", "$patch": "delete"}, {"name": "f"}]}, {"$patch": "replace"}],
        "part": {"$patch": "delete"}, "labels": {"a": null, "b": "1"}, "set": ["a", "a"]});
    let expected = json!({"items": [{"name": "n", "env": [{"name": "f"}]}],
        "labels": {"b": "1"}, "set": ["a", "a"]});
    assert_eq!(patched(&json!({}), &change), Ok(expected));
    assert_eq!(
        patched(&json!({"on": true}), &Value::Null),
        Ok(json!({"on": true}))
    );
}

/// Status code, patch, and upstream's message.
const REFUSED: &str = r#"
400 [] | json: cannot unmarshal array into Go value of type map[string]interface {}
400 {"$patch": "delete"} | the name of the object (n based on URL) was undeterminable: name must be provided
500 {"$patch": "fly"} | unknown patch type: fly in map: map[$patch:fly]
500 {"part": {"$patch": "merge", "y": [1, "b"]}} | unknown patch type: merge in map: map[$patch:merge y:[1 b]]
500 {"items": [{"name": "a", "$patch": "merge"}]} | merging lists cannot yet be specified in the patch
500 {"items": [{"name": "a", "$patch": 1}]} | unknown patch type: 1 in map: map[$patch:1 name:a]
500 {"items": [{"image": "1"}]} | map: map[image:1] does not contain declared merge key: name
500 {"items": ["a"]} | list element types are not identical: [[map[name:a]] [a]]
500 {"set": [1]} | list element types are not identical: [[a] [1]]
500 {"$setElementOrder/items": "a"} | expected a []interface {}, but received a string
500 {"$setElementOrder/items": [{"name": "b"}], "items": [{"name": "a"}]} | The order in patch list:/[map[name:a]]/ doesn't match $setElementOrder list:/[map[name:b]]/
400 {"$setElementOrder": []} | invalid patch format of setElementOrder list
400 {"$deleteFromPrimitiveList": []} | invalid patch format of primitive list
400 {"part": {"$retainKeys": "x"}} | invalid patch format of retainKeys
400 {"part": {"$retainKeys": ["x"], "y": 1}} | invalid patch format of retainKeys
"#;

#[test]
fn patches_that_make_no_sense_are_refused_with_upstreams_texts() {
    let live = json!({"items": [{"name": "a"}], "set": ["a"], "part": {"x": 1},
        "metadata": {"name": "n"}});
    for (code, cells) in rows(REFUSED) {
        let (found, said) = match patched(&live, &read(cells[0])) {
            Err(Rejection::BadRequest(text)) => ("400", text),
            Err(Rejection::Internal(text)) => ("500", text.replace('\n', "/")),
            other => ("", format!("{other:?}")),
        };
        assert_eq!((found, &*said), (code, cells[1]), "{}", cells[0]);
    }
    let nested = patched(&json!({"set": [["a"]]}), &json!({"set": [["b"]]}));
    assert_eq!(nested, Err(Rejection::Unprocessable));
}

#[test]
fn what_a_type_cannot_hold_is_said_of_the_patch() {
    for (change, text) in [
        (json!({"labels": "a"}), "cannot restore map from string"),
        (
            json!({"labels": {"a": 1}}),
            "cannot convert int64 to string",
        ),
        (json!({"part": ["a"]}), "cannot restore struct from: slice"),
        (
            json!({"part": {"x": "a"}}),
            "cannot convert string to int32",
        ),
        (json!({"items": {"a": 1}}), "cannot restore slice from map"),
        (json!({"on": 1.5}), "cannot convert float64 to bool"),
        (json!({"count": true}), "cannot convert bool to int32"),
    ] {
        let merged = patched(&json!({}), &change).expect("it merges");
        let Some(Rejection::Invalid { causes, .. }) = unreadable(&change, &merged, &schema())
        else {
            panic!("{change} is readable");
        };
        assert_eq!(causes[0].field, "patch");
        assert!(causes[0].message.ends_with(text), "{}", causes[0].message);
        assert!(causes[0].message.starts_with("Invalid value: \"map["));
    }
    let fine = json!({"labels": {"a": "1"}, "part": null, "unknown": {"a": 1}});
    assert_eq!(unreadable(&fine, &fine, &schema()), None);
}
