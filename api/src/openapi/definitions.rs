//! The schema definitions of kinds, with references as OpenAPI v2 writes them.

use super::parts::Parts;
use crate::fragments;
use crate::schemas;
use crate::subresources;
use hindsight_core::kind::{GroupVersionKind, Kind, KindRef, Version};
use hindsight_core::{ObjectKey, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// A served version of a kind, and the name of its definition.
pub(super) struct Served<'a> {
    pub(super) kind: &'a KindRef,
    pub(super) version: &'a str,
    pub(super) name: String,
}

impl Served<'_> {
    pub(super) fn gvk(&self) -> Value {
        fragments::gvk(&self.kind.document_gvk(self.version, None))
    }
}

/// Adds the definitions and the paths of a kind in one of its served versions, or in all of them.
pub(super) fn define(state: &State, kind: &KindRef, only: Option<&str>, parts: &mut Parts) {
    let mut own = own_schemas(state, kind);
    let versions = kind.versions.iter().filter(|version| version.served);
    for version in versions.filter(|one| only.is_none_or(|only| &*one.name == only)) {
        let fields = selectable(version);
        let version = &*version.name;
        let (name, mut schema) = schema(kind, version, own.remove(version), parts);
        let served = Served {
            kind,
            version,
            name,
        };
        set(
            &mut schema,
            "x-kubernetes-group-version-kind",
            json!([served.gvk()]),
        );
        if !fields.is_empty() {
            set(&mut schema, "x-kubernetes-selectable-fields", fields.into());
        }
        if !kind.strategy.review {
            add_list(&served, parts);
            add_what_all_speak(parts);
        }
        add_what_subresources_speak(&served, parts);
        parts.add_paths(&served);
        parts.define(served.name, schema);
    }
}

/// Adds what is exchanged about objects of any kind, and what the definitions of all lists refer to.
fn add_what_all_speak(parts: &mut Parts) {
    for kind in ["DeleteOptions", "Status"] {
        let gvk = GroupVersionKind {
            group: "".into(),
            version: "v1".into(),
            kind: kind.into(),
        };
        add_spoken(name_of_meta(kind), &gvk, parts);
    }
}

/// Adds the kinds of documents that subresources exchange in place of the object.
fn add_what_subresources_speak(served: &Served<'_>, parts: &mut Parts) {
    let version = served.kind.served(served.version);
    let told = version.into_iter();
    for told in told.flat_map(|version| subresources::of(served.kind, version)) {
        if fragments::gvk(&told.gvk) != served.gvk() {
            add_spoken(name_of(&told.gvk), &told.gvk, parts);
        }
    }
}

/// Adds a built-in type by its name, unless it is there. It may be that of a kind, which then puts its own in its place.
fn add_spoken(name: String, gvk: &GroupVersionKind, parts: &mut Parts) {
    if parts.has(&name) {
        return;
    }
    let found = schemas::annotated(&gvk.group, &gvk.version, &gvk.kind);
    if let Some((_, mut document)) = found {
        take_definitions(&mut document, parts);
        let gvk = json!([fragments::gvk(gvk)]);
        set(&mut document, "x-kubernetes-group-version-kind", gvk);
        parts.define(name, document);
    }
}

/// The name of the definition of a built-in kind.
pub(super) fn name_of(kind: &GroupVersionKind) -> String {
    let group = match &*kind.group {
        "" => "core",
        group => group,
    };
    format!("io.k8s.api.{group}.{}.{}", kind.version, kind.kind)
}

/// The name of the definition of a type that belongs to no group.
pub(super) fn name_of_meta(kind: &str) -> String {
    format!("{META}.{kind}")
}

fn set(schema: &mut Value, member: &str, value: Value) {
    if let Some(members) = schema.as_object_mut() {
        members.insert(member.into(), value);
    }
}

/// The fields that field selectors of a version know besides those of the metadata, in the form of selectors.
fn selectable(version: &Version) -> Vec<Value> {
    let fields = version.selectable_fields.iter();
    let paths = fields.map(|field| field.strip_prefix('.').unwrap_or(field));
    paths.map(|path| json!({"fieldPath": path})).collect()
}

