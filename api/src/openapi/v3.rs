//! OpenAPI v3 of one group and version.

use super::definitions::define;
use super::operations::{Content, Operation, Parameter};
use super::parts::{Parts, Writing, info, json};
use crate::discovery::kinds;
use hindsight_core::State;
use serde_json::{Map, Value, json};

const COMPONENTS: &str = "#/components/schemas/";
const WRITING: Writing = Writing {
    definition: |definition| json(&to_components(definition)),
    operation: render,
    parameter,
    path: |path| json(&path),
};

pub(super) fn document(state: &State, group: &str, version: &str) -> Vec<u8> {
    let mut parts = Parts::new(WRITING);
    for kind in kinds(state, group) {
        define(state, kind, Some(version), &mut parts);
    }
    parts.into_json([
        "{\"components\":{\"schemas\":",
        &format!("}},{},\"openapi\":\"3.0.0\",\"paths\":", info()),
        "}",
    ])
}

fn render(operation: &Operation) -> Value {
    let parameters: Vec<Value> = operation.parameters().map(parameter).collect();
    let content_of_answer = content(&operation.produces, &operation.answer);
    let codes = operation.codes.iter();
    let answers = codes.map(|(code, name)| {
        let answer = json!({"description": name, "content": content_of_answer});
        ((*code).to_owned(), answer)
    });
    let mut document = json!({"operationId": operation.id, "parameters": parameters,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
        "responses": answers.collect::<Map<_, _>>()});
    if let Some(members) = document
        .as_object_mut()
        .filter(|_| !operation.consumes.is_empty())
    {
        let mut body = json!({"content": content(&operation.consumes, &operation.body)});
        if let Some(body) = body.as_object_mut().filter(|_| !operation.is_optional) {
            body.insert("required".into(), true.into());
        }
        members.insert("requestBody".into(), body);
    }
    document
}

fn parameter(parameter: Parameter) -> Value {
    let mut written = json!({"name": parameter.name, "in": parameter.place,
        "schema": {"type": parameter.type_name}});
    if let Some(members) = written.as_object_mut().filter(|_| parameter.is_required()) {
        members.insert("required".into(), true.into());
    }
    written
}

fn content(media: &[&str], content: &Content) -> Value {
    let schema = content.schema(COMPONENTS);
    let one = |media: &&str| ((*media).to_owned(), json!({"schema": schema}));
    media.iter().map(one).collect::<Map<_, _>>().into()
}

/// Makes references point into this document.
fn to_components(mut definition: Value) -> Value {
    let mut open = vec![&mut definition];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get_mut("$ref") {
                    *target = target.replace("#/definitions/", COMPONENTS);
                }
                open.extend(members.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    definition
}
