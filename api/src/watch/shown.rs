//! What a watch sends of objects. It is kept for as long as the watch lasts, which ends when its kind is redefined.

use crate::accept::{Accept, View};
use crate::api::Api;
use crate::offload::{LONG_BYTES, offload};
use crate::request::ResourceRequest;
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
    view: Viewed,
}

/// What is sent of an object.
enum Viewed {
    Object,
    /// In this version.
    Metadata(&'static str),
    Table(Rows),
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
        Self {
            accept: request.accept,
            form: request.form.clone(),
            kind: Arc::clone(&request.kind),
            version: Arc::clone(&request.version.name),
            view: match request.accept.view {
                View::Object => Viewed::Object,
                View::Metadata => Viewed::Metadata(request.accept.meta),
                View::Table => Viewed::Table(Rows::kept(request, &api.columns)),
            },
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
        if bytes <= LONG_BYTES {
            return Ok(self.body(object, sight));
        }
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
        match &self.view {
            Viewed::Object => (self.form.body(object), 0),
            Viewed::Metadata(meta) => {
                let metadata = table::metadata_of(meta, &self.form, object);
                (metadata.to_string().into(), 0)
            }
            Viewed::Table(rows) => {
                let (table, looks) = rows.table(object, sight.now, sight.headings);
                (table.to_string().into(), looks.cost())
            }
        }
    }

    /// An empty object that carries only this metadata.
    pub(super) fn bookmark(&self, metadata: &Value, headings: bool) -> Value {
        let (kind, version) = match &self.view {
            Viewed::Object => (&*self.kind.kind, self.kind.api_version(&self.version)),
            Viewed::Metadata(meta) => ("PartialObjectMetadata", (*meta).to_owned()),
            Viewed::Table(rows) => return rows.bookmark(metadata, headings),
        };
        json!({"kind": kind, "apiVersion": version, "metadata": metadata})
    }
}
