//! Server-side apply: a manager's configuration is merged into the live object.

use super::coordinates::{prepare_for_creation, same_coordinates};
use super::create::create_with;
use super::managed_fields::{Ownership, WriteTarget};
use super::patch::same_object;
use super::update::{PendingWrite, Sent};
use super::{Context, prepare, warned};
use crate::command::{Create, FieldValidation, PatchObject};
use crate::document::text_at;
use crate::fields::{self, Versions};
use crate::kind::{GroupVersionKind, Shape, Subresource};
use crate::managed::{self, Managed, Scaled, Writer};
use crate::object::{Object, ObjectKey};
use crate::{Decision, Rejection, custom, scale};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The configuration to apply, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct ApplyOptions<'a> {
    pub(super) config: &'a Value,
    pub(super) force: bool,
    /// What strict validation found wrong in the text.
    pub(super) complaint: Option<&'a str>,
}

pub(super) fn apply(
    context: Context<'_>,
    intent: &PatchObject,
    options: ApplyOptions<'_>,
) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    let stored = context.state.get(&intent.key);
    let apply = Apply {
        target: WriteTarget {
            context,
            kind,
            version,
            subresource: intent.subresource,
        },
        intent,
        options,
    };
    match stored {
        Some(stored) if apply.is_scale() => apply.scale(stored),
        Some(stored) => apply.change(stored),
        None if intent.subresource.is_none() => apply.create(),
        None => Err(Rejection::not_found(&intent.key)),
    }
}

struct Apply<'a> {
    target: WriteTarget<'a>,
    intent: &'a PatchObject,
    options: ApplyOptions<'a>,
}

