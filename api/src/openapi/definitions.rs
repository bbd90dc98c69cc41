//! The schema definitions of one group and version, with references as OpenAPI v2 writes them.

use crate::discovery::kinds;
use crate::respond;
use crate::schemas;
use hindsight_core::kind::{Kind, KindRef};
use hindsight_core::state::definition_named;
use hindsight_core::{ObjectKey, State};
use serde_json::{Map, Value, json};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// A served kind, and the name of its definition.
pub(super) struct Served<'a> {
    pub(super) kind: &'a KindRef,
    pub(super) name: String,
}

impl Served<'_> {
    pub(super) fn gvk(&self, version: &str) -> Value {
        respond::gvk(&self.kind.document_gvk(version, None))
    }
}

/// Adds the definitions of a group and version, and returns the kinds that they belong to.
pub(super) fn collect<'a>(
    state: &'a State,
    group: &'a str,
    version: &str,
    definitions: &mut Map<String, Value>,
) -> Vec<Served<'a>> {
    let mut all = Vec::new();
    for kind in kinds(state, group).filter(|kind| kind.served(version).is_some()) {
        let (name, mut schema) = schema(state, kind, version, definitions);
        let served = Served { kind, name };
        set(
            &mut schema,
            "x-kubernetes-group-version-kind",
            json!([served.gvk(version)]),
        );
        add_list(&served, version, definitions);
        definitions.insert(served.name.clone(), schema);
        all.push(served);
    }
    definitions
        .entry(format!("{META}.ListMeta"))
        .or_insert_with(|| {
            json!({"type": "object", "description": "What a list says of itself.", "properties": {
            "continue": {"type": "string"}, "resourceVersion": {"type": "string"},
            "remainingItemCount": {"type": "integer", "format": "int64"}}})
        });
    all
}

fn set(schema: &mut Value, member: &str, value: Value) {
    if let Some(members) = schema.as_object_mut() {
        members.insert(member.into(), value);
    }
}

fn add_list(served: &Served<'_>, version: &str, definitions: &mut Map<String, Value>) {
    let kind = served.kind;
    let gvk = json!({"group": &*kind.resource.group, "version": version,
        "kind": &*kind.list_kind});
    let list = json!({"type": "object", "required": ["items"],
        "description": format!("{} is a list of {}.", kind.list_kind, kind.kind),
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "items": {"type": "array", "items": reference(&served.name)},
            "metadata": reference(&format!("{META}.ListMeta"))},
        "x-kubernetes-group-version-kind": [gvk]});
    definitions.insert(list_name(&served.name), list);
}

pub(super) fn list_name(name: &str) -> String {
    format!("{name}List")
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// The name and the schema of a kind: for a built-in kind its own, whose definitions are added to the others;
/// for a custom kind that of its definition.
fn schema(
    state: &State,
    kind: &Kind,
    version: &str,
    definitions: &mut Map<String, Value>,
) -> (String, Value) {
    let group = &kind.resource.group;
    if !kind.is_custom()
        && let Some((name, mut document)) = schemas::annotated(group, version, &kind.kind)
    {
        take_definitions(&mut document, definitions);
        return (name, document);
    }
    if let Some((_, mut any)) = schemas::annotated("", "v1", "ConfigMap") {
        take_definitions(&mut any, definitions);
    }
    (custom_name(kind, version), custom(state, kind, version))
}

fn take_definitions(document: &mut Value, definitions: &mut Map<String, Value>) {
    let members = document.as_object_mut();
    let own = members.and_then(|members| members.remove("definitions"));
    if let Some(Value::Object(own)) = own {
        definitions.extend(own);
    }
}

fn custom_name(kind: &Kind, version: &str) -> String {
    let group: Vec<&str> = kind.resource.group.split('.').rev().collect();
    format!("{}.{version}.{}", group.join("."), kind.kind)
}

/// The key of the object that defines a custom kind.
pub(super) fn key_of(kind: &Kind) -> ObjectKey {
    definition_named(&kind.resource.to_string())
}

fn custom(state: &State, kind: &Kind, version: &str) -> Value {
    let own = state.get(&key_of(kind)).and_then(|definition| {
        let document = definition.document();
        let versions = document.pointer("/spec/versions")?.as_array()?;
        let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(version);
        let found = versions.iter().find(named)?;
        found.pointer("/schema/openAPIV3Schema").cloned()
    });
    let mut schema = own.unwrap_or_else(|| json!({"type": "object"}));
    if let Some(members) = schema.as_object_mut() {
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(
                "apiVersion".into(),
                json!({"type": "string",
                "description": "APIVersion names the version of the schema of this object."}),
            );
            properties.insert(
                "kind".into(),
                json!({"type": "string",
                "description": "Kind names what this object is."}),
            );
            let metadata = json!({"allOf": [reference(&format!("{META}.ObjectMeta"))],
                "description": "Standard object's metadata."});
            properties.insert("metadata".into(), metadata);
        }
    }
    schema
}
