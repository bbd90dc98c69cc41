//! `CustomResourceDefinition`s: the kind and the schemas that a definition document asks for.

use crate::kind::{
    DefaultPropagation, GroupResource, Kind, NameRule, Origin, PrinterColumn, Scope, Strategy,
    Subresource, Version,
};
use crate::object::{Name, Uid};
use crate::rejection::FieldCause;
use crate::schema::{self, Schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A kind, and the schema of each of its versions.
pub type Definition = (Kind, BTreeMap<Arc<str>, Arc<Schema>>);

/// The kind that a definition defines, with the schema of each version.
pub fn kind_of_definition(
    document: &Value,
    definition: &Uid,
    terminating: bool,
) -> Result<Definition, Vec<FieldCause>> {
    let reader = Reader { document };
    let mut causes = reader.wrong_names();
    let mut versions = Vec::new();
    let mut schemas = BTreeMap::new();
    for (index, version) in reader.versions().iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let name: Name = text(version, "/name").into();
        match version.pointer("/schema/openAPIV3Schema") {
            Some(schema) => {
                match schema::parse(schema, &format!("{path}.schema.openAPIV3Schema")) {
                    Ok(schema) => drop(schemas.insert(Arc::clone(&name), Arc::new(schema))),
                    Err(why) => causes.push(FieldCause::invalid(path, &json!(&*name), &why)),
                }
            }
            None => causes.push(FieldCause::required(
                format!("{path}.schema.openAPIV3Schema"),
                "schemas are required",
            )),
        }
        versions.push(read_version(version, name));
    }
    if versions.iter().filter(|version| version.storage).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(FieldCause::invalid(
            "spec.versions",
            &json!(versions.len()),
            why,
        ));
    }
    if !causes.is_empty() {
        return Err(causes);
    }
    let origin = Origin::Custom {
        definition: definition.clone(),
        terminating,
    };
    Ok((reader.kind(versions, origin), schemas))
}

struct Reader<'a> {
    document: &'a Value,
}

impl Reader<'_> {
    fn text(&self, pointer: &str) -> &str {
        text(self.document, pointer)
    }

    fn versions(&self) -> &[Value] {
        let versions = self
            .document
            .pointer("/spec/versions")
            .and_then(Value::as_array);
        versions.map_or(&[], Vec::as_slice)
    }

    fn names(&self, pointer: &str) -> Vec<Name> {
        let list = self.document.pointer(pointer).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Name::from)
            .collect()
    }

    fn wrong_names(&self) -> Vec<FieldCause> {
        let mut causes = Vec::new();
        for pointer in [
            "/spec/group",
            "/spec/scope",
            "/spec/names/plural",
            "/spec/names/kind",
        ] {
            if self.text(pointer).is_empty() {
                let field = pointer.trim_start_matches('/').replace('/', ".");
                causes.push(FieldCause::required(field, ""));
            }
        }
        let expected = format!(
            "{}.{}",
            self.text("/spec/names/plural"),
            self.text("/spec/group")
        );
        let name = self.text("/metadata/name");
        if name != expected {
            let why = "must be spec.names.plural+\".\"+spec.group";
            causes.push(FieldCause::invalid("metadata.name", &json!(name), why));
        }
        if self.text("/spec/conversion/strategy") == "Webhook" {
            let supported = &["None"];
            let field = "spec.conversion.strategy";
            causes.push(FieldCause::not_supported(field, "Webhook", supported));
        }
        causes
    }

    fn kind(&self, versions: Vec<Version>, origin: Origin) -> Kind {
        let kind = self.text("/spec/names/kind");
        let or = |pointer: &str, other: String| match self.text(pointer) {
            "" => other.into(),
            text => Name::from(text),
        };
        let namespaced = self.text("/spec/scope") == "Namespaced";
        let storage = versions.iter().find(|version| version.storage);
        let status = storage.is_some_and(|one| one.subresources.contains(&Subresource::Status));
        Kind {
            resource: GroupResource::new(self.text("/spec/group"), self.text("/spec/names/plural")),
            kind: kind.into(),
            list_kind: or("/spec/names/listKind", format!("{kind}List")),
            singular: or("/spec/names/singular", kind.to_lowercase()),
            short_names: self.names("/spec/names/shortNames"),
            categories: self.names("/spec/names/categories"),
            scope: if namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
            versions,
            strategy: strategy(status),
            origin,
        }
    }
}

const fn strategy(status_apart: bool) -> Strategy {
    Strategy {
        default_propagation: DefaultPropagation::Background,
        graceful: false,
        returns_object: false,
        unconditional_update: false,
        create_on_update: false,
        names: NameRule::Subdomain,
        generation: true,
        status_apart,
        strict_finalizers: false,
        review: false,
    }
}

fn read_version(version: &Value, name: Name) -> Version {
    let flag = |key: &str| version.get(key) == Some(&Value::Bool(true));
    let mut subresources = Vec::new();
    if version.pointer("/subresources/status").is_some() {
        subresources.push(Subresource::Status);
    }
    if let Some(scale) = version.pointer("/subresources/scale") {
        let selector = text(scale, "/labelSelectorPath");
        subresources.push(Subresource::Scale {
            spec_path: text(scale, "/specReplicasPath").into(),
            status_path: text(scale, "/statusReplicasPath").into(),
            selector_path: (!selector.is_empty()).then(|| selector.into()),
        });
    }
    let list = |key: &str| {
        version
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let warning = text(version, "/deprecationWarning");
    Version {
        served: flag("served"),
        storage: flag("storage"),
        subresources,
        columns: list("additionalPrinterColumns")
            .iter()
            .map(column)
            .collect(),
        selectable_fields: list("selectableFields")
            .iter()
            .map(|field| text(field, "/jsonPath").into())
            .collect(),
        deprecation_warning: flag("deprecated").then(|| warning.into()),
        name,
    }
}

fn column(column: &Value) -> PrinterColumn {
    PrinterColumn {
        name: text(column, "/name").into(),
        type_name: text(column, "/type").into(),
        format: text(column, "/format").into(),
        description: text(column, "/description").into(),
        priority: column.get("priority").and_then(Value::as_i64).unwrap_or(0),
        json_path: text(column, "/jsonPath").into(),
    }
}

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
