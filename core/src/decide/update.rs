//! The `update` intent: who may overwrite what, and which part a subresource writes.

mod approval;
mod binding;
mod daemon_set;
mod edit;
mod merge;
mod pod;
mod service;
#[cfg(test)]
mod tests;

use super::coordinates::{prepare_for_creation, same_coordinates, same_version};
use super::managed_fields::{Ownership, WriteTarget, put};
use super::{Context, Strictness, create, decode, prepare, warned};
use crate::command::{Create, FieldValidation, Update};
use crate::kind::{Kind, Subresource};
use crate::object::Object;
use crate::rejection::FieldCause;
use crate::{Decision, Rejection, scale};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(crate) fn update(context: Context<'_>, intent: Update) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    prepare::same_kind(
        &context,
        (kind, version),
        intent.subresource,
        &intent.object,
    )?;
    if intent.subresource == Some(Subresource::Binding) {
        return binding::bind(context, kind, intent);
    }
    let target = WriteTarget {
        context,
        kind,
        version,
        subresource: intent.subresource,
    };
    let mut intent = intent;
    let stored = context.state.get(&intent.key).map(|stored| &**stored);
    let pruned = prune(&target, stored, intent.validation, &mut intent.object);
    let unknown = pruned.map_err(|why| {
        let is_scale = target.subresource == Some(Subresource::Scale);
        let (kind, version) = if is_scale {
            (scale::KIND, "v1")
        } else {
            (&*kind.kind, &*version.name)
        };
        Rejection::unreadable(kind, version, &why)
    })?;
    let mut warnings = context.warnings(unknown);
    let decided = replace(target, intent, &mut warnings);
    warned(decided, warnings)
}

/// Replaces the stored object with a document that has been decoded.
fn replace(
    target: WriteTarget<'_>,
    intent: Update,
    warnings: &mut Vec<String>,
) -> Result<Decision, Rejection> {
    let WriteTarget { context, kind, .. } = target;
    let mut sent = intent.object;
    let metadata = prepare::metadata(&mut sent)?;
    same_coordinates(metadata, &intent.key)?;
    decode::nulls(metadata);
    prepare::dedup_owners(metadata, context.is_mutated, warnings);
    let Some(stored) = context.state.get(&intent.key) else {
        let object = sent;
        return missing(context, kind, Update { object, ..intent });
    };
    // The client's preconditions were compared before; admission's object has none of its own.
    if !context.is_mutated {
        same_identity(stored, metadata)?;
    }
    // Mutating admission runs before this check.
    if context.strictness != Strictness::Draft {
        version_allows(kind, stored, metadata, intent.subresource)?;
    }
    let change = PendingWrite { target, stored };
    change.write(sent, Sent::Whole, Ownership::Kept)
}

/// Removes unknown fields, and warns of them or refuses them.
fn prune(
    target: &WriteTarget<'_>,
    stored: Option<&Object>,
    validation: FieldValidation,
    sent: &mut Value,
) -> Result<Vec<String>, String> {
    if target.subresource == Some(Subresource::Scale) {
        return decode::prune_scale(validation, sent);
    }
    let typed = (target.kind, target.version);
    decode::prune(&target.context, typed, stored, validation, sent)
}

/// How the new document was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It was sent as a whole.
    Whole,
    /// It is the outcome of a patch or an apply.
    Patch,
}

/// A stored object and how it is about to change.
pub(super) struct PendingWrite<'a> {
    pub(super) target: WriteTarget<'a>,
    pub(super) stored: &'a Arc<Object>,
}

impl PendingWrite<'_> {
    /// The stored document, as a change of it is decided on.
    fn stored(&self) -> Value {
        let WriteTarget {
            context,
            kind,
            version,
            ..
        } = self.target;
        prepare::stored(&context.state.kinds, kind, version, self.stored)
    }

    /// Removes unknown fields, and warns of them or refuses them.
    pub(super) fn prune(
        &self,
        sent: &mut Value,
        validation: FieldValidation,
    ) -> Result<Vec<String>, String> {
        prune(&self.target, Some(self.stored), validation, sent)
    }
}

fn restore(root: &mut Map<String, Value>, old: &Value, member: &str) {
    match old.get(member) {
        Some(value) => root.insert(member.into(), value.clone()),
        None => root.remove(member),
    };
}

/// Handles an update of an object that does not exist: some types are created by a `PUT`, the rest are
/// refused. A uid is checked first: upstream's storage compares it with that of an empty object.
fn missing(context: Context<'_>, kind: &Kind, intent: Update) -> Result<Decision, Rejection> {
    let key = &intent.key;
    let mut object = intent.object;
    let metadata = prepare::metadata(&mut object)?;
    prepare_for_creation(metadata, key, |uid| other_identity(uid, ""))?;
    if !kind.strategy.create_on_update || intent.subresource.is_some() {
        return Err(Rejection::not_found(key));
    }
    let create = Create {
        key: intent.key,
        version: intent.version,
        object,
        validation: intent.validation,
    };
    create::create(context, create)
}

/// Checks the uid; this comes before the version.
fn same_identity(stored: &Object, metadata: &Map<String, Value>) -> Result<(), Rejection> {
    let uid = prepare::text(metadata, "uid");
    if uid.is_empty() || uid == stored.meta.uid.as_str() {
        return Ok(());
    }
    let reason = other_identity(uid, stored.meta.uid.as_str());
    Err(Rejection::conflict(&stored.key, reason))
}

/// Checks the version; without one, only some types may be overwritten.
fn version_allows(
    kind: &Kind,
    stored: &Object,
    metadata: &Map<String, Value>,
    subresource: Option<Subresource>,
) -> Result<(), Rejection> {
    let version = prepare::text(metadata, "resourceVersion");
    if version.is_empty() || version == "0" {
        let is_scale = subresource == Some(Subresource::Scale);
        let free = kind.strategy.unconditional_update || is_scale;
        let why = "must be specified for an update";
        let cause = FieldCause::invalid("metadata.resourceVersion", &json!(0), why);
        if free {
            return Ok(());
        }
        // Upstream puts the resource here, in place of the kind.
        return Err(Rejection::Invalid {
            group: Arc::clone(&kind.resource.group),
            kind: Arc::clone(&kind.resource.resource),
            name: Arc::clone(&stored.key.name),
            causes: vec![cause],
        });
    }
    same_version(stored, version)
}

/// Message of a uid conflict; `found` is empty if there is no object.
fn other_identity(wanted: &str, found: &str) -> String {
    format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}")
}
