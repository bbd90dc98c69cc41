//! Decodes what was sent as its kind's decoder does, and says what that dropped.

use super::Context;
use crate::command::FieldValidation;
use crate::custom;
use crate::document::write_whole_numbers;
use crate::kind::{Kind, KindRef, Kinds, Shape, Subresource, Version};
use crate::object::Object;
use crate::schema::Schema;
use crate::{Form, Rejection, scale, schema};
use serde_json::{Map, Value};

/// Removes unknown fields, then refuses or warns of them as the client asked.
///
/// # Errors
///
/// Why the document cannot be read.
pub(super) fn prune(
    context: &Context<'_>,
    served: (&KindRef, &Version),
    stored: Option<&Object>,
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let unknown = read(&context.state.kinds, served, stored, document)?;
    judge(&unknown, validation)
}

/// Decodes a document as its kind's decoder does, with its nulls, defaults and quantities, and returns the
/// paths of the unknown fields that it removed. Values that earlier releases accepted and stored may stay
/// as they are.
///
/// # Errors
///
/// Why the document cannot be read.
pub(super) fn read(
    kinds: &Kinds,
    (kind, version): (&KindRef, &Version),
    stored: Option<&Object>,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if kind.strategy.shape == Shape::Definition {
        unknown = custom::decode_definition(document)?;
    }
    let stored = || Some(Form::of(kinds, kind, &version.name).document(stored?));
    let removed = match kinds.schema(kind, &version.name) {
        Some(schema) if kind.is_custom() => decode_custom(schema, document)?,
        Some(schema) => decode_builtin(schema, stored, document)?,
        None => Vec::new(),
    };
    unknown.extend(removed);
    if kind.is_custom() {
        write_whole_numbers(document);
    }
    Ok(unknown)
}

fn decode_custom(schema: &Schema, document: &mut Value) -> Result<Vec<String>, String> {
    if let Some(wrong) = schema::metadata_causes(document).first() {
        return Err(wrong.message.clone());
    }
    let unknown = schema.prune(document);
    schema.decode_custom(document)?;
    Ok(unknown)
}

fn decode_builtin(
    schema: &Schema,
    stored: impl FnOnce() -> Option<Value>,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let (mut wrong, is_raw) = schema.validate_raw(document);
    if wrong.is_empty() && !is_raw {
        return Ok(Vec::new());
    }
    if !wrong.is_empty()
        && let Some(stored) = stored()
    {
        wrong = schema.validate_change(document, &stored);
    }
    if let Some(wrong) = wrong.first() {
        return Err(wrong.message.clone());
    }
    let unknown = schema.prune(document);
    schema.decode(document);
    Ok(unknown)
}

/// Like [`prune`], for a `Scale`.
pub(super) fn prune_scale(
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let schema = scale::schema();
    if let Some(wrong) = schema.validate(document).first() {
        return Err(wrong.message.clone());
    }
    judge(&schema.prune(document), validation)
}

/// Prunes a document that is posted to an object: an eviction or a binding.
///
/// # Errors
///
/// The document cannot be read as its kind, or strict validation refuses it.
pub fn prune_posted(
    kinds: &Kinds,
    to: Subresource,
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, Rejection> {
    let Some((schema, posted)) = kinds.posted_schema(to).zip(to.posted_gvk()) else {
        return Ok(Vec::new());
    };
    prune_by(
        schema,
        (&posted.kind, &posted.version),
        validation,
        document,
    )
}

/// Prunes a review, which is answered and never stored.
///
/// # Errors
///
/// The document cannot be read as its kind, or strict validation refuses it.
pub fn prune_review(
    kinds: &Kinds,
    kind: &Kind,
    version: &str,
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, Rejection> {
    let Some(schema) = kinds.schema(kind, version) else {
        return Ok(Vec::new());
    };
    prune_by(schema, (&kind.kind, version), validation, document)
}

fn prune_by(
    schema: &Schema,
    (kind, version): (&str, &str),
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, Rejection> {
    if let Some(wrong) = schema.validate(document).first() {
        return Err(Rejection::unreadable(kind, version, &wrong.message));
    }
    let unknown = schema.prune(document);
    schema.decode(document);
    judge(&unknown, validation).map_err(|why| Rejection::unreadable(kind, version, &why))
}

/// What a client that asked for strict validation is told, given everything that was found.
pub fn strict_decoding_error(findings: &[String]) -> String {
    format!("strict decoding error: {}", findings.join(", "))
}

/// Turns unknown fields into a refusal or into warnings.
fn judge(unknown: &[String], validation: FieldValidation) -> Result<Vec<String>, String> {
    let unknown = unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""));
    let unknown: Vec<String> = unknown.collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => Err(strict_decoding_error(&unknown)),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// Treats nulls as upstream's decoder does: in an owner reference as an absent member, in the list of
/// finalizers as an empty name.
pub(super) fn nulls(metadata: &mut Map<String, Value>) {
    let owners = metadata.get_mut("ownerReferences");
    let owners = owners.and_then(Value::as_array_mut).into_iter().flatten();
    for owner in owners.filter_map(Value::as_object_mut) {
        owner.retain(|_, member| !member.is_null());
    }
    let finalizers = metadata.get_mut("finalizers");
    let finalizers = finalizers.and_then(Value::as_array_mut);
    let nulls = finalizers.into_iter().flatten().filter(|one| one.is_null());
    for finalizer in nulls {
        *finalizer = Value::from("");
    }
}
