//! What is checked for every schema in a definition, wherever it stands.
//! Source: `ValidateCustomResourceDefinitionOpenAPISchema`.

use super::schema::{Place, each_child, is_true, is_zero};
use super::{listed, rules};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// What the place of a schema forbids in it.
#[derive(Clone, Copy, Default)]
struct Inside<'a> {
    root: bool,
    inside_metadata: bool,
    no_default: Option<&'a str>,
}

pub(super) fn check(root: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let place = Inside {
        root: true,
        ..Inside::default()
    };
    walk(root, place, at, causes);
}

fn walk(schema: &Value, inside: Inside<'_>, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    own(schema, inside, at, causes);
    let held = |name: &str| schema.get(name).is_some_and(|one| !is_zero(one));
    if is_true(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        let field = at.member("uniqueItems").to_string();
        causes.push(FieldCause::forbidden(field, why));
    }
    let additional = schema.get("additionalProperties");
    let closes = |one: &Value| one.is_object() || *one == Value::Bool(false);
    if held("properties") && additional.is_some_and(closes) {
        let why = "additionalProperties and properties are mutual exclusive";
        let field = at.member("additionalProperties").to_string();
        causes.push(FieldCause::forbidden(field, why));
    }
    each_child(schema, &mut |place, child| {
        let top_level = match place {
            Place::Entry(_, name @ ("metadata" | "kind" | "apiVersion")) => Some(name),
            Place::Only(_) | Place::Entry(..) | Place::Item(..) => None,
        };
        let embedded = inside.root || is_true(schema, "x-kubernetes-embedded-resource");
        let reason = top_level.map(|name| format!("in top-level {name}"));
        let additional = matches!(place, Place::Only("additionalProperties"));
        let mut deeper = Inside {
            root: false,
            inside_metadata: inside.inside_metadata || (embedded && top_level.is_some()),
            ..inside
        };
        if inside.root {
            deeper.no_default = reason.as_deref();
        } else if additional && inside.inside_metadata {
            deeper.no_default = Some("inside additionalProperties applying to object metadata");
        }
        place.within(at, |at| walk(child, deeper, at, causes));
    });
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = at
            .member("x-kubernetes-preserve-unknown-fields")
            .to_string();
        causes.push(FieldCause::invalid(
            field,
            &json!(false),
            "must be true or undefined",
        ));
    }
    listed::check(schema, at, causes);
    rules::check(schema, at, causes);
}

fn own(schema: &Value, inside: Inside<'_>, at: &Path<'_>, causes: &mut CauseList) {
    let kind = text(schema, "/type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        let field = at.member("type").to_string();
        causes.push(FieldCause::not_supported(field, kind, &TYPES));
    }
    let mut forbid = |name: &str, why: &str| {
        causes.push(FieldCause::forbidden(at.member(name).to_string(), why));
    };
    let held = |name: &str| schema.get(name).is_some_and(|one| !one.is_null());
    if let Some(reason) = inside.no_default.filter(|_| held("default")) {
        forbid("default", &format!("must not be set {reason}"));
    }
    for name in UNSUPPORTED {
        let lenient = matches!(name, "id" | "patternProperties" | "definitions");
        if held(name) && !(lenient && schema.get(name).is_some_and(is_zero)) {
            forbid(name, &format!("{name} is not supported"));
        }
    }
    if kind == "null" {
        forbid(
            "type",
            "type cannot be set to null, use nullable as an alternative",
        );
    }
    let items = schema.get("items").and_then(Value::as_array);
    if items.is_some_and(|items| !items.is_empty()) {
        forbid("items", "items must be a schema object and not an array");
    }
    if inside.inside_metadata && is_true(schema, "x-kubernetes-embedded-resource") {
        let why = "must not be used inside of resource meta";
        forbid("x-kubernetes-embedded-resource", why);
    }
}
