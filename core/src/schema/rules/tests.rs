//! Which causes rules produce.

use super::super::parse;
use crate::cel;
use crate::schema::{Held, Schema, Work, pattern_bytes_max};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn root(spec: Value) -> Schema {
    parse(&json!({"type": "object", "properties": {"spec": spec}}))
}

/// What is wrong with an object, one line per cause.
fn told(schema: &Schema, new: &Value, old: Option<&Value>) -> String {
    let causes = schema.validate_object(Held::Object, new, old);
    causes.iter().fold(String::new(), |mut told, cause| {
        let line = format!("{} {}: {}", cause.reason, cause.field, cause.message);
        let _infallible = writeln!(told, "{}", line.trim_start_matches("FieldValue"));
        told
    })
}

/// A rule, and what is reported about an object that has it.
const TOLD: &str = r#"
{"rule": "self.a > self.b"} |
{"rule": " self.a < self.b\n"} | Invalid spec: Invalid value: failed rule: self.a < self.b
{"rule": "self.a < self.b", "message": " a is less "} | Invalid spec: Invalid value: a is less
{"rule": "self.a < self.b", "messageExpression": "'a is ' + string(self.a)"} | Invalid spec: Invalid value: a is 2
{"rule": "self.a < self.b", "message": "m", "messageExpression": "'a is ' + string(self.map['x'])"} | Invalid spec: Invalid value: m
{"rule": "self.a < self.b", "message": "m", "messageExpression": "'a\\nb'"} | Invalid spec: Invalid value: m
{"rule": "self.a < self.b", "messageExpression": "'  '"} | Invalid spec: Invalid value: failed rule: self.a < self.b
{"rule": "self.a < self.b", "fieldPath": ".a"} | Invalid spec.a: Invalid value: failed rule: self.a < self.b
{"rule": "self.a < self.b", "fieldPath": ".map.k"} | Invalid spec.map[k]: Invalid value: failed rule: self.a < self.b
{"rule": "self.a < self.b", "reason": "FieldValueForbidden"} | Forbidden spec: Forbidden: failed rule: self.a < self.b
{"rule": "self.a < self.b", "reason": "FieldValueRequired", "fieldPath": ".b"} | Required spec.b: Required value: failed rule: self.a < self.b
{"rule": "self.a < self.b", "reason": "FieldValueDuplicate"} | Duplicate spec: Duplicate value
{"rule": "self.map['x'] == 1"} | Invalid spec: Invalid value: "object": no such key: x evaluating rule: self.map['x'] == 1
{"rule": "self.a / (self.b - 1) == 1", "message": "m"} | Invalid spec: Invalid value: "object": division by zero evaluating rule: m
{"rule": "self.any > 5"} | Invalid spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.any > 5
{"rule": "self.missing"} | Invalid spec: Invalid value: "object": rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'missing'~self.missing~....^
"#;

#[test]
fn a_rule_that_does_not_hold_is_told_as_kubernetes_tells_it() {
    let with = |rule: Value| {
        root(json!({"type": "object", "x-kubernetes-validations": [rule],
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"},
                "any": {"x-kubernetes-int-or-string": true},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}}}}))
    };
    let spec = json!({"spec": {"a": 2, "b": 1, "any": "x", "map": {"k": 1}}});
    for line in TOLD.lines().filter(|line| !line.is_empty()) {
        let (rule, said) = line.split_once(" |").expect(line);
        let rule: Value = serde_json::from_str(rule).expect(line);
        let found = told(&with(rule), &spec, None).replace("\n | ", "~");
        assert_eq!(found.trim_end(), said.trim(), "{line}");
    }
}

#[test]
fn rules_hold_at_every_level_and_are_told_at_their_place() {
    let rule = |text: &str| json!([{"rule": text}]);
    let schema = parse(&json!({
    "type": "object", "x-kubernetes-validations": rule("self.metadata.name.startsWith('a')"),
    "properties": {"spec": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": rule("self > 0")}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": rule("self != ''")}},
        "inner": {"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": rule("self.kind == 'Pod' && self.metadata.name != 'x'")},
        "none": {"type": "string", "nullable": true, "x-kubernetes-validations": rule("self == 'x'")},
    }}}}));
    let good = json!({"metadata": {"name": "ab"}, "spec": {"list": [1], "map": {"k": "v"}, "none": null,
        "inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y"}}}});
    assert_eq!(told(&schema, &good, None), "");
    let bad = json!({"metadata": {"name": "b"}, "spec": {"list": [1, 0], "map": {"k": ""}, "none": "y",
        "inner": {"apiVersion": "v1", "kind": "Job", "metadata": {"name": "y"}}}});
    assert_eq!(
        told(&schema, &bad, None),
        "Invalid <nil>: Invalid value: failed rule: self.metadata.name.startsWith('a')
Invalid spec.inner: Invalid value: failed rule: self.kind == 'Pod' && self.metadata.name != 'x'
Invalid spec.list[1]: Invalid value: 0: failed rule: self > 0
Invalid spec.map[k]: Invalid value: \"\": failed rule: self != ''
Invalid spec.none: Invalid value: \"y\": failed rule: self == 'x'
"
    );
}

