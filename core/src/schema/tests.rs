//! Tables of schemas, documents and what is reported about them.

use super::*;
use serde_json::json;

/// The schema of an object whose `spec` has this schema.
fn schema(spec: Value) -> Schema {
    parse(&json!({"type": "object", "properties": {"spec": spec}}))
}

fn told(schema: &Schema, spec: &Value) -> Vec<String> {
    let causes = schema.validate_object(Held::Object, &json!({"spec": spec}), None);
    causes
        .iter()
        .map(|cause| {
            let reason = cause.reason.trim_start_matches("FieldValue");
            format!("{reason} {}: {}", cause.field, cause.message)
        })
        .collect()
}

/// Checks rows of a schema of `spec`, a `spec`, and what is reported about it.
fn check_table(table: &str) {
    for row in table.lines().filter(|row| !row.is_empty()) {
        let columns: Vec<&str> = row.split(" | ").collect();
        let [schema_of_spec, spec, expected] = columns[..] else {
            panic!("a row has three columns: {row}");
        };
        let read = |text: &str| serde_json::from_str::<Value>(text).expect(text);
        let found = told(&schema(read(schema_of_spec)), &read(spec)).join("; ");
        let found = if found.is_empty() { "fits" } else { &found };
        assert_eq!(found, expected, "{schema_of_spec} {spec}");
    }
}

const SCALARS: &str = r#"
{"type": "number", "minimum": 1.5} | 1.25 | Invalid spec: Invalid value: 1.25: spec in body should be greater than or equal to 1.5
{"type": "number", "maximum": 1e7} | 2e7 | Invalid spec: Invalid value: 20000000.0: spec in body should be less than or equal to 1e+07
{"type": "number", "maximum": 3.5} | 4 | Invalid spec: Invalid value: 4: spec in body should be less than or equal to 3
{"type": "number", "multipleOf": 5} | 7 | Invalid spec: Invalid value: 7: spec in body should be a multiple of 5
{"type": "number", "multipleOf": 0.5} | 7.25 | Invalid spec: Invalid value: 7.25: spec in body should be a multiple of 0.5
{"type": "number", "multipleOf": 0.1} | 0.3 | fits
{"type": "number", "multipleOf": 0.01} | 0.29 | fits
{"type": "number", "multipleOf": 0.1} | 0.35 | Invalid spec: Invalid value: 0.35: spec in body should be a multiple of 0.1
{"type": "integer", "multipleOf": 2} | 9007199254740993 | Invalid spec: Invalid value: 9007199254740993: spec in body should be a multiple of 2
{"type": "integer", "maximum": 9007199254740992} | 9007199254740993 | Invalid spec: Invalid value: 9007199254740993: spec in body should be less than or equal to 9007199254740992
{"type": "integer", "minimum": 9007199254740992} | 9007199254740992 | fits
{"type": "integer"} | 9007199254740991.0 | fits
{"type": "integer"} | 1e20 | TypeInvalid spec: Invalid value: "number": spec in body must be of type integer: "number"
{"type": "integer"} | 18446744073709551615 | TypeInvalid spec: Invalid value: "number": spec in body must be of type integer: "number"
{"type": "integer", "minimum": 1, "exclusiveMinimum": true} | 1 | Invalid spec: Invalid value: 1: spec in body should be greater than 1
{"type": "integer", "maximum": 3, "exclusiveMaximum": true} | 3 | Invalid spec: Invalid value: 3: spec in body should be less than 3
{"type": "integer"} | 2.0 | fits
{"type": "integer"} | 2.5 | TypeInvalid spec: Invalid value: "number": spec in body must be of type integer: "number"
{"type": "boolean"} | "true" | TypeInvalid spec: Invalid value: "string": spec in body must be of type boolean: "string"
{"type": "string", "minLength": 2} | "a" | Invalid spec: Invalid value: "a": spec in body should be at least 2 chars long
{"type": "string", "maxLength": 3} | "abcd" | TooLong spec: Too long: may not be more than 3 bytes
{"type": "string", "pattern": "^a"} | "ba" | Invalid spec: Invalid value: "ba": spec in body should match '^a'
{"type": "string", "pattern": "(?i)^\\p{L}+$"} | "Ab" | fits
{"type": "string"} | 5 | TypeInvalid spec: Invalid value: "integer": spec in body must be of type string: "integer"
{"type": "string", "format": "ipv4"} | "1.2.3" | TypeInvalid spec: Invalid value: "1.2.3": spec in body must be of type ipv4: "1.2.3"
{"type": "string", "format": "unheard-of"} | "any" | fits
{"type": "integer", "format": "int32"} | 5 | fits
{"type": "string", "nullable": true} | null | fits
{"x-kubernetes-int-or-string": true} | 1 | fits
{"x-kubernetes-int-or-string": true} | "1" | fits
{"x-kubernetes-int-or-string": true} | true | TypeInvalid spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean"
{"type": "string", "enum": ["a", "b"]} | "c" | NotSupported spec: Unsupported value: "c": supported values: "a", "b"
{"type": "integer", "enum": [1, 2]} | 2.0 | fits
{"type": "integer", "enum": [1, 2]} | 3 | NotSupported spec: Unsupported value: 3: supported values: "1", "2"
"#;

