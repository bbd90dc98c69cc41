//! Completes an object that a mutating webhook has changed, for those who see it next. Source: the end of
//! upstream's `callAttrMutatingHook`.

use super::bound::bytes_max_beside;
use super::create::shape_draft;
use super::{decode, prepare};
use crate::command::FieldValidation;
use crate::kind::{KindRef, Kinds, Shape, Subresource, Version};
use crate::{Object, convert, defaults};
use serde_json::Value;

/// How an object is shown to webhooks.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionView<'a> {
    /// All kinds.
    pub kinds: &'a Kinds,
    /// The kind of the object.
    pub kind: &'a KindRef,
    /// The version in which it is shown.
    pub version: &'a Version,
    /// The subresource that is shown or posted to, if any.
    pub subresource: Option<Subresource>,
    /// The stored object, if there is one.
    pub stored: Option<&'a Object>,
}

impl AdmissionView<'_> {
    /// Decodes the document as its kind's decoder does, dropping unknown fields. Custom kinds keep
    /// everything here.
    ///
    /// # Errors
    ///
    /// Why the document cannot be read.
    pub fn decode(&self, document: &mut Value) -> Result<(), String> {
        let validation = FieldValidation::Ignore;
        let read = match self.subresource {
            Some(Subresource::Scale) => decode::prune_scale(validation, document),
            Some(to) if to.posted_gvk().is_some() => {
                let read = decode::prune_posted(self.kinds, to, validation, document);
                read.map_err(|refusal| refusal.to_string())
            }
            _ if self.kind.is_custom() => return Ok(()),
            _ => decode::read(self.kinds, (self.kind, self.version), self.stored, document),
        };
        read.map(drop)
    }

    /// Fills in the defaults of the kind.
    pub fn complete(&self, document: &mut Value) {
        let part = self.subresource;
        if part == Some(Subresource::Scale) || part.and_then(Subresource::posted_gvk).is_some() {
            return;
        }
        if self.kind.is_custom() {
            let schema = self.kinds.schema(self.kind, &self.version.name);
            if let Some(schema) = schema {
                schema.apply_defaults(document);
            }
        } else {
            convert::to_decide(self.kinds, self.kind, self.version, document);
            let stored = self.stored.map_or(0, |stored| stored.body.len());
            // What lacks some of them is refused by what is decided next.
            defaults::apply_within(self.kind, document, bytes_max_beside(stored));
            self.name(document);
            convert::to_version(self.kind, &self.version.name, document);
        }
        prepare::drop_empty(document);
    }

    /// Labels a namespace with its name, once it has one.
    fn name(&self, document: &mut Value) {
        let named = document.pointer("/metadata/name").is_some();
        if named || self.kind.strategy.shape != Shape::Namespace {
            shape_draft(self.kind, document);
        }
    }
}
