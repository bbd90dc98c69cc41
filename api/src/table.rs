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
struct Envelope {
    metadata: Value,
    /// A watch sends its headings only once.
    headings: bool,
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

/// A `meta.k8s.io/v1` Table of one object, as it is at this time.
pub(crate) fn of(asked: &Routed, object: &Object, now: Time, headings: bool) -> Value {
    let rows = Rows::of(asked, now);
    let document = rows.form.looked_at(object);
    let row = rows.row(object);
    with_row(&rows.columns, metadata_at(&document), headings, &row)
}

/// The position of a watch: nobody's row. Source: what a real server sends.
pub(crate) fn of_bookmark(asked: &Routed, metadata: &Value, headings: bool) -> Value {
    let columns = columns(&asked.kind, &asked.version);
    let document = json!({"metadata": metadata});
    let row = json!({"cells": vec![""; columns.len()], "object": partial(&document)});
    with_row(&columns, metadata_at(&document), headings, &row)
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
    let row = json!({"cells": cells, "object": shown});
    with_row(&columns, metadata_at(scale), true, &row)
}

/// Of a table of one object: its version, where it has one.
fn metadata_at(document: &Value) -> Value {
    match document.pointer("/metadata/resourceVersion") {
        Some(version) => json!({"resourceVersion": version}),
        None => json!({}),
    }
}

fn with_row(columns: &[Column], metadata: Value, headings: bool, row: &Value) -> Value {
    let mut table = without_rows(columns, Envelope { metadata, headings });
    if let Some(members) = table.as_object_mut() {
        members.insert("rows".into(), json!([row]));
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
    pub(crate) fn of(asked: &Routed, now: Time) -> Self {
        Self {
            columns: columns(&asked.kind, &asked.version),
            include: asked.params.text("includeObject").to_owned(),
            now,
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
    pub(crate) fn without_rows(&self, metadata: Value) -> Value {
        let headings = true;
        without_rows(&self.columns, Envelope { metadata, headings })
    }
}

fn without_rows(columns: &[Column], envelope: Envelope) -> Value {
    let definition = |column: &Column| {
        json!({"name": column.name, "type": column.type_name, "format": column.format,
            "description": column.description, "priority": column.priority})
    };
    let shown = columns.iter().map(definition);
    let definitions = envelope.headings.then(|| shown.collect::<Vec<_>>());
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