impl Apply<'_> {
    fn is_scale(&self) -> bool {
        self.target.subresource == Some(Subresource::Scale)
    }

    /// Creates the object, since it does not exist.
    fn create(&self) -> Result<Decision, Rejection> {
        let nothing = Value::Object(Map::new());
        let (object, managed) = self.merge(&nothing, Managed::default())?;
        warned(self.make(object, managed), self.body_warnings())
    }

    fn make(&self, mut object: Value, managed: Managed) -> Result<Decision, Rejection> {
        let key = &self.intent.key;
        let metadata = prepare::metadata(&mut object)?;
        prepare_for_creation(metadata, key, |uid| {
            format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            )
        })?;
        same_coordinates(metadata, key)?;
        let create = Create {
            key: key.clone(),
            version: Arc::clone(&self.intent.version),
            object,
            validation: FieldValidation::Ignore,
        };
        create_with(self.target.context, create, Ownership::Applied(managed))
    }

    fn change(&self, stored: &Arc<Object>) -> Result<Decision, Rejection> {
        let mut live = self.target.form().document(stored);
        let managed = Managed::read(managed::take(&mut live).as_ref());
        let managed = managed.ok_or_else(|| unreadable(stored))?;
        let (next, managed) = self.merge(&live, managed)?;
        warned(self.write(stored, next, managed), self.body_warnings())
    }

    /// Applies to the count only; others may own it through the object itself.
    fn scale(&self, stored: &Arc<Object>) -> Result<Decision, Rejection> {
        let WriteTarget { kind, version, .. } = self.target;
        let live = scale::scale_for_apply(version, &self.target.form().object(stored));
        let live = live.ok_or_else(|| Rejection::not_found(&self.intent.key))?;
        let managed = Managed::read(managed::take(&mut stored.document()).as_ref());
        let managed = managed.ok_or_else(|| unreadable(stored))?;
        let count_path = version
            .count_path()
            .ok_or_else(|| Rejection::not_found(&self.intent.key))?;
        let (scaled, shown) = Scaled::of(managed, count_path, &kind.api_version(&version.name));
        let ApplyOptions { config, force, .. } = self.options;
        fields::check(config, Some(scale::schema())).map_err(|why| self.untyped(config, &why))?;
        let merged = self
            .target
            .write_in(scale::API_VERSION, &ScaleForm, |writer| {
                writer.apply(&live, config, shown, force)
            });
        let (mut next, shown) = merged.ok_or_else(manager_required)??;
        self.refuse_complaint()?;
        scale::keep_unset(&live, &mut next);
        warned(
            self.write(stored, next, scaled.back(shown)),
            self.body_warnings(),
        )
    }

    fn write(
        &self,
        stored: &Arc<Object>,
        mut next: Value,
        managed: Managed,
    ) -> Result<Decision, Rejection> {
        same_object(stored, &mut next, &self.intent.key)?;
        let target = self.target;
        let change = PendingWrite { target, stored };
        let ownership = Ownership::Applied(managed);
        let pruned = change.prune(&mut next, FieldValidation::Ignore);
        pruned.map_err(|why| self.unreadable(&why))?;
        change.write(next, Sent::Patch, ownership)
    }

    /// Warnings about the text; they are returned once the merge has succeeded.
    fn body_warnings(&self) -> Vec<String> {
        self.target.context.warnings(Vec::new())
    }

    fn merge(&self, live: &Value, managed: Managed) -> Result<(Value, Managed), Rejection> {
        let ApplyOptions { config, force, .. } = self.options;
        let version = Versions::version(&self.target, &self.target.api_version());
        let schema = version.and_then(|version| version.schema);
        fields::check(config, schema).map_err(|why| self.untyped(config, &why))?;
        self.refuse_undeclared(config)?;
        let merge = |writer: &Writer<'_>| writer.apply(live, config, managed, force);
        let merged = self.target.write(merge).ok_or_else(manager_required)??;
        self.refuse_complaint()?;
        Ok(merged)
    }

    /// Refuses members of the schemas in a definition that schemas do not have. The schema of definitions
    /// leaves them open, since they are of a recursive type.
    fn refuse_undeclared(&self, config: &Value) -> Result<(), Rejection> {
        if self.target.kind.strategy.shape != Shape::Definition {
            return Ok(());
        }
        let undeclared = custom::undeclared_in_schemas(config);
        fields::refuse_undeclared(&undeclared).map_err(|why| self.untyped(config, &why))
    }

    /// Reports what strict validation found. Conflicts come first: upstream decodes strictly after the
    /// merge.
    fn refuse_complaint(&self) -> Result<(), Rejection> {
        let complaint = self.options.complaint.map(str::to_owned);
        complaint.map_or(Ok(()), |why| Err(Rejection::BadRequest(why)))
    }

    /// Refuses a configuration that does not fit its schema. Upstream answers 500 here, but it is the
    /// client's fault.
    fn untyped(&self, config: &Value, why: &str) -> Rejection {
        let text = |pointer: &str| text_at(config, pointer);
        let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        let kind = shown(&self.document_gvk());
        Rejection::BadRequest(format!(
            "failed to create typed patch object ({namespace}/{name}; {kind}): {why}"
        ))
    }

    /// Refuses a merged object that does not decode; upstream answers 500 here, too.
    fn unreadable(&self, why: &str) -> Rejection {
        let (
            ObjectKey {
                namespace, name, ..
            },
            gvk,
        ) = (&self.intent.key, self.document_gvk());
        let (kind, to) = (shown(&gvk), gvk.api_version());
        Rejection::unreadable_patch(&format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version ({to}): \
             unable to convert unstructured object to {kind}: {why}"
        ))
    }

    fn document_gvk(&self) -> GroupVersionKind {
        let WriteTarget { kind, version, .. } = self.target;
        kind.document_gvk(&version.name, self.target.subresource)
    }
}

/// A kind as upstream's messages name it.
fn shown(
    GroupVersionKind {
        group,
        version,
        kind,
    }: &GroupVersionKind,
) -> String {
    format!("{group}/{version}, Kind={kind}")
}

/// A `Scale` has one version only.
#[derive(Debug)]
struct ScaleForm;

impl Versions for ScaleForm {
    fn version(&self, api_version: &str) -> Option<fields::Version<'_>> {
        let schema = Some(scale::schema());
        (api_version == scale::API_VERSION).then_some(fields::Version { schema })
    }

    fn convert(&self, object: &Value, _api_version: &str) -> Value {
        object.clone()
    }
}

fn unreadable(stored: &Object) -> Rejection {
    Rejection::Internal(format!(
        "failed to decode managed fields of {}",
        stored.key.name
    ))
}

/// An apply needs a field manager.
fn manager_required() -> Rejection {
    let why = "is required for apply patch";
    Rejection::Invalid {
        group: "meta.k8s.io".into(),
        kind: "PatchOptions".into(),
        name: "".into(),
        causes: vec![crate::rejection::FieldCause::required("fieldManager", why)],
    }
}
