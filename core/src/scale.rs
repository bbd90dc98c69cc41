//! The `Scale` that a scalable object shows.

use crate::kind::{ScalePaths, Version};
use crate::managed::{Managed, Scaled};
use crate::object::Object;
use crate::schema::{self, Bounds, Schema};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The version of every Scale.
pub const API_VERSION: &str = "autoscaling/v1";
/// Its kind.
pub const KIND: &str = "Scale";

static SCHEMA: LazyLock<Schema> = LazyLock::new(make_schema);

/// What a Scale holds, whatever kind shows it.
pub fn schema() -> &'static Schema {
    &SCHEMA
}

fn make_schema() -> Schema {
    let text = || schema::parse(&json!({"type": "string", "nullable": true}));
    let count = || Schema {
        go_integer: true,
        bounds: Bounds {
            minimum: Some(i32::MIN.into()),
            maximum: Some(i32::MAX.into()),
            ..Bounds::default()
        },
        ..schema::parse(&json!({"type": "integer", "nullable": true}))
    };
    object(vec![
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", schema::object_meta().clone()),
        ("spec", object(vec![("replicas", count())])),
        (
            "status",
            object(vec![("replicas", count()), ("selector", text())]),
        ),
    ])
}

fn object(members: Vec<(&str, Schema)>) -> Schema {
    let members = members.into_iter();
    let properties = members.map(|(name, schema)| (name.into(), Arc::new(schema)));
    Schema {
        properties: properties.collect(),
        ..schema::parse(&json!({"type": "object", "nullable": true}))
    }
}

/// `autoscaling/v1` Scale of an object; `None` where its kind has none.
pub fn scale_of(version: &Version, object: &Object) -> Option<Value> {
    let ScalePaths {
        wanted,
        observed,
        selector,
    } = version.scale.as_ref()?;
    let document = object.document();
    let at = |path: &str| document.pointer(&path.replace('.', "/"));
    let count = |path: &str| at(path).and_then(Value::as_i64).unwrap_or(0);
    let selector = selector.as_deref().and_then(at).and_then(Value::as_str);
    let selector = selector.map_or_else(|| match_labels(&document), str::to_owned);
    let mut metadata = json!({
        "name": &*object.key.name,
        "uid": object.meta.uid.as_str(),
        "resourceVersion": object.revision.to_string(),
        "creationTimestamp": document.pointer("/metadata/creationTimestamp"),
    });
    if let Some(metadata) = metadata
        .as_object_mut()
        .filter(|_| !object.key.namespace.is_empty())
    {
        metadata.insert("namespace".into(), Value::from(&*object.key.namespace));
    }
    let mut status = json!({"replicas": count(observed)});
    if let Some(status) = status.as_object_mut().filter(|_| !selector.is_empty()) {
        status.insert("selector".into(), selector.into());
    }
    Some(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"replicas": count(wanted)},
        "status": status,
    }))
}

/// The same, with those who hold its count: as it is admitted.
pub fn scale_with_owners(version: &Version, object: &Object) -> Option<Value> {
    let mut scale = scale_of(version, object)?;
    let managed = Managed::read(object.document().pointer("/metadata/managedFields"))?;
    let (_, shown) = Scaled::of(managed, version.count_path()?, "");
    let metadata = scale.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some((list, metadata)) = shown.list().zip(metadata) {
        metadata.insert("managedFields".into(), list);
    }
    Some(scale)
}

/// Built-in kinds keep a structured selector; a Scale shows it as text.
fn match_labels(document: &Value) -> String {
    let selector = document.pointer("/spec/selector");
    let labels = selector.and_then(|one| one.get("matchLabels").or(Some(one)));
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let terms = labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    terms.collect::<Vec<_>>().join(",")
}
