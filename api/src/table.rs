//! Tables: the columns that `kubectl get` prints, computed by the server.

mod age;
mod cells;
mod columns;
mod computed;
mod jsonpath;
pub(crate) mod shared;
#[cfg(test)]
mod tests;

use crate::accept::View;
use crate::request::ResourceRequest;
use crate::status::Failure;
use cells::cells;
use columns::{Column, columns};
use hindsight_core::{Form, Object, Time};
pub(crate) use jsonpath::Looks;
use serde_json::{Value, json};
use shared::SharedColumns;
use std::sync::Arc;

/// A table without its columns and rows.
#[derive(Debug)]
struct Envelope {
    /// The `apiVersion` of the table, as the client asked for it.
    meta: &'static str,
    metadata: Value,
    /// Whether the column definitions are sent: a watch sends them only once.
    headings: bool,
}

impl Envelope {
    /// For a table of one object: with the object's resource version, if it has one.
    fn of(meta: &'static str, document: &Value, headings: bool) -> Self {
        let metadata = match document.pointer("/metadata/resourceVersion") {
            Some(version) => json!({"resourceVersion": version}),
            None => json!({}),
        };
        Self {
            meta,
            metadata,
            headings,
        }
    }
}

/// Refuses an unknown `includeObject`, which says how much of each object the table carries.
pub(crate) fn check_include(request: &ResourceRequest) -> Result<(), Failure> {
    let include = request.params.text("includeObject");
    let known = matches!(include, "" | "None" | "Metadata" | "Object");
    if known || request.accept.view != View::Table {
        return Ok(());
    }
    let message = format!("unrecognized includeObject value: {include:?}");
    Err(Failure::bad_request(message))
}

/// A `meta.k8s.io` Table of one object, with the request's time as the present.
pub(crate) fn of(request: &ResourceRequest, object: &Object) -> Value {
    Rows::of(request).table(object, request.now(), true).0
}

/// The table of a `Scale`.
pub(crate) fn of_scale(request: &ResourceRequest, scale: &Value) -> Value {
    let columns = columns::of_scale(&request.kind);
    let cells = cells(&columns, scale, request.now(), &mut Looks::default());
    let shown = match request.params.text("includeObject") {
        "None" => Value::Null,
        "Object" => scale.clone(),
        _ => partial(request.accept.meta, scale),
    };
    let row = json!({"cells": cells, "object": shown});
    with_row(
        &columns,
        Envelope::of(request.accept.meta, scale, true),
        &row,
    )
}

fn with_row(columns: &[Column], envelope: Envelope, row: &Value) -> Value {
    let mut table = without_rows(columns, envelope);
    if let Some(members) = table.as_object_mut() {
        members.insert("rows".into(), json!([row]));
    }
    table
}

/// Makes rows, for many objects.
pub(crate) struct Rows {
    columns: Arc<[Column]>,
    include: String,
    form: Form,
    meta: &'static str,
    are_pods: bool,
}

impl Rows {
    pub(crate) fn of(request: &ResourceRequest) -> Self {
        let columns = columns(&request.kind, &request.version);
        Self::with(columns.into(), request)
    }

    /// The same for a watch, which keeps them: its columns are shared with other watches of its kind.
    pub(crate) fn kept(request: &ResourceRequest, shared: &SharedColumns) -> Self {
        Self::with(shared.of(&request.kind, &request.version), request)
    }

    fn with(columns: Arc<[Column]>, request: &ResourceRequest) -> Self {
        Self {
            columns,
            include: request.params.text("includeObject").to_owned(),
            form: request.form.clone(),
            meta: request.accept.meta,
            are_pods: !request.kind.is_custom() && &*request.kind.resource.resource == "pods",
        }
    }

    pub(crate) const fn form(&self) -> &Form {
        &self.form
    }

    /// A row as it is at this time, and what its columns looked at.
    pub(crate) fn row(&self, object: &Object, now: Time) -> (Value, Looks) {
        let (document, mut looks) = (self.form.document_for_selection(object), Looks::default());
        let row = self.of_document(object, &document, now, &mut looks);
        (row, looks)
    }

    /// A table of one object, as it is at this time, and what its columns looked at.
    pub(crate) fn table(&self, object: &Object, now: Time, headings: bool) -> (Value, Looks) {
        let (document, mut looks) = (self.form.document_for_selection(object), Looks::default());
        let row = self.of_document(object, &document, now, &mut looks);
        let envelope = Envelope::of(self.meta, &document, headings);
        (with_row(&self.columns, envelope, &row), looks)
    }

    /// The table of a watch's bookmark, whose row belongs to no object. Source: what a real server sends.
    pub(crate) fn bookmark(&self, metadata: &Value, headings: bool) -> Value {
        let (columns, meta) = (&self.columns, self.meta);
        let document = json!({"metadata": metadata});
        let row = json!({"cells": vec![""; columns.len()], "object": partial(meta, &document)});
        with_row(columns, Envelope::of(meta, &document, headings), &row)
    }

    fn of_document(
        &self,
        object: &Object,
        document: &Value,
        now: Time,
        looks: &mut Looks,
    ) -> Value {
        let shown = match self.include.as_str() {
            "None" => Value::Null,
            "Object" => self.form.document(object),
            _ => metadata_of(self.meta, &self.form, object),
        };
        let cells = cells(&self.columns, document, now, looks);
        let mut row = json!({"cells": cells, "object": shown});
        let completed = Some(document).filter(|_| self.are_pods);
        let completed = completed.and_then(computed::completed);
        if let Some((completed, members)) = completed.zip(row.as_object_mut()) {
            members.insert("conditions".into(), json!([completed]));
        }
        row
    }

    /// The table without its rows.
    pub(crate) fn without_rows(&self, metadata: Value) -> Value {
        let envelope = Envelope {
            meta: self.meta,
            metadata,
            headings: true,
        };
        without_rows(&self.columns, envelope)
    }
}

fn without_rows(columns: &[Column], envelope: Envelope) -> Value {
    let definition = |column: &Column| {
        json!({"name": column.name, "type": column.type_name, "format": column.format,
            "description": column.description, "priority": column.priority})
    };
    let shown = columns.iter().map(definition);
    let definitions = envelope.headings.then(|| shown.collect::<Vec<_>>());
    json!({"kind": "Table", "apiVersion": envelope.meta, "metadata": envelope.metadata,
        "columnDefinitions": definitions})
}

/// `PartialObjectMetadata` of an object, in this version of `meta.k8s.io`.
pub(crate) fn metadata_of(meta: &str, form: &Form, object: &Object) -> Value {
    partial(meta, &form.document(object))
}

/// The same of a document.
pub(crate) fn partial(meta: &str, document: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": meta,
        "metadata": document.get("metadata")})
}
