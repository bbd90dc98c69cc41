//! The `Scale` subresource: what a scalable object shows of its replica count.

use crate::Rejection;
use crate::document::metadata_mut;
use crate::kind::{ScalePaths, ScaleSelector, Version};
use crate::managed::{Managed, Scaled};
use crate::object::Object;
use crate::schema::{self, Bounds, Schema};
use crate::selector::LabelSelector;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// The `apiVersion` of every `Scale`.
pub(crate) const API_VERSION: &str = "autoscaling/v1";
/// The kind of every `Scale`.
pub(crate) const KIND: &str = "Scale";

static SCHEMA: LazyLock<Schema> = LazyLock::new(make_schema);

/// The schema of a `Scale`, which is the same for every kind.
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

/// Stands for the count of an object that has none while it is patched: if the patch leaves it, the outcome
/// is not a count of 0. Source: `scaleUpdatedObjectInfo` of custom resources.
pub(crate) const UNSET: i32 = i32::MIN;

/// The `autoscaling/v1` `Scale` of an object, as a patch sees it; `None` if its kind has none.
pub fn scale_for_patch(version: &Version, object: &Object) -> Option<Value> {
    scale_with(version, object, Some(UNSET))
}

/// The `Scale` of an object, as server-side apply sees it: a count that the object does not have has no
/// owner.
pub(crate) fn scale_for_apply(version: &Version, object: &Object) -> Option<Value> {
    scale_with(version, object, None)
}

/// Keeps the count unset if neither the live object nor the applied `Scale` has one.
pub(crate) fn keep_unset(live: &Value, next: &mut Value) {
    let is_left = !is_counted(live) && !is_counted(next);
    if let Some(root) = next.as_object_mut().filter(|_| is_left) {
        root.insert("spec".into(), json!({"replicas": UNSET}));
    }
}

/// The `Scale` of an object, as admission webhooks see it: a missing count is 0.
pub fn scale_for_admission(version: &Version, object: &Object) -> Option<Value> {
    scale_with(version, object, Some(0))
}

/// The `Scale` of an object, as clients read it.
///
/// # Errors
///
/// The object has no count: showing 0 would mean that it is switched off.
pub fn scale_for_read(version: &Version, object: &Object) -> Result<Option<Value>, Rejection> {
    let scale = scale_with(version, object, None);
    if scale.as_ref().is_none_or(is_counted) {
        return Ok(scale);
    }
    let path = version.count_path().unwrap_or_default();
    let why = format!("the spec replicas field {path:?} does not exist");
    Err(Rejection::BadRequest(why))
}

fn is_counted(scale: &Value) -> bool {
    scale.pointer("/spec/replicas").is_some()
}

fn scale_with(version: &Version, object: &Object, uncounted: Option<i32>) -> Option<Value> {
    let ScalePaths {
        wanted,
        observed,
        selector,
    } = version.scale.as_ref()?;
    let document = object.document();
    let at = |path: &str| document.pointer(&path.replace('.', "/"));
    let count = |path: &str| at(path).and_then(Value::as_i64);
    let selector = match selector {
        ScaleSelector::None => String::new(),
        ScaleSelector::Text(path) => at(path).and_then(Value::as_str).unwrap_or_default().into(),
        ScaleSelector::Spec => at(".spec.selector").map_or_else(String::new, selector_text),
    };
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
    let mut status = json!({"replicas": count(observed).unwrap_or(0)});
    if let Some(status) = status.as_object_mut().filter(|_| !selector.is_empty()) {
        status.insert("selector".into(), selector.into());
    }
    let wanted = count(wanted).or(uncounted.map(i64::from));
    Some(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": wanted.map_or_else(|| json!({}), |wanted| json!({"replicas": wanted})),
        "status": status,
    }))
}

/// The `Scale` of an object, as admission webhooks see it, with the owners of its count in
/// `managedFields`.
pub fn scale_with_owners(version: &Version, object: &Object) -> Option<Value> {
    let mut scale = scale_for_admission(version, object)?;
    let managed = Managed::read(object.document().pointer("/metadata/managedFields"))?;
    let (_, shown) = Scaled::of(managed, version.count_path()?, "");
    let metadata = metadata_mut(&mut scale);
    if let Some((list, metadata)) = shown.list().zip(metadata) {
        metadata.insert("managedFields".into(), list);
    }
    Some(scale)
}

/// The text form of an object's selector. In some kinds the selector is just a map of labels.
fn selector_text(selector: &Value) -> String {
    let is_structure = |member: &&str| selector.get(member).is_some_and(|one| !one.is_string());
    let members = ["matchLabels", "matchExpressions"];
    let found = if members.iter().any(is_structure) {
        LabelSelector::from_document(selector)
    } else {
        LabelSelector::from_document(&json!({"matchLabels": selector}))
    };
    found.unwrap_or_default().to_string()
}
