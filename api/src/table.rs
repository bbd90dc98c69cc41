//! Tables: the columns that `kubectl get` prints, computed where the objects are.

mod age;
mod cells;
mod columns;
mod computed;
mod jsonpath;

use crate::handler::Asked;
use crate::respond::View;
use crate::status::Failure;
use crate::verbs::document as in_version;
use cells::cells;
use columns::columns;
use hindsight_core::Object;
use serde_json::{Value, json};

/// What stands around the rows.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) metadata: Value,
    /// A watch repeats its headings only once.
    pub(crate) headings: bool,
}

impl Default for Envelope {
    fn default() -> Self {
        Self {
            metadata: json!({}),
            headings: true,
        }
    }
}

/// A table can only show the objects that it knows how to.
pub(crate) fn check_include(asked: &Asked) -> Result<(), Failure> {
    let include = asked.params.text("includeObject");
    let known = matches!(include, "" | "None" | "Metadata" | "Object");
    if known || asked.accept.view != View::Table {
        return Ok(());
    }
    let message = format!("unrecognized includeObject value: {include:?}");
    Err(Failure::bad_request(message))
}

/// A `meta.k8s.io/v1` Table of these objects.
pub(crate) fn of(asked: &Asked, objects: &[&Object], envelope: Envelope) -> Value {
    let columns = columns(&asked.kind, &asked.version);
    let include = asked.params.text("includeObject");
    let now = asked.now();
    let row = |object: &&Object| {
        let document = object.document();
        let shown = match include {
            "None" => Value::Null,
            "Object" => in_version(asked, object),
            _ => metadata_only(asked, object),
        };
        json!({"cells": cells(&columns, &document, now), "object": shown})
    };
    let rows: Vec<Value> = objects.iter().map(row).collect();
    let definitions: Vec<Value> = columns
        .iter()
        .map(|column| {
            json!({"name": column.name, "type": column.type_name, "format": column.format,
                "description": column.description, "priority": column.priority})
        })
        .collect();
    let definitions = if envelope.headings {
        definitions
    } else {
        Vec::new()
    };
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": envelope.metadata,
        "columnDefinitions": definitions, "rows": rows})
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn metadata_only(asked: &Asked, object: &Object) -> Value {
    let document = in_version(asked, object);
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": document.get("metadata")})
}