#[test]
fn a_violation_shows_the_value_unless_it_is_an_object_or_a_list() {
    for (schema, value, shown) in [
        (json!({"type": "string"}), json!("a\"b"), r#": "a\"b""#),
        (json!({"type": "integer"}), json!(-7), ": -7"),
        (json!({"type": "number"}), json!(0.5), ": 0.5"),
        (json!({"type": "boolean"}), json!(true), ": true"),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!("50%"),
            r#": "50%""#,
        ),
        (json!({"type": "object"}), json!({}), ""),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a"]),
            "",
        ),
    ] {
        for (reason, words, detail) in [
            ("FieldValueInvalid", "Invalid", ": never"),
            ("FieldValueDuplicate", "Duplicate", ""),
        ] {
            let mut schema = schema.clone();
            schema["x-kubernetes-validations"] =
                json!([{"rule": "1 == 2", "message": "never", "reason": reason}]);
            let found = told(&root(schema), &json!({"spec": value}), None);
            let said = format!("{words} spec: {words} value{shown}{detail}\n");
            assert_eq!(found, said);
        }
    }
}

#[test]
fn a_transition_is_looked_at_only_where_there_was_something_before() {
    let schema = root(json!({"type": "object", "properties": {
        "fixed": {"type": "string", "nullable": true, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed"}]},
        "once": {"type": "integer", "nullable": true, "x-kubernetes-validations": [
            {"rule": "oldSelf.orValue(0) <= self", "optionalOldSelf": true, "message": "only grows"}]},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "goes down"}]}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "goes down"}]}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {
            "v": {"type": "integer", "x-kubernetes-validations": [
                {"rule": "oldSelf.orValue(0) <= self", "optionalOldSelf": true, "message": "only grows"}]}}}},
    }}));
    for (old, new, said) in [
        (Value::Null, json!({"fixed": "a", "once": 1}), ""),
        (
            Value::Null,
            json!({"once": -1}),
            "Invalid spec.once: Invalid value: -1: only grows",
        ),
        (json!({}), json!({"fixed": "a"}), ""),
        (json!({"fixed": "a"}), json!({}), ""),
        (
            json!({"fixed": null, "once": null}),
            json!({"fixed": "a", "once": 1}),
            "",
        ),
        (json!({"fixed": "a"}), json!({"fixed": null}), ""),
        (
            json!({"fixed": "a"}),
            json!({"fixed": "b"}),
            "Invalid spec.fixed: Invalid value: \"b\": is fixed",
        ),
        (
            json!({"once": 3}),
            json!({"once": 2}),
            "Invalid spec.once: Invalid value: 2: only grows",
        ),
        (
            json!({"items": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]}),
            json!({"items": [{"k": "b", "v": 4}, {"k": "c", "v": 0}, {"k": "a", "v": 2}]}),
            "Invalid spec.items[0]: Invalid value: goes down",
        ),
        (
            json!({"atomic": {"v": 1}}),
            json!({"atomic": {"v": 0}}),
            "Invalid spec.atomic.v: Invalid value: 0: goes down",
        ),
        // Nothing is known of what was in a list that is no map.
        (json!({"list": [{"v": 5}]}), json!({"list": [{"v": 1}]}), ""),
    ] {
        let old = (!old.is_null()).then(|| json!({"spec": old}));
        let found = told(&schema, &json!({"spec": new}), old.as_ref());
        assert_eq!(found.trim_end(), said, "{old:?} {new}");
    }
}

