//! Configurations that cannot be applied, and values that are not `FieldsV1`.

use super::sets::{read, rows, schema};
use crate::fields::{FieldSet, check};
use serde_json::json;

/// A spec, and what is wrong with it.
const FAULTS: &str = r#"
{"count": 1, "target": "x", "free": {"any": [{}]}, "inner": {"any": 1}} | none
{"count": null, "labels": null, "items": null, "whole": null} | none
{"unknown": 1} | .spec.unknown: field not declared in schema
{"a": 1, "b": 1} | .spec.a: field not declared in schema
{"point": {"z": 1}} | .spec.point.z: field not declared in schema
{"whole": {"z": 1}} | .spec.whole.z: field not declared in schema
{"free": {"known": {"z": 1}}} | none
{"inner": {"metadata": {"finalizers": ["a", "a"]}}} | .spec.inner.metadata.finalizers: duplicate entries for key [="a"]
{"labels": {"a": true}} | .spec.labels.a: expected string, got &value.valueUnstructured{Value:true}
{"labels": {"a": {"b": [1]}}} | .spec.labels.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":[]interface {}{1}}}
{"count": "1"} | .spec.count: expected numeric (int or float), got string
{"on": "yes"} | .spec.on: expected boolean, got &{yes}
{"point": [1, {"a": 2}]} | .spec.point: expected map, got &{[1 map[a:2]]}
{"items": "x"} | .spec.items: expected list, got &{x}
{"args": [1, "a"]} | .spec.args[0]: expected string, got &value.valueUnstructured{Value:1}
{"set": ["a", "b", "a"]} | .spec.set: duplicate entries for key [="a"]
{"set": [null]} | .spec.set: element 0: associative list without keys has an element that's an explicit null
{"set": ["a", {}]} | .spec.set: element 1: associative list without keys has an element that's a map type
{"set": [[]]} | .spec.set: element 0: not supported: associative list with lists as elements
{"items": [{"name": "a"}, {"name": "a"}]} | .spec.items: duplicate entries for key [name="a"]
{"items": [{"image": "a"}]} | .spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)
{"items": [null]} | .spec.items: element 0: associative list with keys may not have a null element
{"items": [1]} | .spec.items: element 0: associative list with keys may not have non-map elements
{"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]} | .spec.ports: duplicate entries for key [port=1,protocol="TCP"]
{"items": [{"name": "a", "x": 1}], "count": "1"} | errors:;  .spec.count: expected numeric (int or float), got string;  .spec.items[name="a"].x: field not declared in schema
"#;

#[test]
fn a_configuration_is_refused_with_the_place_of_its_fault() {
    let schema = schema();
    for row in rows(FAULTS) {
        let object = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"},
            "spec": read(row[0])});
        let found = check(&object, Some(&schema))
            .err()
            .unwrap_or_else(|| "none".into());
        assert_eq!(found.replace("\n  ", ";  "), row[1].trim(), "{}", row[0]);
    }
}

#[test]
fn metadata_is_checked_also_where_nothing_else_is_known() {
    let why = ".metadata.nam: field not declared in schema";
    let faulty = json!({"metadata": {"nam": "a"}});
    assert_eq!(check(&faulty, Some(&schema())), Err(why.into()));
    let other = json!({"metadata": {"nam": "a"}, "other": [1]});
    assert_eq!(check(&other, None), Err(why.into()));
}

/// What a client sends as a set, and how it is read.
const SENT: &str = r#"
{} | {}
null | {}
{"f:a": {}} | {"f:a": {}}
{"f:a": null} | {"f:a": {}}
{"f:a": {".": {}}} | {"f:a": {}}
{"f:a": {".": 1, "f:b": {}}} | {"f:a": {".": {}, "f:b": {}}}
{".": {}, "f:a": {}} | {"f:a": {}}
{"f:a": {"f:": {}}} | {"f:a": {"f:": {}}}
{"f:a": {"i:3": {}, "v:1": {}, "k:{}": {}}} | {"f:a": {"i:3": {}, "v:1": {}, "k:{}": {}}}
{"x:later": {"f:a": {}}} | {}
{"f:a": {"v:1": {}, "v:1.0": {"f:b": {}}}} | {"f:a": {"v:1": {".": {}, "f:b": {}}}}
{"f:a": {"k:{\"b\":1,\"a\":2}": {}}} | {"f:a": {"k:{\"a\":2,\"b\":1}": {}}}
{"f:a": {"v:\"<\"": {}}} | {"f:a": {"v:\"\\u003c\"": {}}}
[] | none
1 | none
{"f:a": 1} | none
{"f:a": []} | none
{"fa": {}} | none
{"": {}} | none
{"f": {}} | none
{"v:": {}} | none
{"v:x": {}} | none
{"k:[]": {}} | none
{"i:x": {}} | none
{"f:a": {"f:b": "c"}} | none
"#;

#[test]
fn what_clients_send_for_a_set_is_read_or_is_none() {
    for row in rows(SENT) {
        let found = FieldSet::from_fields_v1(&read(row[0]));
        let shown = found.map_or_else(|| "none".into(), |set| set.to_fields_v1().to_string());
        let expected = match row[1] {
            "none" => "none".into(),
            expected => read(expected).to_string(),
        };
        assert_eq!(shown, expected, "{}", row[0]);
    }
}
