//! The schemas of built-in kinds, derived from `k8s-openapi` when they are first needed.

mod convert;
mod merges;
mod table;
#[cfg(test)]
mod tests;

use crate::unpoisoned::unpoisoned;
use convert::Converter;
use hindsight_core::kind::{BuiltinKinds, BuiltinSchemas, GroupVersionKind};
use hindsight_core::{builtin, schema::Schema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock, Mutex};

/// The built-in kinds with their schemas: what a control plane opens with. All share them.
pub fn builtin_kinds() -> Arc<BuiltinKinds> {
    static KINDS: LazyLock<Arc<BuiltinKinds>> = LazyLock::new(|| {
        let schemas = Box::<Schemas>::default();
        Arc::new(BuiltinKinds::new(builtin::kinds(), Some(schemas)))
    });
    Arc::clone(&KINDS)
}

/// The schemas of built-in kinds. Definitions that several kinds use are converted once.
#[derive(Debug, Default)]
struct Schemas {
    definitions: Mutex<Converter>,
}

impl BuiltinSchemas for Schemas {
    fn schema(&self, kind: &GroupVersionKind) -> Option<Arc<Schema>> {
        let (name, mut document) = document(&kind.group, &kind.version, &kind.kind)?;
        merges::annotate(&name, &mut document);
        let mut definitions = unpoisoned(self.definitions.lock());
        Some(definitions.root(&name, &document))
    }
}

/// A kind's name and JSON schema, with the definitions that it refers to under `definitions`.
pub(crate) fn document(group: &str, version: &str, kind: &str) -> Option<(String, Value)> {
    let found = table::KINDS
        .iter()
        .find(|row| (row.0, row.1, row.2) == (group, version, kind));
    found.map(|row| row.3())
}

/// The same for clients, annotated with how lists merge and with the form of some types on the wire. Metadata is
/// required nowhere, as upstream: some clients check what they send, and nobody names a review.
pub(crate) fn annotated(group: &str, version: &str, kind: &str) -> Option<(String, Value)> {
    let (name, mut document) = document(group, version, kind)?;
    if let Some(members) = document.as_object_mut() {
        members.remove("$schema");
    }
    merges::annotate(&name, &mut document);
    require_no_metadata(&mut document);
    let definitions = document
        .get_mut("definitions")
        .and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        merges::annotate(name, definition);
        require_no_metadata(definition);
        on_the_wire(name, definition);
    }
    Some((name, document))
}

fn require_no_metadata(definition: &mut Value) {
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    let Some(Value::Array(required)) = members.get_mut("required") else {
        return;
    };
    required.retain(|member| member != "metadata");
    if required.is_empty() {
        members.remove("required");
    }
}

/// Describes types whose form on the wire their generated schema does not show. Those that may be anything
/// have no type, as in upstream's `api/openapi-spec`.
fn on_the_wire(name: &str, definition: &mut Value) {
    let Some(members) = definition.as_object_mut() else {
        return;
    };
    match name.rsplit('.').next() {
        Some("IntOrString") => {
            members.insert("format".into(), "int-or-string".into());
            one_of(members, ["integer", "string"]);
        }
        Some("Quantity") => one_of(members, ["string", "number"]),
        Some(
            "JSON"
            | "JSONSchemaPropsOrArray"
            | "JSONSchemaPropsOrBool"
            | "JSONSchemaPropsOrStringArray",
        ) => members.retain(|member, _| member == "description"),
        _ => {}
    }
}

fn one_of(members: &mut Map<String, Value>, types: [&str; 2]) {
    members.remove("x-kubernetes-int-or-string");
    let one = |name: &str| json!({"type": name});
    members.insert("oneOf".into(), types.map(one).to_vec().into());
}

/// What clients are told of a member of every object's metadata.
pub(crate) fn description_in_metadata(member: &str) -> String {
    let (_, schema) = generate::<ObjectMeta>();
    let member = schema.get("properties").and_then(|all| all.get(member));
    let description = member.and_then(|member| member.get("description"));
    let description = description.and_then(Value::as_str).unwrap_or_default();
    description.to_owned()
}

fn generate<T: JsonSchema>() -> (String, Value) {
    let generator = SchemaSettings::draft07().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    (T::schema_name().into_owned(), schema.to_value())
}
