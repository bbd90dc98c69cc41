//! The invariants of a structural schema.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/validation.go`.

use super::schema::{Place, each_child, is_true, is_zero, visit};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};

const UNSUPPORTED: [&str; 7] = [
    "id",
    "$schema",
    "$ref",
    "additionalItems",
    "patternProperties",
    "dependencies",
    "definitions",
];

/// Whether a schema can be read as structural at all; the reasons why not are reported elsewhere.
pub(super) fn is_supported(root: &Value) -> bool {
    let mut supported = true;
    visit(root, &mut |schema| {
        let held = |name: &&str| schema.get(*name).is_some_and(|one| !is_zero(one));
        supported &=
            !UNSUPPORTED.iter().any(held) && !schema.get("items").is_some_and(Value::is_array);
    });
    supported
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn check(root: &Value, at: &Path<'_>, causes: &mut CauseList) {
    invariants(root, Level::Root, at, causes);
}

fn invariants(schema: &Value, level: Level, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    if text(schema, "/type") == "array" && !schema.get("items").is_some_and(Value::is_object) {
        let field = at.member("items").to_string();
        causes.push(FieldCause::required(field, "must be specified"));
    }
    each_child(schema, &mut |place, child| {
        let level = match place {
            Place::Only("items") => Level::Item,
            Place::Only("additionalProperties") | Place::Entry(..) => Level::Field,
            Place::Only(_) | Place::Item(..) => return,
        };
        place.within(at, |at| invariants(child, level, at, causes));
    });
    if level == Level::Root
        && schema
            .get("additionalProperties")
            .is_some_and(|one| !one.is_null())
    {
        let field = at.member("additionalProperties").to_string();
        causes.push(FieldCause::forbidden(field, "must not be used at the root"));
    }
    extensions(schema, at, causes);
    nested_values(schema, at, causes);
    kind_of_value(schema, level, at, causes);
    metadata(schema, level, at, causes);
}

fn extensions(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    if !is_true(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for name in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if is_true(schema, name) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            let field = at.member(name).to_string();
            causes.push(FieldCause::invalid(field, &json!(true), why));
        }
    }
}

fn kind_of_value(schema: &Value, level: Level, at: &Path<'_>, causes: &mut CauseList) {
    let kind = text(schema, "/type");
    let field = || at.member("type").to_string();
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    let preserve = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(if kind.is_empty() {
            FieldCause::required(field(), why)
        } else {
            FieldCause::invalid(field(), &json!(kind), why)
        });
    } else if kind.is_empty() && !preserve && !is_true(schema, "x-kubernetes-int-or-string") {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(FieldCause::required(field(), why));
    } else if level == Level::Root && !kind.is_empty() && kind != "object" {
        let why = "must be object at the root";
        causes.push(FieldCause::invalid(field(), &json!(kind), why));
    }
    let held = |name: &str| schema.get(name).is_some_and(|one| !is_zero(one));
    let is_there = |name: &str| schema.get(name).is_some_and(|one| !one.is_null());
    if embedded && is_there("additionalProperties") {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        let field = at.member("additionalProperties").to_string();
        causes.push(FieldCause::forbidden(field, why));
    }
    if embedded && !preserve && !held("properties") {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        let field = at.member("properties").to_string();
        causes.push(FieldCause::required(field, why));
    }
}

/// A schema cannot redefine `apiVersion`, `kind` and `metadata` of an object.
fn metadata(schema: &Value, level: Level, at: &Path<'_>, causes: &mut CauseList) {
    if level != Level::Root && !is_true(schema, "x-kubernetes-embedded-resource") {
        return;
    }
    let properties = at.member("properties");
    for (name, wanted) in [
        ("kind", "string"),
        ("apiVersion", "string"),
        ("metadata", "object"),
    ] {
        let Some(found) = schema.get("properties").and_then(|all| all.get(name)) else {
            continue;
        };
        let at = properties.entry(name);
        let kind = text(found, "/type");
        if kind != wanted {
            let field = at.member("type").to_string();
            let why = format!("must be {wanted}");
            causes.push(FieldCause::invalid(field, &json!(kind), &why));
        }
        if name == "metadata" && level == Level::Root && !restricts_names_only(found) {
            let why = "must not specify anything other than name and generateName, but metadata \
                       is implicitly specified";
            causes.push(FieldCause::forbidden(at.to_string(), why));
        }
    }
}

fn restricts_names_only(metadata: &Value) -> bool {
    let members = metadata.as_object().into_iter().flatten();
    let mut held = members.filter(|(_, value)| !is_zero(value));
    held.all(|(name, value)| match name.as_str() {
        "type" | "default" => true,
        "properties" => {
            let mut names = value.as_object().into_iter().flatten();
            names.all(|(name, _)| matches!(name.as_str(), "name" | "generateName"))
        }
        _ => false,
    })
}

/// What schemas inside a junctor must not contain: the structure is defined outside of junctors.
fn nested_values(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let spelled_out = |schema: &Value| schema.get("anyOf") == Some(&either);
    let skip = spelled_out(schema);
    each_child(schema, &mut |place, child| match place {
        Place::Item("anyOf", _) if skip => {}
        Place::Item("allOf", 0) if spelled_out(child) => {
            place.within(at, |at| without_structure(child, true, at, causes));
        }
        Place::Item(..) | Place::Only("not") => {
            place.within(at, |at| without_structure(child, false, at, causes));
        }
        Place::Only(_) | Place::Entry(..) => {}
    });
}

const FORBIDDEN: [(&str, &str); 14] = [
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("externalDocs", "undefined"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
];

fn without_structure(schema: &Value, skip_any_of: bool, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    each_child(schema, &mut |place, child| match place {
        Place::Item("anyOf", _) if skip_any_of => {}
        Place::Only("additionalProperties") => {}
        Place::Only(_) | Place::Item(..) | Place::Entry(..) => {
            place.within(at, |at| without_structure(child, false, at, causes));
        }
    });
    for (name, what) in FORBIDDEN {
        let held = schema.get(name).filter(|value| !value.is_null());
        let counts = |value: &Value| what == "undefined" || !is_zero(value);
        if held.is_some_and(counts) {
            let why = format!("must be {what} to be structural");
            causes.push(FieldCause::forbidden(at.member(name).to_string(), &why));
        }
    }
    if schema.pointer("/properties/metadata").is_some() {
        let why = "must not be specified in a nested context";
        let field = at.member("properties").entry("metadata").to_string();
        causes.push(FieldCause::forbidden(field, why));
    }
}
