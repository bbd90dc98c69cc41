//! OpenAPI v3: what clients read to know operations and schemas.

use crate::body::{ApiBody, Syntax};
use crate::discovery::{groups, kinds, versions};
use crate::respond;
use crate::schemas;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::{GroupResource, ObjectKey, State};
use http::Response;
use serde_json::{Map, Value, json};

/// An OpenAPI document, if the path names one.
pub(crate) fn respond(path: &str, state: &State) -> Option<Response<ApiBody>> {
    let rest = path.strip_prefix("/openapi/v3")?;
    let segments: Vec<&str> = rest
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let document = match segments.as_slice() {
        [] => index(state),
        ["api", "v1"] => of_group_version(state, "", "v1"),
        ["apis", group, version] => of_group_version(state, group, version),
        _ => return None,
    };
    Some(respond::json(200, &document, Syntax::Json))
}

fn index(state: &State) -> Value {
    let mut paths = Map::new();
    let mut add = |path: String| {
        let url = format!("/openapi/v3/{path}?hash={}", state.revision);
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    add("api/v1".into());
    for group in groups(state) {
        for version in versions(state, &group) {
            add(format!("apis/{group}/{version}"));
        }
    }
    json!({"paths": paths})
}

fn of_group_version(state: &State, group: &str, version: &str) -> Value {
    let served: Vec<&KindRef> = kinds(state, group)
        .filter(|kind| kind.served(version).is_some())
        .collect();
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for kind in served {
        let gvk = json!({"group": group, "version": version, "kind": &*kind.kind});
        let (name, mut schema) = schema(state, kind, version, &mut schemas);
        if let Some(members) = schema.as_object_mut() {
            members.insert("x-kubernetes-group-version-kind".into(), json!([gvk]));
        }
        for (path, item) in operations(kind, version, &gvk, &name) {
            paths.insert(path, item);
        }
        schemas.insert(name, schema);
    }
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": paths, "components": {"schemas": schemas}})
}

fn schema_name(kind: &Kind, version: &str) -> String {
    let group: Vec<&str> = kind.resource.group.split('.').rev().collect();
    let group = if kind.resource.group.is_empty() {
        "core".into()
    } else {
        group.join(".")
    };
    format!("{group}.{version}.{}", kind.kind)
}

/// A built-in kind's schema, whose definitions join the others; or the definition's own.
fn schema(
    state: &State,
    kind: &Kind,
    version: &str,
    components: &mut Map<String, Value>,
) -> (String, Value) {
    let group = &kind.resource.group;
    if !kind.is_custom()
        && let Some((name, mut document)) = schemas::document(group, version, &kind.kind)
    {
        to_components(&mut document);
        if let Some(Value::Object(definitions)) = document
            .as_object_mut()
            .and_then(|members| members.remove("definitions"))
        {
            components.extend(definitions);
        }
        return (name, document);
    }
    (schema_name(kind, version), custom(state, kind, version))
}

/// References point into this document; what is no part of OpenAPI goes.
fn to_components(document: &mut Value) {
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                members.remove("$schema");
                if let Some(Value::String(target)) = members.get_mut("$ref") {
                    *target = target.replace("#/definitions/", "#/components/schemas/");
                }
                open.extend(members.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn custom(state: &State, kind: &Kind, version: &str) -> Value {
    let definitions = GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions");
    let key = ObjectKey::new(definitions, "", &kind.resource.to_string());
    let own = state.get(&key).and_then(|definition| {
        let document = definition.document();
        let versions = document.pointer("/spec/versions")?.as_array()?;
        let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(version);
        versions
            .iter()
            .find(named)?
            .pointer("/schema/openAPIV3Schema")
            .cloned()
    });
    let mut schema = own.unwrap_or_else(|| json!({"type": "object"}));
    if let Some(members) = schema.as_object_mut() {
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("apiVersion".into(), json!({"type": "string"}));
            properties.insert("kind".into(), json!({"type": "string"}));
            properties.insert("metadata".into(), json!({"type": "object"}));
        }
    }
    schema
}

fn operations(kind: &Kind, version: &str, gvk: &Value, schema: &str) -> Vec<(String, Value)> {
    let base = if kind.resource.group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{}/{version}", kind.resource.group)
    };
    let scope = if kind.is_namespaced() {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{base}{scope}/{}", kind.resource.resource);
    let operation = |action: &str, writes: bool| {
        let parameters = if writes {
            vec!["dryRun", "fieldManager", "fieldValidation"]
        } else {
            vec![]
        };
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .collect();
        let content = json!({"application/json": {"schema":
            {"$ref": format!("#/components/schemas/{schema}")}}});
        json!({"parameters": parameters, "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
            "responses": {"200": {"description": "OK", "content": content}}})
    };
    let many = json!({"get": operation("list", false), "post": operation("post", true),
        "delete": operation("deletecollection", false)});
    let one = json!({"get": operation("get", false), "put": operation("put", true),
        "patch": operation("patch", true), "delete": operation("delete", false)});
    vec![(format!("{collection}/{{name}}"), one), (collection, many)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemas::builtin_kinds;

    #[test]
    fn every_reference_leads_somewhere() {
        let state = State::new(builtin_kinds());
        let mut seen = 0;
        for (group, version) in [("", "v1"), ("apps", "v1"), ("apiextensions.k8s.io", "v1")] {
            let document = of_group_version(&state, group, version);
            let mut open = vec![&document];
            while let Some(value) = open.pop() {
                if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                    let pointer = target.trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{target}");
                    seen += 1;
                }
                open.extend(value.as_object().into_iter().flat_map(Map::values));
                open.extend(value.as_array().into_iter().flatten());
            }
        }
        assert!(seen > 500, "{seen}");
    }
}
