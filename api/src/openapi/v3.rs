//! OpenAPI v3 of one group and version.

use super::definitions::{add_list_meta, define};
use super::operations::Operation;
use super::parts::{Parts, Writing, info, json};
use crate::discovery::kinds;
use hindsight_core::State;
use serde_json::{Map, Value, json};

const WRITING: Writing = Writing {
    definition: |definition| json(&to_components(definition)),
    operation: render,
    path: |path| json(&path),
};

pub(super) fn document(state: &State, group: &str, version: &str) -> Vec<u8> {
    let mut parts = Parts::new(WRITING);
    for kind in kinds(state, group) {
        define(state, kind, Some(version), &mut parts);
    }
    add_list_meta(&mut parts);
    parts.into_json([
        "{\"components\":{\"schemas\":",
        &format!("}},{},\"openapi\":\"3.0.0\",\"paths\":", info()),
        "}",
    ])
}

fn render(operation: &Operation) -> Value {
    let place = operation.place.iter().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let query = operation.query.iter().map(|name| {
        let type_name = Operation::type_of(name);
        json!({"name": name, "in": "query", "schema": {"type": type_name}})
    });
    let parameters: Vec<Value> = place.chain(query).collect();
    let mut document = json!({"operationId": operation.id, "parameters": parameters,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
        "responses": {"200": {"description": "OK",
            "content": content(&["application/json"], operation.answer.as_deref())}}});
    if let Some(members) = document
        .as_object_mut()
        .filter(|_| !operation.consumes.is_empty())
    {
        let content = content(&operation.consumes, operation.body.as_deref());
        let body = json!({"required": true, "content": content});
        members.insert("requestBody".into(), body);
    }
    document
}

fn content(media: &[&str], definition: Option<&str>) -> Value {
    let schema = definition.map_or_else(
        || json!({"type": "object"}),
        |name| json!({"$ref": format!("#/components/schemas/{name}")}),
    );
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
                    *target = target.replace("#/definitions/", "#/components/schemas/");
                }
                open.extend(members.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    definition
}
