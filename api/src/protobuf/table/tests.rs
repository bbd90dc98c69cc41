//! The table against the schemas of the same kinds: two independent sources.

use super::*;
use crate::schemas::document;
use hindsight_core::builtin;
use serde_json::Value;
use std::collections::BTreeSet;

/// Kinds whose bodies are only read as JSON: schemas within schemas are not worth the messages that they would
/// need.
const JSON_ONLY: [&str; 2] = ["CustomResourceDefinition", "APIService"];

/// Alpha fields that are newer than the source of the table. They are skipped, as upstream drops fields whose
/// feature gate is off.
const NOT_YET: [&str; 10] = [
    "core.PodSpec.schedulingGroup",
    "core.PodStatus.nodeAllocatableResourceClaimStatuses",
    "core.ResourceHealth.message",
    "core.VolumeMountStatus.volumeStatus",
    "resource.Device.nodeAllocatableResourceMappings",
    "resource.DeviceAttribute.bools",
    "resource.DeviceAttribute.ints",
    "resource.DeviceAttribute.strings",
    "resource.DeviceAttribute.versions",
    "storage.CSIDriverSpec.preventPodSchedulingIfMissing",
];

#[test]
fn every_message_that_is_named_is_there_and_contains_itself_nowhere() {
    for name in TABLE.messages.keys() {
        walk(*name, &mut Vec::new());
    }
}

fn walk(name: Name, above: &mut Vec<Name>) {
    assert!(!above.contains(&name), "{name:?} contains itself");
    let fields = TABLE.messages.get(&name);
    let fields = fields.unwrap_or_else(|| panic!("{name:?} is not in the table"));
    above.push(name);
    for field in fields {
        if let Kind::Message(inner) = field.kind {
            walk(inner, above);
        }
    }
    above.pop();
}

#[test]
fn every_row_of_the_files_is_a_field_with_a_number_of_its_own() {
    let rows = |line: &&str| !line.starts_with('#') && !line.starts_with("package ");
    let lines = TEXTS.iter().flat_map(|text| text.lines()).filter(rows);
    let written: usize = lines.map(|line| line.matches(',').count()).sum();
    let read: usize = TABLE
        .messages
        .values()
        .map(|one| one.len().saturating_sub(1))
        .sum();
    assert_eq!(read, written);
    for (name, fields) in &TABLE.messages {
        let numbers: BTreeSet<u64> = fields.iter().map(|field| field.number).collect();
        assert_eq!(numbers.len(), fields.len(), "{name:?} has a number twice");
    }
}

#[test]
fn every_built_in_kind_has_exactly_the_fields_of_its_schema() {
    let mut findings = BTreeSet::new();
    for kind in builtin::kinds() {
        if JSON_ONLY.contains(&&*kind.kind) {
            continue;
        }
        for version in &kind.versions {
            let api_version = kind.api_version(&version.name);
            let Some(name) = TABLE.kind(&api_version, &kind.kind) else {
                findings.insert(format!("{api_version} {} has no message", kind.kind));
                continue;
            };
            let schema = document(&kind.resource.group, &version.name, &kind.kind);
            let (_, schema) = schema.expect("a schema");
            compare(name, &schema, &schema, &mut findings);
        }
    }
    let expected = NOT_YET.map(|path| format!("{path} has no number"));
    assert_eq!(findings.into_iter().collect::<Vec<_>>(), expected);
}

fn compare(name: Name, schema: &Value, root: &Value, findings: &mut BTreeSet<String>) {
    let schema = resolve(schema, root);
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let fields = members(name);
    for property in properties.keys() {
        let known = matches!(property.as_str(), "apiVersion" | "kind")
            || fields.iter().any(|field| field.name == property);
        if !known {
            findings.insert(format!("{}.{}.{property} has no number", name.0, name.1));
        }
    }
    for field in fields {
        match properties.get(field.name) {
            Some(property) => same(name, &field, property, root, findings),
            None => drop(findings.insert(format!("{name:?}: the schema has no {}", field.name))),
        }
    }
}

/// The fields of a message and of the messages that are inlined into it.
fn members(name: Name) -> Vec<Field> {
    let fields = TABLE.messages.get(&name).expect("a message");
    let expand = |field: &Field| match (field.shape, field.kind) {
        (Shape::Inline, Kind::Message(inner)) => members(inner),
        _ => vec![*field],
    };
    fields.iter().flat_map(expand).collect()
}

fn same(name: Name, field: &Field, schema: &Value, root: &Value, findings: &mut BTreeSet<String>) {
    let (shape, schema) = match resolve(schema, root) {
        list if list["items"].is_object() => (Shape::List, resolve(&list["items"], root)),
        map if map["additionalProperties"].is_object() => {
            (Shape::Map, resolve(&map["additionalProperties"], root))
        }
        other => (Shape::Single, other),
    };
    let types = schema["type"].as_str().unwrap_or("any");
    let fits = match field.kind {
        Kind::Bool => types == "boolean",
        Kind::Integer => types == "integer",
        Kind::Texts => types == "array",
        Kind::IntOrString | Kind::Json | Kind::Quantity => true,
        Kind::Message(_) => types == "object",
        Kind::Text | Kind::Bytes | Kind::Time | Kind::MicroTime => types == "string",
    };
    if shape != field.shape || !fits {
        findings.insert(format!("{name:?} {}: {schema}", field.name));
    }
    if let (Kind::Message(inner), true) = (field.kind, fits) {
        compare(inner, schema, root, findings);
    }
}

fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"]
        .as_str()
        .or_else(|| schema["allOf"][0]["$ref"].as_str());
    match target.and_then(|target| target.strip_prefix("#/definitions/")) {
        Some(name) => &root["definitions"][name],
        None => schema,
    }
}