const CONTAINERS: &str = r#"
{"type": "array", "items": {"type": "string"}, "minItems": 1} | [] | Invalid spec: Invalid value: 0: spec in body should have at least 1 items
{"type": "array", "items": {"type": "string"}, "maxItems": 1} | ["a", "b"] | TooMany spec: Too many: 2: must have at most 1 items
{"type": "array", "items": {"type": "string"}} | [1] | TypeInvalid spec[0]: Invalid value: "integer": spec[0] in body must be of type string: "integer"
{"type": "array", "items": {"type": "string"}} | [null] | TypeInvalid spec[0]: Invalid value: "null": spec[0] in body must be of type string: "null"
{"type": "object", "minProperties": 1} | {} | Invalid spec: Invalid value: 0: spec in body should have at least 1 properties
{"type": "object", "maxProperties": 1} | {"a": 1, "b": 2} | TooMany spec: Too many: 2: must have at most 1 items
{"type": "object", "additionalProperties": {"type": "integer"}} | {"a": "x"} | TypeInvalid spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"
{"type": "object", "additionalProperties": false} | {"a": "x"} | Invalid spec.a: Invalid value: "a": spec.a in body is a forbidden property
{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}} | {} | Required spec.a: Required value
{"type": "array", "x-kubernetes-list-type": "set"} | ["a", "b"] | fits
{"type": "array", "x-kubernetes-list-type": "set"} | ["a", "b", "a", "a"] | Duplicate spec[2]: Duplicate value: "a"
{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | [{"k": 1, "v": 1}, {"k": 1, "v": 2}] | Duplicate spec[1]: Duplicate value: {"k":1}
{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"]} | [{"k": 1, "l": 1}, {"k": 1, "l": 2}] | fits
{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | [{}, {}] | Duplicate spec[1]: Duplicate value: {}
{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | [1] | Invalid spec[0]: Invalid value: 1: must be an object for an array of list-type map
"#;

const JUNCTORS: &str = r#"
{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]} | {"a": 1} | fits
{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]} | {} | Invalid <nil>: Invalid value: "": "spec" must validate at least one schema (anyOf); Required spec.a: Required value
{"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]} | {"c": 1} | Invalid <nil>: Invalid value: "": "spec" must validate at least one schema (anyOf); Required spec.b: Required value
{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]} | {"b": 1} | fits
{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]} | {} | Invalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid; Required spec.a: Required value
{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]} | {"a": 1, "b": 1} | Invalid <nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives
{"allOf": [{"required": ["a"]}, {"required": ["b"]}]} | {"a": 1, "b": 1} | fits
{"allOf": [{"required": ["a"]}, {"required": ["b"]}]} | {"a": 1} | Required spec.b: Required value; Invalid <nil>: Invalid value: "": "spec" must validate all the schemas (allOf)
{"allOf": [{"required": ["a"]}]} | {} | Required spec.a: Required value; Invalid <nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated
{"not": {"required": ["a"]}} | {"a": 1} | Invalid <nil>: Invalid value: "": "spec" must not validate the schema (not)
{"not": {"required": ["a"]}} | {} | fits
{"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true} | "1" | fits
"#;

#[test]
fn values_that_do_not_fit_are_told_as_kubernetes_tells_them() {
    check_table(SCALARS);
    check_table(CONTAINERS);
}

#[test]
fn junctors_tell_which_alternative_came_closest() {
    check_table(JUNCTORS);
}

#[test]
fn what_was_wrong_and_did_not_change_is_not_held_against_an_update() {
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}}}});
    let schema = schema(json!({"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 1}, "l": keyed,
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}));
    let old = json!({"spec": {"n": 5, "l": [{"k": "a", "v": 5}], "s": ["x", "x"]}});
    for (new, wrong) in [
        (
            json!({"n": 5, "l": [{"k": "b", "v": 1}, {"k": "a", "v": 5}], "s": ["y", "y"]}),
            0,
        ),
        (json!({"n": 6}), 1),
        (json!({"l": [{"k": "a", "v": 6}]}), 1),
        (json!({"l": [{"k": "b", "v": 5}]}), 1),
    ] {
        let causes = schema.validate_object(Held::Object, &json!({"spec": new}), Some(&old));
        assert_eq!(causes.len(), wrong, "{new}: {causes:?}");
    }
}

