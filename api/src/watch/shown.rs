//! What a watch sends of objects. It is kept for as long as the watch lasts, which ends when its kind is redefined.

use crate::accept::{Accept, View};
use crate::handler::{Api, ResourceRequest};
use crate::offload::offload;
use crate::status::Failure;
use crate::table::{self, Rows};
use bytes::Bytes;
use hindsight_core::kind::KindRef;
use hindsight_core::object::Name;
use hindsight_core::{Form, Object, Revision, Time};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) struct Shown {
    accept: Accept,
    form: Form,
    kind: KindRef,
    version: Name,
    /// If it is sent as a table.
    rows: Option<Rows>,
}

/// What the client sees of an object.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    /// When it left the selection.
    pub(super) left: Option<Revision>,
    /// The present, for ages.
    pub(super) now: Time,
    /// Whether the columns of tables are described.
    pub(super) headings: bool,
}

impl Shown {
    pub(super) fn of(api: &Api, request: &ResourceRequest) -> Self {
        let is_table = request.accept.view == View::Table;
        Self {
            accept: request.accept,
            form: request.form.clone(),
            kind: Arc::clone(&request.kind),
            version: Arc::clone(&request.version.name),
            rows: is_table.then(|| Rows::kept(request, &api.columns)),
        }
    }

    /// The kind of the objects that are sent.
    pub(super) const fn kind(&self) -> &KindRef {
        &self.kind
    }

    /// An object as it is sent, and what its columns looked at. A long one that is not sent as it is stored is made
    /// on another thread.
    pub(super) async fn make(
        self: &Arc<Self>,
        object: &Arc<Object>,
        sight: Sight,
    ) -> Result<(Bytes, usize), Failure> {
        let bytes = match sight.left {
            Some(_) => object.body.len(),
            None => self.accept.made_bytes(&self.form, object),
        };
        let (shown, object) = (Arc::clone(self), Arc::clone(object));
        offload(bytes, move || shown.body(&object, sight)).await
    }

    fn body(&self, object: &Object, sight: Sight) -> (Bytes, usize) {
        if let Some(left) = sight.left {
            let last = self.form.object(object).shown_at(Some(left));
            return self.of_version(&last, sight);
        }
        self.of_version(object, sight)
    }

    fn of_version(&self, object: &Object, sight: Sight) -> (Bytes, usize) {
        if let Some(rows) = &self.rows {
            let (table, looks) = rows.table(object, sight.now, sight.headings);
            return (table.to_string().into(), looks.cost());
        }
        if self.accept.view == View::Metadata {
            let metadata = table::metadata_of(self.accept.meta, &self.form, object);
            return (metadata.to_string().into(), 0);
        }
        (self.form.body(object), 0)
    }

    /// An empty object that carries only this metadata.
    pub(super) fn bookmark(&self, metadata: &Value, headings: bool) -> Value {
        if let Some(rows) = &self.rows {
            return rows.bookmark(metadata, headings);
        }
        if self.accept.view == View::Metadata {
            return json!({"kind": "PartialObjectMetadata", "apiVersion": self.accept.meta,
                "metadata": metadata});
        }
        json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(&self.version),
            "metadata": metadata})
    }
}
