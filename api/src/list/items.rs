//! How the items of a list are written, one by one, and what surrounds them.

use super::untyped;
use crate::accept::{Accept, View};
use crate::body::Syntax;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use crate::table::{self, Rows};
use hindsight_core::{Form, Object, Time};
use serde::Serialize;
use serde_json::{Value, json};

/// A list in the form that one client wants.
pub(super) struct Items {
    shown: Shown,
    accept: Accept,
    /// The list without its items.
    around: Value,
}

enum Shown {
    Objects(Form),
    /// Items of a built-in kind: only the list names the kind.
    Untyped(Form),
    Metadata(Form, &'static str),
    /// As the objects are at this time.
    Table(Rows, Time),
}

impl Items {
    pub(super) fn of(request: &ResourceRequest, metadata: Value) -> Self {
        let (shown, around) = match request.accept.view {
            View::Object => {
                let version = request.kind.api_version(&request.version.name);
                let around = json!({"kind": request.kind.list_kind, "apiVersion": version,
                    "metadata": metadata});
                let form = request.form.clone();
                if request.kind.is_custom() {
                    (Shown::Objects(form), around)
                } else {
                    (Shown::Untyped(form), around)
                }
            }
            View::Metadata => {
                let meta = request.accept.meta;
                let around = json!({"kind": "PartialObjectMetadataList",
                    "apiVersion": meta, "metadata": metadata});
                (Shown::Metadata(request.form.clone(), meta), around)
            }
            View::Table => {
                let rows = Rows::of(request);
                let around = rows.without_rows(metadata);
                (Shown::Table(rows, request.now()), around)
            }
        };
        Self {
            shown,
            accept: request.accept,
            around,
        }
    }

    pub(super) const fn syntax(&self) -> Syntax {
        self.accept.syntax
    }

    /// About how much is made to write an item; zero for the stored bytes.
    pub(super) fn made_bytes(&self, object: &Object) -> usize {
        let form = match &self.shown {
            Shown::Objects(form) | Shown::Untyped(form) | Shown::Metadata(form, _) => form,
            Shown::Table(rows, _) => rows.form(),
        };
        self.accept.made_bytes(form, object)
    }

    /// Everything before the first item.
    pub(super) fn head(&self, is_empty: bool) -> Vec<u8> {
        let list = match self.shown {
            Shown::Objects(_) | Shown::Untyped(_) | Shown::Metadata(..) => "items",
            Shown::Table(..) => "rows",
        };
        let none = match self.shown {
            // In Go a nil slice.
            Shown::Metadata(..) => "null",
            Shown::Objects(_) | Shown::Untyped(_) | Shown::Table(..) => "[]",
        };
        if self.accept.syntax == Syntax::Yaml {
            let none = if is_empty {
                format!(" {none}")
            } else {
                String::new()
            };
            let around = yaml(&self.around).unwrap_or_default();
            return format!("{around}{list}:{none}\n").into_bytes();
        }
        let around = self.around.to_string();
        let open = around.strip_suffix('}').unwrap_or_default();
        let begun = if is_empty { none } else { "[" };
        format!("{open},\"{list}\":{begun}").into_bytes()
    }

    /// Appends one item; returns what that took, in bytes of objects that could have been read instead. Appends
    /// nothing if it is too long as YAML.
    pub(super) fn write(&self, object: &Object, to: &mut Vec<u8>) -> Result<usize, Failure> {
        let is_yaml = self.accept.syntax == Syntax::Yaml;
        let mut cost = object.body.len();
        let document = match &self.shown {
            Shown::Objects(form) if !is_yaml => {
                to.extend_from_slice(&form.body(object));
                return Ok(cost);
            }
            Shown::Untyped(form) if !is_yaml => {
                untyped::append(&form.body(object), to);
                return Ok(cost);
            }
            Shown::Objects(form) => form.document(object),
            Shown::Untyped(form) => without_type(form.document(object)),
            Shown::Metadata(form, meta) => table::metadata_of(meta, form, object),
            Shown::Table(rows, now) => {
                let (row, looks) = rows.row(object, *now);
                cost += looks.cost();
                row
            }
        };
        let text = if is_yaml {
            yaml(&[document])?
        } else {
            document.to_string()
        };
        to.extend_from_slice(text.as_bytes());
        Ok(cost)
    }

    pub(super) const fn between(&self) -> &'static [u8] {
        match self.accept.syntax {
            Syntax::Yaml => b"",
            Syntax::Json | Syntax::Protobuf => b",",
        }
    }

    /// Everything after the last item.
    pub(super) const fn tail(&self, is_empty: bool) -> &'static [u8] {
        match self.accept.syntax {
            Syntax::Yaml => b"",
            Syntax::Json | Syntax::Protobuf if is_empty => b"}",
            Syntax::Json | Syntax::Protobuf => b"]}",
        }
    }
}

fn without_type(mut document: Value) -> Value {
    if let Some(members) = document.as_object_mut() {
        members.remove("apiVersion");
        members.remove("kind");
    }
    document
}

/// The document as whole lines of YAML.
fn yaml(document: &impl Serialize) -> Result<String, Failure> {
    let mut text = respond::yaml(document)?.unwrap_or_default();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