#[test]
fn an_item_of_a_list_without_a_type_is_compared_with_what_was_at_its_place() {
    let list = |more: Value| {
        let mut list = json!({"type": "array", "items": {"type": "object", "properties": {"v": {"type": "string", "maxLength": 3}}}});
        list.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        schema(list)
    };
    let old = json!({"spec": [{"v": "long1"}, {"v": "ok"}]});
    for (kind, new, wrong) in [
        (
            json!({}),
            json!([{"v": "long1"}, {"v": "ok"}, {"v": "x"}]),
            0,
        ),
        (json!({}), json!([{"v": "long1", "w": 1}]), 0),
        (json!({}), json!([{"v": "ok"}, {"v": "long1"}]), 1),
        (
            json!({}),
            json!([{"v": "long1"}, {"v": "ok"}, {"v": "long1"}]),
            1,
        ),
        (
            json!({"x-kubernetes-list-type": "atomic"}),
            json!([{"v": "long1"}, {"v": "ok"}, {"v": "x"}]),
            1,
        ),
    ] {
        let causes = list(kind).validate_object(Held::Object, &json!({"spec": new}), Some(&old));
        assert_eq!(causes.len(), wrong, "{new}: {causes:?}");
    }
}

#[test]
fn nulls_that_may_not_be_give_way_to_defaults() {
    let text = |more: Value| {
        let mut schema = json!({"type": "string"});
        schema
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        schema
    };
    let schema = schema(
        json!({"type": "object", "default": {"d": "set"}, "properties": {
        "plain": text(json!({})), "null": text(json!({"nullable": true})),
        "d": text(json!({"default": "x"})), "dn": text(json!({"default": "x", "nullable": true})),
        "map": {"type": "object", "additionalProperties": text(json!({}))},
        "list": {"type": "array", "items": text(json!({"default": "i"}))}}}),
    );
    for (spec, expected) in [
        (
            json!({"plain": null, "null": null, "d": null, "dn": null}),
            json!({"null": null, "d": "x", "dn": null}),
        ),
        (
            json!({"map": {"a": null, "b": "c"}}),
            json!({"map": {"b": "c"}, "d": "x", "dn": "x"}),
        ),
        (
            json!({"list": [null, "a"], "d": "y"}),
            json!({"list": ["i", "a"], "d": "y", "dn": "x"}),
        ),
    ] {
        let mut document = json!({"spec": spec});
        schema.apply_defaults(&mut document);
        assert_eq!(document["spec"], expected, "{spec}");
    }
    let mut absent = json!({});
    schema.apply_defaults(&mut absent);
    assert_eq!(absent["spec"], json!({"d": "set", "dn": "x"}));
}

#[test]
fn unknown_fields_are_dropped_and_metadata_knows_its_own() {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"strict": {"type": "object"}}});
    let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}});
    let document = json!({"type": "object", "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {"free": free, "embedded": embedded,
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "list": {"type": "array", "items": {"type": "object"}}}}}});
    let schema = parse(&document);
    let mut document = json!({"apiVersion": "v1", "kind": "K", "odd": 1,
        "metadata": {"name": "n", "nam": 1, "labels": {"any": "x"}, "ownerReferences": [{"uid": "u", "odd": 1}]},
        "spec": {"free": {"any": {"thing": 1}, "strict": {"odd": 1}}, "map": {"k": {"a": "b", "odd": 1}},
            "embedded": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "n", "odd": 1}, "odd": 1, "spec": {"odd": 1}},
            "list": [{"odd": 1}]}});
    assert_eq!(
        schema.prune(&mut document),
        [
            "metadata.nam",
            "metadata.ownerReferences[0].odd",
            "odd",
            "spec.embedded.metadata.odd",
            "spec.embedded.odd",
            "spec.embedded.spec.odd",
            "spec.free.strict.odd",
            "spec.list[0].odd",
            "spec.map.k.odd"
        ]
    );
    assert_eq!(document["metadata"]["labels"], json!({"any": "x"}));
    assert_eq!(document["spec"]["free"]["any"], json!({"thing": 1}));
    assert_eq!(
        document["spec"]["embedded"]["metadata"],
        json!({"name": "n"})
    );
}

