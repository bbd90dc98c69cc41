//! How stored objects are read: in a version of their kind and, for a custom kind, through the schema that
//! its definition has today (decision 21).

use crate::convert;
use crate::kind::{GroupResource, KindRef, Kinds, Schemas};
use crate::object::{Name, Object};
use crate::schema::Schema;
use crate::selector::SelectableFields;
use bytes::Bytes;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The form in which objects of a kind are shown, patched and compared. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Form {
    kind: KindRef,
    version: Name,
    api_version: Name,
    /// For a custom kind only.
    schemas: Option<Arc<Schemas>>,
}

impl Form {
    /// The form of a version, by the current definitions of the kinds.
    pub fn of(kinds: &Kinds, kind: &KindRef, version: &Name) -> Self {
        Self {
            kind: Arc::clone(kind),
            version: Arc::clone(version),
            api_version: kind.api_version(version).into(),
            schemas: kinds.schemas(kind).cloned(),
        }
    }

    /// The object as JSON: the stored bytes, if they already have this form.
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

    /// The object with its body in this form.
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

    /// The document for field selectors and columns: for a built-in kind the stored one, whatever the version.
    pub fn document_for_selection(&self, object: &Object) -> Value {
        if self.schemas.is_some() {
            self.document(object)
        } else {
            object.document()
        }
    }

    /// What field selectors look at in the object.
    pub fn selectable_fields(&self, object: &Object) -> SelectableFields {
        let document = self.document_for_selection(object);
        SelectableFields::read(&self.kind, &self.version, &document)
    }

    /// The kind, as it is defined.
    pub const fn kind(&self) -> &KindRef {
        &self.kind
    }

    /// The version of the kind.
    pub const fn version(&self) -> &Name {
        &self.version
    }

    /// Whether the stored bytes already have this form: written in this version, and since the last change
    /// of its schemas.
    pub fn is_as_stored(&self, object: &Object) -> bool {
        let stored = &object.type_meta;
        let newest = |schemas: &Arc<Schemas>| {
            schemas.since < object.revision && stored.kind == self.kind.kind
        };
        stored.api_version == self.api_version && self.schemas.as_ref().is_none_or(newest)
    }

    /// Reads a document through the schema of its stored version. Source: what decodes and converts in
    /// `crdConversionRESTOptionsGetter`.
    fn read(&self, document: &mut Value) {
        let stored = document.get("apiVersion").and_then(Value::as_str);
        let stored = stored.and_then(|stored| stored.rsplit('/').next());
        if let Some(schema) = stored.and_then(|stored| self.schema(stored)).cloned() {
            schema.prune(document);
            schema.apply_defaults(document);
        }
        self.convert(document);
    }

    /// Converts into this version, without applying its defaults.
    fn convert(&self, document: &mut Value) {
        convert::to_version(&self.kind, &self.version, document);
        if let Some(schema) = self.schema(&self.version) {
            schema.prune(document);
            schema.tidy(document);
        }
    }

    fn schema(&self, version: &str) -> Option<&Arc<Schema>> {
        self.schemas.as_ref()?.of(version)
    }
}

/// The stored document, as a write of the server's own starts from it.
pub(crate) fn stored(kinds: &Kinds, object: &Object) -> Value {
    match of_storage(kinds, &object.key.resource) {
        Some(form) => form.document(object),
        None => object.document(),
    }
}

/// Brings an instance of a custom kind, in whatever version it is, into the form that is stored today; any
/// other document stays as it is.
pub(crate) fn to_stored(kinds: &Kinds, resource: &GroupResource, document: &mut Value) {
    if let Some(form) = of_storage(kinds, resource) {
        form.convert(document);
        if let Some(schema) = form.schema(&form.version) {
            schema.apply_defaults(document);
        }
    }
}

/// Whether a write without changes must be stored all the same: the stored instance of a custom kind does
/// not have the form that is stored today.
pub(crate) fn is_outdated(kinds: &Kinds, object: &Object) -> bool {
    let form = of_storage(kinds, &object.key.resource);
    if form.is_none_or(|form| form.is_as_stored(object)) {
        return false;
    }
    let mut today = stored(kinds, object);
    to_stored(kinds, &object.key.resource, &mut today);
    today != object.document()
}

/// The form in which instances of a custom kind are stored.
fn of_storage(kinds: &Kinds, resource: &GroupResource) -> Option<Form> {
    // A definition over a built-in resource defines nothing.
    let custom = kinds.custom(resource);
    let kind = custom.filter(|_| !kinds.is_builtin(resource))?;
    Some(Form::of(kinds, kind, &kind.storage_version()?.name))
}

#[cfg(test)]
mod tests;
