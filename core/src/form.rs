//! How stored objects are read: in a version of their kind and, of a custom kind, as its definition
//! says today (decision 21).

use crate::convert;
use crate::kind::{GroupResource, KindRef, Kinds, Schemas};
use crate::object::{Name, Object};
use crate::schema::Schema;
use bytes::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// What objects of a kind are shown, patched and compared in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Form {
    kind: KindRef,
    version: Name,
    api_version: Name,
    /// Of a custom kind.
    schemas: Option<Arc<Schemas>>,
}

impl Form {
    /// The form of a version, as the kinds are now.
    pub fn of(kinds: &Kinds, kind: &KindRef, version: &Name) -> Self {
        Self {
            kind: Arc::clone(kind),
            version: Arc::clone(version),
            api_version: kind.api_version(version).into(),
            schemas: kinds.schemas(kind).cloned(),
        }
    }

    /// The object as JSON: the stored bytes, where it is stored as it is to be read.
    pub fn body(&self, object: &Object) -> Bytes {
        if self.is_as_stored(object) {
            return object.body.clone();
        }
        let document = self.document(object);
        serde_json::to_vec(&document).unwrap_or_default().into()
    }

    /// The object as a document.
    pub fn document(&self, object: &Object) -> Value {
        let mut document = object.document();
        if !self.is_as_stored(object) {
            self.read(&mut document);
        }
        document
    }

    /// The object with a body that is as it is to be read.
    pub fn object<'a>(&self, object: &'a Object) -> Cow<'a, Object> {
        if self.is_as_stored(object) {
            return Cow::Borrowed(object);
        }
        let mut shown = object.clone();
        shown.body = self.body(object);
        shown.type_meta.api_version = Arc::clone(&self.api_version);
        shown.type_meta.kind = Arc::clone(&self.kind.kind);
        Cow::Owned(shown)
    }

    /// What selectors and columns look at: of a built-in kind what is stored, whatever the version.
    pub fn looked_at(&self, object: &Object) -> Value {
        if self.schemas.is_some() {
            self.document(object)
        } else {
            object.document()
        }
    }

    /// Whether the stored bytes are what is to be read: written in this version, and after its schemas
    /// were the last to change.
    pub(crate) fn is_as_stored(&self, object: &Object) -> bool {
        let stored = &object.type_meta;
        let newest = |schemas: &Arc<Schemas>| {
            schemas.since < object.revision && stored.kind == self.kind.kind
        };
        stored.api_version == self.api_version && self.schemas.as_ref().is_none_or(newest)
    }

    /// Source: what decodes and converts in `crdConversionRESTOptionsGetter`.
    fn read(&self, document: &mut Value) {
        let stored = document.get("apiVersion").and_then(Value::as_str);
        let stored = stored.and_then(|stored| stored.rsplit('/').next());
        if let Some(schema) = stored.and_then(|stored| self.schema(stored)).cloned() {
            schema.prune(document);
            schema.apply_defaults(document);
        }
        self.convert(document);
    }

    /// Into this version, of which no default is taken.
    fn convert(&self, document: &mut Value) {
        convert::to_version(&self.kind, &self.version, document);
        if let Some(schema) = self.schema(&self.version) {
            schema.prune(document);
            schema.drop_nulls(document);
        }
    }

    fn schema(&self, version: &str) -> Option<&Arc<Schema>> {
        self.schemas.as_ref()?.of(version)
    }
}

/// What is stored, for a write of the server's own.
pub(crate) fn stored(kinds: &Kinds, object: &Object) -> Value {
    match of_storage(kinds, &object.key.resource) {
        Some(form) => form.document(object),
        None => object.document(),
    }
}

/// What is written of an instance of a custom kind, in whatever version, as it is stored from today on;
/// any other document stays as it is.
pub(crate) fn to_stored(kinds: &Kinds, resource: &GroupResource, document: &mut Value) {
    if let Some(form) = of_storage(kinds, resource) {
        form.convert(document);
        if let Some(schema) = form.schema(&form.version) {
            schema.apply_defaults(document);
        }
    }
}

/// Whether a write that changes nothing is one all the same: an instance of a custom kind is not stored
/// as it would be today.
pub(crate) fn is_outdated(kinds: &Kinds, object: &Object) -> bool {
    let form = of_storage(kinds, &object.key.resource);
    if form.is_none_or(|form| form.is_as_stored(object)) {
        return false;
    }
    let mut today = stored(kinds, object);
    to_stored(kinds, &object.key.resource, &mut today);
    today != object.document()
}

/// The form that instances of a custom kind are stored in.
fn of_storage(kinds: &Kinds, resource: &GroupResource) -> Option<Form> {
    // A definition of what is built in defines nothing.
    let kind = kinds
        .by_resource(resource)
        .filter(|kind| kind.is_custom())?;
    Some(Form::of(kinds, kind, &kind.storage_version()?.name))
}

#[cfg(test)]
mod tests;
