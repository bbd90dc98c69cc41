//! Custom kinds: the kind and the schemas that a `CustomResourceDefinition` defines.

mod approval;
mod check;
mod counts;
mod decode;
mod deprecation;
mod zeros;

pub(crate) use approval::conformance;
pub use check::is_definable;
pub(crate) use check::{check, of_instances, warnings};
pub(crate) use counts::wrong_counts;
pub(crate) use decode::{decode_definition, undeclared_in_schemas};

use crate::command::Propagation;
use crate::event::Change;
use crate::kind::{
    Conversion, Generation, GroupResource, Kind, NameRule, Origin, PrinterColumn, ScalePaths,
    ScaleSelector, Scope, Shape, Strategy, Subresource, Version,
};
use crate::object::{Name, Object, Uid};
use crate::schema::{self, Patterns, Schema};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind that a definition defines; `None` if the document does not name one. Whether a definition is
/// valid is decided before it is written, not here: one that was written once stays readable.
pub fn kind_of_definition(document: &Value, definition: &Uid, terminating: bool) -> Option<Kind> {
    let reader = Reader { document };
    let named = ["/spec/group", "/spec/names/plural", "/spec/names/kind"];
    let stored = |version: &&Arc<Version>| version.storage;
    let versions = reader.versions().iter();
    let best = reader.best_offered();
    let versions = versions.map(|version| reader.version(version, best).into());
    let versions: Vec<Arc<Version>> = versions.collect();
    let readable = named.iter().all(|pointer| !reader.text(pointer).is_empty())
        && versions.iter().filter(stored).count() == 1;
    if !readable {
        return None;
    }
    let origin = Origin::Custom {
        definition: definition.clone(),
        terminating,
        conversion: reader.conversion(),
    };
    Some(reader.kind(versions, origin))
}

/// The schema of each version of a definition, and about how many bytes their patterns take. These are compiled, which
/// takes long.
pub(crate) fn schemas_of_definition(document: &Value) -> (BTreeMap<Arc<str>, Arc<Schema>>, usize) {
    let mut patterns = Patterns::default();
    let reader = Reader { document };
    let versions = reader.versions().iter();
    let schemas = versions.filter_map(|version| {
        let root = version.pointer("/schema/openAPIV3Schema")?;
        let schema = schema::parse_with(root, &mut patterns);
        Some((text(version, "/name").into(), Arc::new(schema)))
    });
    let schemas = schemas.collect();
    (schemas, patterns.bytes_max())
}

/// The kind that a definition brings, by what it says of itself; `None` if its names are not accepted.
pub fn served_kind(definition: &Object) -> Option<Kind> {
    let document = definition.document();
    if !is_served(&document) {
        return None;
    }
    let (uid, terminating) = (&definition.meta.uid, definition.is_deleting());
    kind_of_definition(&document, uid, terminating)
}

/// Whether a definition serves its kind: it does unless its `Established` condition is false.
pub(crate) fn is_served(document: &Value) -> bool {
    let conditions = document.pointer("/status/conditions");
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let mut served = conditions.filter(|one| text(one, "/type") == "Established");
    !served.any(|one| text(one, "/status") == "False")
}

impl Change {
    /// Whether the change redefines or removes this custom kind. Source: upstream's
    /// `updateCustomResourceDefinition`.
    pub fn redefines(&self, kind: &GroupResource) -> bool {
        let key = &self.commit.key;
        if !key.is_definition() || key.defined_resource() != *kind {
            return false;
        }
        let both = self.previous.as_ref().zip(self.commit.object());
        both.is_none_or(|(before, after)| {
            let (before, after) = (before.document(), after.document());
            let differs = |pointer| at(&before, pointer) != at(&after, pointer);
            differs("/spec") || differs("/status/acceptedNames")
        })
    }
}

struct Reader<'a> {
    document: &'a Value,
}