#[test]
fn an_embedded_resource_is_a_resource() {
    let schema = schema(
        json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true}),
    );
    for (spec, expected) in [
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"b": "c"}}}),
            vec![],
        ),
        (
            json!({}),
            vec![
                "Required spec.apiVersion: Required value",
                "Required spec.kind: Required value",
            ],
        ),
        (
            json!({"apiVersion": "a/b/c", "kind": 5}),
            vec![
                "Invalid spec.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
                "Invalid spec.kind: Invalid value: 5: must be a string",
            ],
        ),
    ] {
        assert_eq!(told(&schema, &spec), expected, "{spec}");
    }
    let labels = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"b": "-"}}});
    assert!(
        told(&schema, &labels)[0].starts_with("Invalid spec.metadata.labels: Invalid value: \"-\"")
    );
    let types = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"b": 1}}});
    assert!(told(&schema, &types)[0].starts_with("Invalid spec.metadata: Invalid value: {"));
    let time = json!({"spec": {"apiVersion": "v1", "kind": "Pod",
        "metadata": {"deletionTimestamp": "zz"}}});
    assert!(told(&schema, &time["spec"])[0].starts_with("Invalid spec.metadata: Invalid value: {"));
    let mut read = time;
    let why = "spec.metadata: Invalid value: {\"deletionTimestamp\":\"zz\"}: ";
    let refused = schema.decode_custom(&mut read).expect_err("no time");
    assert!(refused.starts_with(why), "{refused}");
}

#[test]
fn the_metadata_of_an_embedded_object_is_as_go_writes_it() {
    let one = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let map = json!({"type": "object", "additionalProperties": one});
    let list = json!({"type": "array", "items": one});
    let schema = parse(&json!({"type": "object",
        "properties": {"one": one, "map": map, "list": list}}));
    for (sent, kept) in [
        (json!(null), json!({})),
        (
            json!({"name": "", "generateName": "", "namespace": "", "selfLink": "", "uid": "",
                "resourceVersion": "", "generation": 0, "creationTimestamp": null,
                "deletionTimestamp": null, "labels": {}, "annotations": null, "finalizers": [],
                "ownerReferences": [], "managedFields": [], "odd": 1}),
            json!({}),
        ),
        (
            json!({"creationTimestamp": "0001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}),
            json!({"deletionGracePeriodSeconds": 0}),
        ),
        (
            json!({"creationTimestamp": "2020-01-01T00:00:00+02:00", "generation": 2,
                "labels": {"a": null, "b": ""}, "finalizers": ["x/y"]}),
            json!({"creationTimestamp": "2019-12-31T22:00:00Z", "generation": 2,
                "labels": {"a": "", "b": ""}, "finalizers": ["x/y"]}),
        ),
        (
            json!({"ownerReferences": [null, {"name": "n", "controller": null}],
                "managedFields": [null, {"manager": "", "time": null, "fieldsV1": {}}]}),
            json!({"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""},
                {"apiVersion": "", "kind": "", "name": "n", "uid": ""}],
                "managedFields": [{}, {"fieldsV1": {}}]}),
        ),
        (
            json!({"name": "n", "labels": {"a": 1, "b": "c"}, "generation": "x"}),
            json!({"name": "n"}),
        ),
        (json!("x"), json!("x")),
    ] {
        let around = |metadata: &Value| {
            let one = json!({"apiVersion": "v1", "kind": "P", "metadata": metadata});
            json!({"one": one, "map": {"m": one}, "list": [one]})
        };
        let mut document = around(&sent);
        schema.tidy(&mut document);
        assert_eq!(document, around(&kept), "{sent}");
    }
    let mut types = json!({"one": {"apiVersion": 1, "kind": null, "metadata": {}}});
    schema.tidy(&mut types);
    assert_eq!(types, json!({"one": {"metadata": {}}}));
}

#[test]
fn what_need_not_be_decoded_is_what_decoding_leaves_alone() {
    let text = json!({"type": "string", "nullable": true});
    let list = json!({"type": "array", "items": text});
    let map = json!({"type": "object", "additionalProperties": text});
    let object = json!({"type": "object", "properties": {"a": text}});
    let time = json!({"type": "string", "format": "date-time"});
    let mut schemas = [text, list, map, object, time, json!({})].map(|one| parse(&one));
    schemas[5].quantity = true;
    schemas[5].rewritten = true;
    let mut left_alone = Vec::new();
    for value in [
        json!(null),
        json!("x"),
        json!("2026-01-01T00:00:00.5Z"),
        json!("0.5"),
        json!(1),
        json!(1.0),
        json!(true),
        json!([]),
        json!(["x"]),
        json!([null]),
        json!({}),
        json!({"a": "x"}),
        json!({"a": null}),
        json!({"b": "x"}),
    ] {
        for property in &schemas {
            let properties = [("p".into(), Arc::new(property.clone()))].into();
            let schema = Schema {
                properties,
                ..parse(&json!({"type": "object"}))
            };
            let document = json!({"p": value});
            let (wrong, is_raw) = schema.validate_raw(&document);
            if !wrong.is_empty() || is_raw {
                continue;
            }
            let mut decoded = document.clone();
            assert_eq!(schema.prune(&mut decoded), [""; 0], "{document}");
            schema.decode(&mut decoded);
            assert_eq!(decoded, document);
            left_alone.push(value.to_string());
        }
    }
    let expected = r#""x" "2026-01-01T00:00:00.5Z" "0.5" ["x"] {"a":"x"} {"a":"x"} {"b":"x"}"#;
    assert_eq!(left_alone.join(" "), expected);
}

#[test]
fn an_empty_list_is_no_list_but_for_three() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let schema = schema(
        json!({"type": "object", "properties": {"any": list, "policies": list,
        "storedVersions": list, "managedFields": list}}),
    );
    let kept = json!({"policies": [], "storedVersions": [], "managedFields": []});
    let mut sent = json!({"spec": kept});
    sent["spec"]["any"] = json!([]);
    schema.decode(&mut sent);
    assert_eq!(sent, json!({"spec": kept}));
}

