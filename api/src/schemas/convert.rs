//! Converts JSON schemas with definitions to the structural schemas that bodies are checked against.

use super::merges;
use crate::protobuf;
use hindsight_core::schema::{Bounds, Format, ItemIdentity, PatchStrategy, Schema};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Definitions that accept more than their schema says: raw documents may be anything, and `JSONSchemaProps`,
/// which contains itself, is checked where definitions of kinds are read.
const ANYTHING: [&str; 4] = [
    "runtime.RawExtension",
    "apiextensions.v1.JSON",
    "apiextensions.v1.JSONSchemaProps",
    "meta.v1.FieldsV1",
];
/// A type whose `name` is the empty text if it is absent.
const LOCAL_REFERENCE: &str = "core.v1.LocalObjectReference";
/// A 32-bit integer, or a text.
const INT_OR_STRING: &str = "util.intstr.IntOrString";
/// A time of finer resolution, whose schema is that of other times.
const MICRO_TIME: &str = "meta.v1.MicroTime";
/// A number, or a text.
const QUANTITY: &str = "api.resource.Quantity";

/// Converts schemas, and caches the results by the name of the definition.
#[derive(Debug, Default)]
pub(super) struct Converter {
    made: BTreeMap<String, Arc<Schema>>,
}

impl Converter {
    /// The schema of a kind, whose definition has this name.
    pub(super) fn root(&mut self, name: &str, document: &Value) -> Arc<Schema> {
        let mut schema = self.convert(document, document);
        omit_zeros(name, Arc::make_mut(&mut schema));
        schema
    }

    /// Recursive: types are nested at most a few dozen deep, and the one that contains itself is cut off.
    fn convert(&mut self, document: &Value, root: &Value) -> Arc<Schema> {
        if let Some(name) = reference(document) {
            let mut found = self.definition(name, root);
            if map_type(document) == Some("granular") && found.atomic {
                Arc::make_mut(&mut found).atomic = false;
            }
            if PatchStrategy::of(document) == PatchStrategy::Replace {
                Arc::make_mut(&mut found).patch = PatchStrategy::Replace;
            }
            return found;
        }
        let properties = document.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        let properties = properties
            .map(|(name, schema)| (Arc::from(name.as_str()), self.convert(schema, root)))
            .collect();
        let mut child = |member: &str| {
            let schema = document.get(member).filter(|schema| schema.is_object())?;
            Some(self.convert(schema, root))
        };
        let (additional, mut items) = (child("additionalProperties"), child("items"));
        let identity = ItemIdentity::of(document);
        if let (ItemIdentity::Map(keys), Some(items)) = (&identity, &mut items) {
            let always = always_there(document, root, keys);
            with_default_keys(Arc::make_mut(items), &always);
        }
        let type_name = document
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let preserve_unknown = type_name.is_empty();
        let go_integer = type_name == "integer";
        let type_name = type_name.into();
        // Every field of a built-in type reads null as its zero value.
        let nullable = true;
        Arc::new(Schema {
            type_name,
            properties,
            additional,
            items,
            nullable,
            preserve_unknown,
            go_integer,
            format: format(document).and_then(Format::of_field),
            bounds: bounds(document),
            identity,
            patch: PatchStrategy::of(document),
            atomic: map_type(document) == Some("atomic"),
            ..Schema::default()
        })
    }

    fn definition(&mut self, name: &str, root: &Value) -> Arc<Schema> {
        if let Some(made) = self.made.get(name) {
            return Arc::clone(made);
        }
        let definition = root.get("definitions").and_then(|all| all.get(name));
        let opaque = ANYTHING.iter().any(|suffix| name.ends_with(suffix))
            || name.contains("apiextensions.v1.JSONSchemaPropsOr");
        let schema = match definition.filter(|_| !opaque) {
            Some(_) if name.ends_with(INT_OR_STRING) => Arc::new(int_or_string()),
            Some(_) if name.ends_with(QUANTITY) => Arc::new(quantity()),
            Some(definition) => {
                let mut definition = definition.clone();
                merges::annotate(name, &mut definition);
                let mut schema = self.convert(&definition, root);
                let made = Arc::make_mut(&mut schema);
                if name.ends_with(MICRO_TIME) {
                    made.format = Some(Format::of_micro_time());
                }
                omit_zeros(name, made);
                schema
            }
            None => Arc::new(Schema {
                preserve_unknown: true,
                nullable: true,
                // A raw document has fields of its own, which its holder does not know.
                atomic: name.ends_with("RawExtension"),
                ..Schema::default()
            }),
        };
        self.made.insert(name.to_owned(), Arc::clone(&schema));
        schema
    }
}

fn omit_zeros(name: &str, schema: &mut Schema) {
    let omitted = protobuf::omitted_if_zero(name);
    for (field, schema) in &mut schema.properties {
        if omitted.contains(&**field) {
            Arc::make_mut(schema).omits_zero = true;
        }
    }
}

/// The keys that have a value in every item: those that its type requires, and those with a default.
fn always_there<'k>(list: &Value, root: &Value, keys: &'k [Arc<str>]) -> Vec<&'k Arc<str>> {
    let name = list.get("items").and_then(reference).unwrap_or_default();
    let items = root.get("definitions").and_then(|all| all.get(name));
    let required = items.and_then(|items| items.get("required"));
    let required = required.and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    let has_default = |key: &str| key == "protocol" || name.ends_with(LOCAL_REFERENCE);
    let keys = keys.iter();
    keys.filter(|key| is_required(key) || has_default(key))
        .collect()
}

/// Sets the defaults of keys that an item does not name, as in upstream's types.
fn with_default_keys(item: &mut Schema, keys: &[&Arc<str>]) {
    for &key in keys {
        let Some(member) = item.properties.get_mut(key) else {
            continue;
        };
        let default: Value = match (&**key, &*member.type_name) {
            ("protocol", _) => "TCP".into(),
            (_, "integer") => 0.into(),
            _ => "".into(),
        };
        Arc::make_mut(member).default = Some(default);
    }
}

fn map_type(document: &Value) -> Option<&str> {
    document
        .get("x-kubernetes-map-type")
        .and_then(Value::as_str)
}

fn format(document: &Value) -> Option<&str> {
    document.get("format").and_then(Value::as_str)
}

/// The range of the field's Go type. Wider numbers are bounded by the decoder.
fn bounds(document: &Value) -> Bounds {
    if format(document) == Some("int32") {
        of_32_bits()
    } else {
        Bounds::default()
    }
}

fn of_32_bits() -> Bounds {
    Bounds {
        minimum: Some(i32::MIN.into()),
        maximum: Some(i32::MAX.into()),
        ..Bounds::default()
    }
}

fn int_or_string() -> Schema {
    Schema {
        int_or_string: true,
        go_integer: true,
        nullable: true,
        bounds: of_32_bits(),
        ..Schema::default()
    }
}

fn quantity() -> Schema {
    Schema {
        quantity: true,
        preserve_unknown: true,
        nullable: true,
        ..Schema::default()
    }
}

/// The definition that a schema refers to, directly or through an `allOf` with one element.
fn reference(document: &Value) -> Option<&str> {
    let target = document
        .get("$ref")
        .or_else(|| document.pointer("/allOf/0/$ref"))?;
    target.as_str()?.strip_prefix("#/definitions/")
}