impl Reader<'_> {
    fn text(&self, pointer: &str) -> &str {
        text(self.document, pointer)
    }

    fn conversion(&self) -> Conversion {
        match self.text("/spec/conversion/strategy") {
            "Webhook" => Conversion::Webhook,
            _ => Conversion::None,
        }
    }

    fn versions(&self) -> &[Value] {
        let versions = at(self.document, "/spec/versions").and_then(Value::as_array);
        versions.map_or(&[], Vec::as_slice)
    }

    fn names(&self, pointer: &str) -> Vec<Name> {
        let list = at(self.document, pointer).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Name::from)
            .collect()
    }

    fn version(&self, version: &Value, best: Option<&str>) -> Version {
        Version {
            deprecation_warning: self.deprecation_warning(version, best),
            ..read_version(version)
        }
    }

    /// Path of the names that the kind is served under: the accepted ones rather than all that it wants.
    fn names_of_kind(&self) -> &'static str {
        let is_accepted = |member: &str| {
            let accepted = self.text(&format!("/status/acceptedNames/{member}"));
            !accepted.is_empty()
                && (member == "kind" || accepted == self.text("/spec/names/plural"))
        };
        if is_accepted("plural") && is_accepted("kind") {
            "/status/acceptedNames"
        } else {
            "/spec/names"
        }
    }

    fn kind(&self, versions: Vec<Arc<Version>>, origin: Origin) -> Kind {
        let names = self.names_of_kind();
        let of = |member: &str| format!("{names}/{member}");
        let kind = self.text(&of("kind"));
        let or = |member: &str, other: String| match self.text(&of(member)) {
            "" => other.into(),
            text => Name::from(text),
        };
        let namespaced = self.text("/spec/scope") == "Namespaced";
        Kind {
            resource: GroupResource::new(self.text("/spec/group"), self.text("/spec/names/plural")),
            kind: kind.into(),
            list_kind: or("listKind", format!("{kind}List")),
            singular: or("singular", kind.to_lowercase()),
            short_names: self.names(&of("shortNames")),
            categories: self.names(&of("categories")),
            scope: if namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
            versions,
            strategy: STRATEGY,
            pod: None,
            origin,
        }
    }
}

const STRATEGY: Strategy = Strategy {
    shape: Shape::Plain,
    collected: true,
    default_propagation: Propagation::Background,
    graceful: false,
    returns_object: false,
    unconditional_update: false,
    create_on_update: false,
    names: NameRule::Subdomain,
    generation: Generation::Spec,
    strict_finalizers: false,
    collection_deletes: true,
    review: false,
    keeps_status: false,
    claims_volumes: false,
};

fn read_version(version: &Value) -> Version {
    let mut subresources = Vec::new();
    if at(version, "/subresources/status").is_some() {
        subresources.push(Subresource::Status);
    }
    let scale = at(version, "/subresources/scale").map(scale_paths);
    if scale.is_some() {
        subresources.push(Subresource::Scale);
    }
    let list = |key: &str| {
        version
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    Version {
        served: flag(version, "served"),
        storage: flag(version, "storage"),
        subresources,
        scale,
        columns: list("additionalPrinterColumns")
            .iter()
            .map(column)
            .collect(),
        selectable_fields: list("selectableFields")
            .iter()
            .map(|field| text(field, "/jsonPath").into())
            .collect(),
        deprecation_warning: None,
        name: text(version, "/name").into(),
    }
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let selector = text(scale, "/labelSelectorPath");
    ScalePaths {
        wanted: text(scale, "/specReplicasPath").into(),
        observed: text(scale, "/statusReplicasPath").into(),
        selector: match selector {
            "" => ScaleSelector::None,
            path => ScaleSelector::Text(path.into()),
        },
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

/// Like [`Value::pointer`], for member names that need no escaping.
fn at<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut names = pointer.split('/').skip(1);
    names.try_fold(document, |value, name| value.get(name))
}

fn flag(document: &Value, member: &str) -> bool {
    document.get(member) == Some(&Value::Bool(true))
}

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    at(document, pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
