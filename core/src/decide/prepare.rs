//! The steps that creates and updates share: defaults, validation and their warnings.

use super::bound::bytes_max_beside;
use super::demands::Demands;
use super::managed_fields::WriteTarget;
use super::{Context, Strictness, subsets};
use crate::custom;
use crate::document::{metadata_mut, object_or_insert, write_whole_numbers};
use crate::kind::{Kind, KindRef, Kinds, Shape, Subresource, Version};
use crate::object::{Name, Object, ObjectKey};
use crate::rejection::{CauseList, FieldCause};
use crate::{Form, Rejection, State, defaults, validate};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

const DUPLICATE_OWNERS: &str = "; API server dedups owner references in 1.20+, and may reject such \
     requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

const LONG_RULES: &str = "to check it takes longer than one turn of the writer";

/// The kind of a command's target, and the version that the command uses.
pub(super) fn kind<'a>(
    context: &Context<'a>,
    key: &ObjectKey,
    version: &str,
) -> Result<(&'a KindRef, &'a Version), Rejection> {
    let found = context.state.kinds.resolve(&key.resource, version);
    let (kind, version) = found.ok_or_else(|| Rejection::not_found(key))?;
    match kind.unconvertible(&version.name) {
        Some(why) => Err(Rejection::Internal(why)),
        None => Ok((kind, version)),
    }
}

/// Refuses a document that states another kind than the one it is sent as; for a subresource, that is the
/// kind posted to it.
pub(super) fn same_kind(
    context: &Context<'_>,
    (kind, version): (&Kind, &Version),
    subresource: Option<Subresource>,
    document: &Value,
) -> Result<(), Rejection> {
    let stated_kind = document.get("kind").and_then(Value::as_str);
    let stated_kind = stated_kind.filter(|stated_kind| !stated_kind.is_empty());
    // A kind that a webhook set is not the client's fault.
    let (Some(stated_kind), Some(root), false) =
        (stated_kind, document.as_object(), context.is_mutated)
    else {
        return Ok(());
    };
    if subresource.is_none() && *stated_kind == *kind.kind {
        return Ok(());
    }
    let sent_as = kind.document_gvk(&version.name, subresource);
    if *stated_kind == *sent_as.kind {
        return Ok(());
    }
    let is_custom = kind.is_custom() && subresource != Some(Subresource::Scale);
    Err(Rejection::other_kind(root, &sent_as, is_custom))
}

/// The `metadata` of a document, created if absent or null.
pub(super) fn metadata(document: &mut Value) -> Result<&mut Map<String, Value>, Rejection> {
    let root = document
        .as_object_mut()
        .ok_or_else(|| Rejection::BadRequest("the object is not a JSON object".into()))?;
    object_or_insert(root, "metadata")
        .ok_or_else(|| Rejection::BadRequest("metadata is not a JSON object".into()))
}

/// Warnings of the kind's strategy about a valid document, and the stored object and its document if there are; none
/// for mutating admission, which runs earlier.
pub(super) fn strategy_warnings(
    context: &Context<'_>,
    kind: &Kind,
    stored: Option<(&Object, &Value)>,
    document: &Value,
) -> Vec<String> {
    if context.strictness == Strictness::Draft {
        return Vec::new();
    }
    if kind.strategy.shape == Shape::Definition {
        return custom::warnings(document);
    }
    if !kind.is_custom() {
        return validate::warnings(kind, document, stored.map(|(_, old)| old));
    }
    let held = stored.map_or(&[][..], |(stored, _)| &stored.meta.finalizers);
    let metadata = document.get("metadata").and_then(Value::as_object);
    metadata.map_or_else(Vec::new, |metadata| {
        validate::finalizer_warnings(held, metadata)
    })
}

/// The stored document, as writes are compared with it. It is decoded and completed like one that was sent:
/// otherwise a null that earlier releases accepted, or a default that was added later, would count as a
/// change.
pub(super) fn stored(kinds: &Kinds, kind: &KindRef, version: &Version, object: &Object) -> Value {
    if kind.is_custom() {
        let mut document = Form::of(kinds, kind, &version.name).document(object);
        if let Some(schema) = kinds.schema(kind, &version.name) {
            schema.tidy(&mut document);
        }
        write_whole_numbers(&mut document);
        return document;
    }
    let mut document = object.document();
    let stored = kind.storage_version();
    let schema = stored.and_then(|version| kinds.schema(kind, &version.name));
    if let Some(schema) = schema {
        schema.decode(&mut document);
    }
    let bytes_max = bytes_max_beside(object.body.len());
    defaults::apply_within(kind, &mut document, bytes_max);
    canonicalize(kind, &mut document);
    document
}