/// Otherwise one object could keep all others from being written for a quarter of an hour.
#[test]
fn long_texts_are_not_matched_with_large_patterns_without_end() {
    let large = json!({"type": "string", "pattern": r"^\pL{40}"});
    let none = || json!({"type": "string", "pattern": "^b"});
    let text = |length: usize| json!({"a": "a".repeat(length)});
    let of = |a: Value| json!({"type": "object", "properties": {"a": a}});
    for schema in [
        of(large.clone()),
        of(json!({"anyOf": [none(), large]})),
        of(json!({"allOf": [large]})),
        of(json!({"oneOf": [large, none()]})),
        of(json!({"not": {"allOf": [none(), large]}})),
    ] {
        let parsed = parse(&schema);
        for (length, is_refused) in [(15_000, false), (3 << 20, true)] {
            let found = parsed.validate(&text(length));
            let is_told = found.iter().any(|one| {
                let names = r"a in body cannot be matched with '^\pL{40}'";
                one.field == "a" && one.message.contains(names)
            });
            assert_eq!(is_told, is_refused, "{length} {schema}");
            assert_eq!(found.is_empty(), !is_refused, "{length} {schema}");
        }
        // What was there already is not matched again.
        let long = text(3 << 20);
        assert_eq!(parsed.validate_change(&long, &long).len(), 0);
    }
    let small = parse(&of(
        json!({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}),
    ));
    assert_eq!(small.validate(&text(3 << 20)).len(), 0);
    // Of some kilobytes, and all of its states are looked at for each byte.
    let slow = parse(&of(json!({"type": "string", "pattern": "[a-z]{1000}b"})));
    assert_eq!(slow.validate(&text(300_000)).len(), 1);
}

/// There is a place before each text and behind it, at which all states may be looked at.
#[test]
fn empty_texts_are_not_matched_for_nothing() {
    let text = json!({"type": "string", "pattern": "^(?:a?){1000}(?:b?){1000}$"});
    let schema = parse(&json!({"type": "array", "items": text}));
    let mut work = Work::new(100_000);
    for (texts, fits) in [(20, true), (5, false)] {
        let found = check::causes(&schema, &json!(vec![""; texts]), None, &mut work);
        assert_eq!((found.is_empty(), work.is_over()), (fits, !fits));
    }
}

/// Otherwise each patch of a label would cost what the whole object does.
#[test]
fn what_an_update_leaves_as_it_was_is_not_matched_at_all() {
    let text = json!({"type": "string", "pattern": "^[a-z]{1000}b|a"});
    let schema = schema(json!({"type": "object", "properties": {"a": text, "b": text}}));
    let object = |a: &str, b: &str| json!({"spec": {"a": a, "b": b}});
    let old = object(&"a".repeat(10_000), "a");
    for (new, least, most) in [
        (old.clone(), 0, 0),
        (object(&"a".repeat(10_000), "aa"), 3_000, 4_000),
        (object(&"a".repeat(10_001), "a"), 10_000_000, 11_000_000),
    ] {
        let mut budget = Budget::default();
        let causes = schema.hold(&new, Some(&old), Held::Object, &mut budget);
        let work = WORK_MAX - budget.meter.work.left();
        let is_right = causes.is_empty() && (least..=most).contains(&work);
        assert!(is_right, "{work}: {causes:?}");
    }
}