/// Source: `unstructuredMap.Find` in `k8s.io/apiserver/pkg/cel/common`.
#[test]
fn a_field_that_is_null_is_absent_and_an_entry_that_is_null_is_not() {
    let schema = |rule: &str| {
        root(
            json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "x": {"type": "string", "nullable": true}, "y": {"type": "string", "nullable": true},
            "object": {"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": true}},
            "inner": {"type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true}}}),
        )
    };
    let spec = json!({"spec": {"x": null, "y": "b", "object": null, "map": {"k": null, "l": "c"}}});
    for rule in [
        "!has(self.x) || self.x.size() > 0",
        "!has(self.x) && has(self.y)",
        "self.?x.orValue('d') == 'd' && self.?y.orValue('d') == 'b'",
        "!self.?x.hasValue() && !self.?object.?a.hasValue() && !self.?object.a.hasValue()",
        "!has(self.object)",
        "!('x' in dyn(self)) && 'y' in dyn(self) && !dyn(self)[?'x'].hasValue()",
        "has(self.map.k) && 'k' in self.map && self.map.k == dyn(null) && self.map['l'] == 'c'",
        "self.?map.?k.hasValue() && self.map[?'k'].hasValue()",
        "dyn(self) == dyn(self) && self == self",
        "!has(self.inner)",
    ] {
        assert_eq!(told(&schema(rule), &spec, None), "", "{rule}");
    }
    let found = told(&schema("self.x == 'a'"), &spec, None);
    assert!(found.contains("no such key: x evaluating rule"), "{found}");
    let bare = cel::Value::of(&spec["spec"]);
    let env = cel::Env {
        variables: vec![("object", cel::Type::Dyn)],
        ..cel::Env::default()
    };
    let source = "has(object.x) && object.x == null && object.?x.hasValue() && 'x' in object";
    let (program, _) = cel::Program::compile(source, &env).expect(source);
    let holds = program.evaluate(
        &[("object", bare)],
        &mut cel::Meter::new(1_000, Work::default()),
    );
    assert!(matches!(holds, Ok(cel::Value::Bool(true))), "{holds:?}");
}

#[test]
fn what_did_not_change_is_not_held_against_an_update() {
    let schema = root(json!({"type": "object", "properties": {
        "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]},
        "list": {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}},
        "whole": {"type": "array", "x-kubernetes-list-type": "atomic",
            "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}}},
        "both": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.x < self.y"}]},
    }}));
    let old = json!({"spec": {"a": 0, "list": [0], "whole": [0], "atomic": {"v": 0}, "both": {"x": 2, "y": 1}, "other": 1}});
    for (new, said) in [
        (
            json!({"a": 0, "list": [0], "both": {"x": 2, "y": 1}, "other": 2}),
            "",
        ),
        (json!({"a": -1, "list": [0]}), "spec.a:"),
        (json!({"a": 0, "list": [0, 1]}), ""),
        (json!({"a": 0, "list": [1, 0]}), "spec.list[1]:"),
        (json!({"whole": [0]}), ""),
        (json!({"whole": [0, 1]}), "spec.whole[0]:"),
        (json!({"atomic": {"v": 0, "w": 1}}), ""),
        (json!({"atomic": {"v": -1}}), "spec.atomic.v:"),
        (json!({"a": 0, "both": {"x": 3, "y": 1}}), "spec.both:"),
    ] {
        let found = told(&schema, &json!({"spec": new}), Some(&old));
        assert!(
            found.contains(said) && found.is_empty() == said.is_empty(),
            "{new}: {found}"
        );
    }
}

#[test]
fn rules_wait_until_the_object_has_its_form() {
    let schema = root(json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}, "c": {"type": "string", "pattern": "^x"}},
        "x-kubernetes-validations": [{"rule": "self.a > 0"}]}));
    let unchecked = "Invalid <nil>: Invalid value: null: some validation rules were not checked \
                     because the object was invalid; correct the existing errors to complete validation";
    for (spec, waits) in [
        (json!({}), true),
        (json!({"a": "x"}), true),
        (json!({"a": 0, "c": "y"}), false),
        (json!({"a": 0}), false),
    ] {
        let found = told(&schema, &json!({"spec": spec}), None);
        assert_eq!(found.contains(unchecked), waits, "{spec}: {found}");
        assert_eq!(found.contains("failed rule"), !waits, "{spec}: {found}");
    }
}

#[test]
fn the_rules_of_one_object_share_a_budget() {
    let rule = json!([{"rule": "self.all(a, self.all(b, a == b || a != b))"}]);
    let list =
        json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rule});
    let lists: serde_json::Map<String, Value> = (0..30)
        .map(|one| (format!("l{one:02}"), list.clone()))
        .collect();
    let schema = root(json!({"type": "object", "properties": lists}));
    let object = |length: usize| {
        let items: Vec<usize> = (0..length).collect();
        let lists: serde_json::Map<String, Value> = (0..30)
            .map(|one| (format!("l{one:02}"), json!(items)))
            .collect();
        json!({"spec": lists})
    };
    assert_eq!(told(&schema, &object(10), None), "");
    let found = told(&schema, &object(300), None);
    assert!(
        found.contains("no further validation rules will be run"),
        "{found}"
    );
    let found = told(&schema, &object(1000), None);
    assert_eq!(
        found.trim_end(),
        "Invalid spec.l00: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': \
         no further validation rules will be run due to call cost exceeds limit for rule: \
         self.all(a, self.all(b, a == b || a != b))"
    );
}