/// Brings a valid document into the canonical form of its kind, where several forms mean the same.
pub(super) fn canonicalize(kind: &Kind, document: &mut Value) {
    let of = (&*kind.resource.group, &*kind.resource.resource);
    if of == ("", "endpoints") {
        subsets::repack(document);
    }
}

/// Fills in the defaults of a built-in kind, then returns everything that is wrong with the document. For a
/// custom kind, faults that existed before and did not change are ignored. Too large if there is no room for
/// the defaults; stale, under the name of this key, if its rules need more than this turn.
pub(super) fn complete(
    target: &WriteTarget<'_>,
    key: &ObjectKey,
    document: &mut Value,
    old: Option<&Value>,
) -> Result<Vec<FieldCause>, Rejection> {
    let WriteTarget {
        context,
        kind,
        version,
        subresource,
    } = target;
    let is_status = *subresource == Some(Subresource::Status);
    if !kind.is_custom() {
        let stored = old.and_then(|_| context.state.get(key));
        let bytes_max = bytes_max_beside(stored.map_or(0, |stored| stored.body.len()));
        if !defaults::apply_within(kind, document, bytes_max) {
            context.refuse_overfilled()?;
        }
    }
    drop_empty(document);
    let mut causes = document
        .get("metadata")
        .and_then(Value::as_object)
        .map_or_else(Vec::new, |metadata| {
            validate::metadata(kind, metadata, old.is_none())
        });
    causes.extend(validate::object(kind, document, old));
    if let Some(demands) = Demands::of(target) {
        let wrong = demands.unsatisfied(context, document, old);
        causes.extend(wrong.ok_or_else(|| Rejection::stale(key, LONG_RULES))?);
    }
    if let Some(paths) = version.scale.as_ref().filter(|_| kind.is_custom()) {
        causes.extend(custom::wrong_counts(paths, document, is_status));
    }
    if kind.strategy.shape == Shape::Definition {
        causes.extend(old.and_then(|old| about_instances(context.state, document, old)));
    }
    Ok(causes)
}

/// What keeps a definition with instances from being stored.
fn about_instances(state: &State, definition: &Value, old: &Value) -> Option<FieldCause> {
    let cause = custom::of_instances(definition, old)?;
    let name = definition
        .pointer("/metadata/name")
        .and_then(Value::as_str)?;
    let key = ObjectKey::definition(name);
    let has_instances = state.instances(&key).next().is_some();
    has_instances.then_some(cause)
}

/// Drops empty lists and maps from the metadata, as in every answer of upstream's, and turns null labels
/// and annotations into empty ones.
pub(super) fn drop_empty(document: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(_) | Value::Bool(_) | Value::Number(_) => false,
    };
    let Some(metadata) = metadata_mut(document) else {
        return;
    };
    metadata.retain(|name, value| {
        if matches!(name.as_str(), "labels" | "annotations") {
            let texts = value.as_object_mut().into_iter().flatten();
            for (_, text) in texts.filter(|(_, text)| text.is_null()) {
                *text = Value::from("");
            }
        }
        !is_empty(value)
    });
}

/// Drops exact duplicates of owner references, with a warning. A client's document is checked before and
/// after admission, a patch only by its outcome.
pub(super) fn dedup_owners(
    metadata: &mut Map<String, Value>,
    is_admitted: bool,
    warnings: &mut Vec<String>,
) {
    let Some(list) = metadata
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    if list.len() < 2 {
        return;
    }
    let mut seen = BTreeSet::new();
    let mut repeated: Vec<String> = Vec::new();
    list.retain(|reference| {
        let is_new = seen.insert(reference.to_string());
        if !is_new {
            let uid = reference.get("uid").and_then(Value::as_str);
            repeated.push(uid.unwrap_or_default().to_owned());
        }
        is_new
    });
    if !repeated.is_empty() {
        let when = if is_admitted {
            " after mutating admission happens"
        } else {
            ""
        };
        let uids = repeated.join(", ");
        warnings.push(format!(
            ".metadata.ownerReferences contains duplicate entries{when}{DUPLICATE_OWNERS}{uids}"
        ));
    }
}

/// Refuses with every cause, if there is any.
pub(super) fn refuse(kind: &Kind, name: &str, causes: Vec<FieldCause>) -> Result<(), Rejection> {
    if causes.is_empty() {
        return Ok(());
    }
    let mut findings = CauseList::default();
    findings.extend(causes);
    Err(Rejection::Invalid {
        group: Arc::clone(&kind.resource.group),
        kind: Arc::clone(&kind.kind),
        name: Name::from(name),
        causes: findings.into_causes(),
    })
}

/// The text of a member; empty if it is absent or not a string.
pub(super) fn text<'a>(members: &'a Map<String, Value>, member: &str) -> &'a str {
    members
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
