//! The schema of `metadata`, for kinds whose own schema does not describe it.

use super::{Format, Schema, parse};
use crate::rejection::FieldCause;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| decoded(&parse(&document())));
static ANY_OBJECT: LazyLock<Schema> =
    LazyLock::new(|| decoded(&parse(&json!({"properties": {"metadata": document()}}))));

impl Schema {
    /// The schema of `metadata`: built-in kinds have their own, custom kinds cannot describe it.
    pub(crate) fn of_metadata(&self) -> &Self {
        let own = self.properties.get("metadata");
        own.filter(|own| own.properties.contains_key("ownerReferences"))
            .map_or(object_meta(), Arc::as_ref)
    }
}

/// The schema of `ObjectMeta`.
pub(crate) fn object_meta() -> &'static Schema {
    &OBJECT_META
}

/// The schema of an object of which only the metadata is described.
pub(crate) fn any_object() -> &'static Schema {
    &ANY_OBJECT
}

/// What is wrong with the types of a document's metadata.
pub(crate) fn metadata_causes(document: &Value) -> Vec<FieldCause> {
    let metadata = document.get("metadata");
    metadata.map_or_else(Vec::new, |metadata| object_meta().validate(metadata))
}

/// Adapts formats and integers to how Go decodes them in built-in types.
fn decoded(schema: &Schema) -> Schema {
    let named = schema.properties.iter();
    Schema {
        format: schema.format.and_then(|one| Format::of_field(one.name())),
        rewritten: &*schema.type_name == "integer",
        properties: named
            .map(|(name, member)| (Arc::clone(name), Arc::new(decoded(member))))
            .collect(),
        items: schema.items.as_deref().map(|each| Arc::new(decoded(each))),
        ..schema.clone()
    }
}

fn document() -> Value {
    let text = || json!({"type": "string", "nullable": true});
    let flag = || json!({"type": "boolean", "nullable": true});
    let time = || json!({"type": "string", "format": "date-time", "nullable": true});
    let count = || json!({"type": "integer", "nullable": true});
    let map = || json!({"type": "object", "additionalProperties": text(), "nullable": true});
    let any = || json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true});
    let object =
        |properties: Value| json!({"type": "object", "nullable": true, "properties": properties});
    let list = |items: Value| json!({"type": "array", "items": items, "nullable": true});
    let owner = json!({"type": "object", "nullable": true, "x-kubernetes-map-type": "atomic",
        "properties": {"apiVersion": text(), "kind": text(), "name": text(),
            "uid": {"type": "string", "nullable": true, "default": ""},
            "controller": flag(), "blockOwnerDeletion": flag()}});
    let managed = object(
        json!({"manager": text(), "operation": text(), "apiVersion": text(),
        "time": time(), "fieldsType": text(), "fieldsV1": any(), "subresource": text()}),
    );
    let owners = json!({"type": "array", "items": owner, "nullable": true,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
        "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid"});
    let finalizers = json!({"type": "array", "items": text(), "nullable": true,
        "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"});
    object(json!({
        "name": text(), "generateName": text(), "namespace": text(), "selfLink": text(),
        "uid": text(), "resourceVersion": text(), "generation": count(),
        "creationTimestamp": time(), "deletionTimestamp": time(),
        "deletionGracePeriodSeconds": count(), "labels": map(), "annotations": map(),
        "ownerReferences": owners, "finalizers": finalizers, "managedFields": list(managed),
    }))
}