fn add_list(served: &Served<'_>, parts: &mut Parts) {
    let kind = served.kind;
    let gvk = json!({"group": &*kind.resource.group, "version": served.version,
        "kind": &*kind.list_kind});
    let list = json!({"type": "object", "required": ["items"],
        "description": format!("{} is a list of {}.", kind.list_kind, kind.kind),
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
            "items": {"type": "array", "items": reference(&served.name)},
            "metadata": reference(&name_of_meta("ListMeta"))},
        "x-kubernetes-group-version-kind": [gvk]});
    parts.define(list_name(&served.name), list);
}

pub(super) fn list_name(name: &str) -> String {
    format!("{name}List")
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// The name and the schema of a kind: for a built-in kind its own, whose definitions are added to the others;
/// for a custom kind that of its definition, if it has one.
fn schema(kind: &Kind, version: &str, own: Option<Value>, parts: &mut Parts) -> (String, Value) {
    let group = &kind.resource.group;
    if !kind.is_custom()
        && let Some((name, mut document)) = schemas::annotated(group, version, &kind.kind)
    {
        take_definitions(&mut document, parts);
        return (name, document);
    }
    // Any built-in kind brings the metadata and all that it consists of.
    if !parts.has(&name_of_meta("ObjectMeta"))
        && let Some((_, mut any)) = schemas::annotated("", "v1", "ConfigMap")
    {
        take_definitions(&mut any, parts);
    }
    (custom_name(kind, version), custom(own))
}

/// Adds the definitions that a document brings along. One that is there already stays: it may be a kind's own,
/// which says so.
fn take_definitions(document: &mut Value, parts: &mut Parts) {
    let members = document.as_object_mut();
    let own = members.and_then(|members| members.remove("definitions"));
    if let Some(Value::Object(own)) = own {
        parts.take(own);
    }
}

fn custom_name(kind: &Kind, version: &str) -> String {
    let group: Vec<&str> = kind.resource.group.split('.').rev().collect();
    format!("{}.{version}.{}", group.join("."), kind.kind)
}

/// The schemas of a custom kind by version. Its definition may be long and have thousands of versions, and is
/// decoded once for all of them.
fn own_schemas(state: &State, kind: &Kind) -> BTreeMap<String, Value> {
    let definition = state
        .get(&ObjectKey::defining(&kind.resource))
        .filter(|_| kind.is_custom());
    let mut document = definition.map(|definition| definition.document());
    let versions = document.as_mut().and_then(|document| {
        let versions = document.pointer_mut("/spec/versions")?;
        Some(versions.take())
    });
    let Some(Value::Array(versions)) = versions else {
        return BTreeMap::new();
    };
    let named = |mut version: Value| {
        let schema = version.pointer_mut("/schema/openAPIV3Schema")?.take();
        let name = version.get("name")?.as_str()?.to_owned();
        Some((name, schema))
    };
    versions.into_iter().filter_map(named).collect()
}

fn custom(own: Option<Value>) -> Value {
    let mut schema = own.unwrap_or_else(|| json!({"type": "object"}));
    describe_embedded(&mut schema);
    describe_object(&mut schema);
    schema
}

/// Describes what every object has in each object that is embedded. Source: upstream's
/// `addEmbeddedProperties`.
fn describe_embedded(schema: &mut Value) {
    let mut open: Vec<&mut Value> = vec![schema];
    while let Some(schema) = open.pop() {
        if schema["x-kubernetes-embedded-resource"] == json!(true) {
            describe_object(schema);
            require(schema, &["apiVersion", "kind"]);
        }
        for (name, member) in schema.as_object_mut().into_iter().flatten() {
            match (name.as_str(), member) {
                ("properties", Value::Object(members)) => open.extend(members.values_mut()),
                ("items" | "additionalProperties", member @ Value::Object(_)) => open.push(member),
                _ => {}
            }
        }
    }
}

fn require(schema: &mut Value, names: &[&str]) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    let required = members.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut() {
        for name in names.iter().map(|name| json!(name)) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

/// Describes the members that every object has.
fn describe_object(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
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
        let metadata = json!({"allOf": [reference(&name_of_meta("ObjectMeta"))],
            "description": "Standard object's metadata."});
        properties.insert("metadata".into(), metadata);
    }
}