/// What a rule is in steps does not tell how long it takes.
#[test]
fn the_patterns_and_the_rules_of_one_object_share_what_they_may_match() {
    let slow = "^(?:0|[a-z]{1000}b)";
    let rule = json!([{"rule": format!("self.matches('{slow}')")}]);
    let text = json!({"type": "string", "x-kubernetes-validations": rule});
    let matched = json!({"type": "string", "pattern": slow});
    let told_of = json!({"type": "string", "x-kubernetes-validations":
        [{"rule": "self == ''", "messageExpression": format!("self.find('{slow}') + ' is there'")}]});
    let schema = root(json!({"type": "object",
        "properties": {"a": text, "b": text, "c": text, "m": told_of, "p": matched}}));
    // Each is 100 million steps of some 270, although it ends at the first byte.
    let long = format!("0{}", "a".repeat(100_000));
    let exhausted = "running out of budget for matching texts with regular expressions, which would take too long, no \
                     further validation rules will be run\n";
    let at = |field: &str| format!("Invalid spec.{field}: Invalid value: \"string\": ");
    for (spec, expected) in [
        (json!({"a": long, "b": long}), String::new()),
        (json!({"p": long, "b": long}), String::new()),
        (
            json!({"a": long, "b": long, "c": long}),
            at("c") + "validation failed due to " + exhausted,
        ),
        (
            json!({"p": long, "b": long, "c": long}),
            at("c") + "validation failed due to " + exhausted,
        ),
        (
            json!({"a": long, "m": long}),
            "Invalid spec.m: Invalid value: \"^\": 0 is there\n".to_owned(),
        ),
        (
            json!({"a": long, "b": long, "m": long}),
            at("m") + "messageExpression evaluation failed due to " + exhausted,
        ),
    ] {
        let told = told(&schema, &json!({"spec": spec}), None).replace(&long, "^");
        assert_eq!(told, expected);
    }
}

#[test]
fn the_items_of_long_lists_are_told_apart_by_their_keys() {
    let schema = root(json!({"type": "object", "properties": {
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "l": {"type": "integer"}, "v": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.v >= oldSelf.v", "message": "goes down"}]}}}}));
    let item = |one: i32, v: i32| json!({"k": format!("k{one}"), "l": one % 7, "v": v});
    let old: Vec<Value> = (0..20_000).map(|one| item(one, one)).collect();
    let mut new: Vec<Value> = (0..20_000).rev().map(|one| item(one, one)).collect();
    new[3] = json!({"k": "k19996", "l": 19_996 % 7, "v": 0});
    // Other keys: there is no old item to compare with.
    new[4] = json!({"k": "k19995", "v": 0});
    new[5] = json!({"k": "k19994", "l": -1, "v": 0});
    let old = json!({"spec": {"items": old}});
    let found = told(&schema, &json!({"spec": {"items": new}}), Some(&old));
    assert_eq!(
        found.trim_end(),
        "Invalid spec.items[3]: Invalid value: goes down"
    );
}

#[test]
fn a_message_that_is_too_dear_is_said_to_be() {
    let schema = root(json!({"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
            {"rule": "self.size() == 0", "messageExpression":
                "self.all(a, self.all(b, self.all(c, a + b + c >= 0))) ? 'a' : 'b'"},
            {"rule": "self.size() == 1", "message": "never said"}]}}}));
    let list: Vec<usize> = (0..200).collect();
    let found = told(&schema, &json!({"spec": {"list": list}}), None);
    assert_eq!(
        found.trim_end(),
        "Invalid spec.list: Invalid value: \"array\": no further validation rules will be run due to \
         call cost exceeds limit for messageExpression: \
         \"self.all(a, self.all(b, self.all(c, a + b + c >= 0))) ? 'a' : 'b'\""
    );
}

/// They are compiled when the first value is checked, each to a megabyte at most and all to sixteen.
#[test]
fn the_regular_expressions_of_rules_count_wherever_they_are() {
    let rule = json!({"rule": "self.matches('a')", "messageExpression": "self.find('b')"});
    let text = json!({"type": "string", "x-kubernetes-validations": [rule]});
    let list = json!({"type": "array", "items": text});
    let map = json!({"type": "object", "additionalProperties": list});
    let all = root(json!({"type": "object", "properties": {"a": text, "b": list, "c": map}}));
    assert_eq!(all.literals_max(), 6);
    assert_eq!([0, 6, 60].map(pattern_bytes_max), [0, 6 << 20, 16 << 20]);
}
