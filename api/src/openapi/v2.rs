//! OpenAPI v2 of everything, for clients that know only this version.

use super::definitions::define;
use super::operations::{Operation, Parameter};
use super::parts::{Parts, Writing, info, json};
use super::protobuf;
use hindsight_core::State;
use serde_json::{Map, Value, json};

const JSON: Writing = Writing {
    definition: |definition| json(&simple(definition)),
    operation: render,
    parameter,
    path: |path| json(&path),
};
const PROTOBUF: Writing = Writing {
    definition: |definition| protobuf::definition(&simple(definition)),
    operation: render,
    parameter,
    path: |path| protobuf::path(&path),
};

const DEFINITIONS: &str = "#/definitions/";
/// Members of schemas that version 2 does not have.
const UNKNOWN: [&str; 4] = ["anyOf", "oneOf", "not", "$schema"];

pub(super) fn document(state: &State) -> Vec<u8> {
    parts(state, JSON).into_json([
        "{\"definitions\":",
        &format!(",{},\"paths\":", info()),
        ",\"swagger\":\"2.0\"}",
    ])
}

/// The same in its binary form.
pub(super) fn in_protobuf(state: &State) -> Vec<u8> {
    protobuf::encode(parts(state, PROTOBUF))
}

fn parts(state: &State, writing: Writing) -> Parts {
    let mut parts = Parts::new(writing);
    for kind in state.kinds.iter() {
        define(state, kind, None, &mut parts);
    }
    parts
}

fn render(operation: &Operation) -> Value {
    let body = (!operation.consumes.is_empty()).then(|| {
        let mut body = json!({"name": "body", "in": "body", "required": true,
            "schema": operation.body.schema(DEFINITIONS)});
        if let Some(members) = body.as_object_mut().filter(|_| operation.is_optional) {
            members.remove("required");
        }
        body
    });
    let parameters: Vec<Value> = operation.parameters().map(parameter).chain(body).collect();
    let schema = operation.answer.schema(DEFINITIONS);
    let codes = operation.codes.iter();
    let answers = codes.map(|(code, name)| {
        let answer = json!({"description": name, "schema": schema});
        ((*code).to_owned(), answer)
    });
    json!({"operationId": operation.id, "parameters": parameters,
        "consumes": operation.consumes, "produces": operation.produces,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
        "responses": answers.collect::<Map<_, _>>()})
}

fn parameter(parameter: Parameter) -> Value {
    let mut written =
        json!({"name": parameter.name, "in": parameter.place, "type": parameter.type_name});
    if let Some(members) = written.as_object_mut().filter(|_| parameter.is_required()) {
        members.insert("required".into(), true.into());
    }
    written
}

/// Reduces schemas to what version 2 can express: a reference with a description becomes the reference alone,
/// and a value of one of several types may be anything.
fn simple(mut definition: Value) -> Value {
    let mut open = vec![(&mut definition, true)];
    while let Some((value, is_schema)) = open.pop() {
        match value {
            Value::Object(members) => {
                if is_schema {
                    simplify_one(members);
                }
                for (name, member) in members.iter_mut() {
                    let holds_names = is_schema && name == "properties";
                    open.push((member, !holds_names));
                }
            }
            Value::Array(items) => open.extend(items.iter_mut().map(|item| (item, true))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    definition
}

fn simplify_one(members: &mut Map<String, Value>) {
    forget_what_is_not_whole(members);
    let target = members
        .get("allOf")
        .and_then(|all| all.pointer("/0/$ref"))
        .cloned();
    if let Some(target) = target {
        members.insert("$ref".into(), target);
    }
    members.remove("allOf");
    let any = UNKNOWN
        .iter()
        .filter(|name| members.remove(**name).is_some());
    let any = any.count() > 0;
    let either = members.get("format") == Some(&json!("int-or-string"))
        || members.get("x-kubernetes-int-or-string") == Some(&json!(true));
    if either || (any && !members.contains_key("type") && !members.contains_key("properties")) {
        members.insert("type".into(), "string".into());
    }
}

/// Clients of version 2 refuse members that a schema with members does not have, and null where there is a
/// type. Source: upstream's `ToStructuralOpenAPIV2`.
fn forget_what_is_not_whole(members: &mut Map<String, Value>) {
    let nullable = members.remove("nullable") == Some(json!(true));
    let open = members.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
    if nullable {
        members.remove("type");
    }
    require_nothing_that_may_be_null(members);
    if nullable || open {
        for name in ["properties", "items", "required"] {
            members.remove(name);
        }
    }
    if members.get("type") == Some(&json!("array")) && !members.contains_key("items") {
        members.remove("type");
    }
}

fn require_nothing_that_may_be_null(members: &mut Map<String, Value>) {
    let Some(Value::Array(mut required)) = members.remove("required") else {
        return;
    };
    let properties = members.get("properties");
    required.retain(|name| {
        let place = name.as_str().zip(properties);
        let nullable = place.and_then(|(name, all)| all.get(name)?.get("nullable"));
        nullable != Some(&json!(true))
    });
    if !required.is_empty() {
        members.insert("required".into(), required.into());
    }
}
