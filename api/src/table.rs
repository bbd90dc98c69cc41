//! Tables: the columns that `kubectl get` prints, computed where the objects are.

mod age;
mod cells;
mod columns;
mod computed;
mod jsonpath;

use crate::accept::View;
use crate::handler::Routed;
use crate::status::Failure;
use cells::cells;
use columns::{Column, columns};
use hindsight_core::{Form, Object, Time};
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
pub(crate) fn check_include(asked: &Routed) -> Result<(), Failure> {
    let include = asked.params.text("includeObject");
    let known = matches!(include, "" | "None" | "Metadata" | "Object");
    if known || asked.accept.view != View::Table {
        return Ok(());
    }
    let message = format!("unrecognized includeObject value: {include:?}");
    Err(Failure::bad_request(message))
}

/// A `meta.k8s.io/v1` Table of these objects.
pub(crate) fn of(asked: &Routed, objects: &[&Object], envelope: Envelope) -> Value {
    let rows = Rows::of(asked);
    let mut table = rows.without_rows(envelope);
    let shown: Vec<Value> = objects.iter().map(|object| rows.row(object)).collect();
    if let Some(members) = table.as_object_mut() {
        members.insert("rows".into(), shown.into());
    }
    table
}

/// The same of a `Scale`.
pub(crate) fn of_scale(asked: &Routed, scale: &Value) -> Value {
    let columns = columns::of_scale();
    let cells = cells(&columns, scale, asked.now());
    let shown = match asked.params.text("includeObject") {
        "None" => Value::Null,
        "Object" => scale.clone(),
        _ => partial(scale),
    };
    let mut table = without_rows(&columns, Envelope::default());
    if let Some(members) = table.as_object_mut() {
        members.insert("rows".into(), json!([{"cells": cells, "object": shown}]));
    }
    table
}

/// How rows are made, for many of them.
pub(crate) struct Rows {
    columns: Vec<Column>,
    include: String,
    now: Time,
    form: Form,
}

impl Rows {
    pub(crate) fn of(asked: &Routed) -> Self {
        Self {
            columns: columns(&asked.kind, &asked.version),
            include: asked.params.text("includeObject").to_owned(),
            now: asked.now(),
            form: asked.form.clone(),
        }
    }

    pub(crate) fn row(&self, object: &Object) -> Value {
        let document = self.form.looked_at(object);
        let shown = match self.include.as_str() {
            "None" => Value::Null,
            "Object" => self.form.document(object),
            _ => metadata_of(&self.form, object),
        };
        json!({"cells": cells(&self.columns, &document, self.now), "object": shown})
    }

    /// The table but for them.
    pub(crate) fn without_rows(&self, envelope: Envelope) -> Value {
        without_rows(&self.columns, envelope)
    }
}

fn without_rows(columns: &[Column], envelope: Envelope) -> Value {
    let definition = |column: &Column| {
        json!({"name": column.name, "type": column.type_name, "format": column.format,
            "description": column.description, "priority": column.priority})
    };
    let shown = columns.iter().filter(|_| envelope.headings);
    let definitions: Vec<Value> = shown.map(definition).collect();
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": envelope.metadata,
        "columnDefinitions": definitions})
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn metadata_of(form: &Form, object: &Object) -> Value {
    partial(&form.document(object))
}

fn partial(document: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": document.get("metadata")})
}
