//! What creates and updates share: defaults, pruning, validation, and the first warnings.

use super::{Context, Strictness};
use crate::command::FieldValidation;
use crate::custom;
use crate::document::write_whole_numbers;
use crate::kind::{Kind, KindRef, Kinds, Shape, Subresource, Version};
use crate::object::{Name, Object};
use crate::rejection::{FieldCause, Findings};
use crate::schema::Schema;
use crate::{Form, Rejection, defaults, scale, schema, validate};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const DUPLICATE_OWNERS: &str = "; API server dedups owner references in 1.20+, and may reject such \
     requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

/// The kind of a command's target, in the version that it speaks.
pub(super) fn kind<'a>(
    context: &Context<'a>,
    key: &crate::ObjectKey,
    version: &str,
) -> Result<(&'a KindRef, &'a Version), Rejection> {
    let found = context.state.kinds.spoken(&key.resource, version);
    found.ok_or_else(|| Rejection::NotFound {
        resource: key.resource.clone(),
        name: Arc::clone(&key.name),
    })
}

/// What is sent as an object of a kind may say so, and no other; of a subresource it is what that is posted as.
pub(super) fn same_kind(
    context: &Context<'_>,
    (kind, version): (&Kind, &Version),
    subresource: Option<Subresource>,
    document: &Value,
) -> Result<(), Rejection> {
    let said = document.get("kind").and_then(Value::as_str);
    let said = said.filter(|said| !said.is_empty());
    // What a webhook makes of it is not the asker's.
    let (Some(said), Some(root), false) = (said, document.as_object(), context.is_settled) else {
        return Ok(());
    };
    if subresource.is_none() && *said == *kind.kind {
        return Ok(());
    }
    let sent_as = kind.spoken_at(&version.name, subresource);
    if *said == *sent_as.kind {
        return Ok(());
    }
    let is_custom = kind.is_custom() && subresource != Some(Subresource::Scale);
    Err(Rejection::other_kind(root, &sent_as, is_custom))
}

/// The document's metadata, made if it is absent.
pub(super) fn metadata(document: &mut Value) -> Result<&mut Map<String, Value>, Rejection> {
    let root = document
        .as_object_mut()
        .ok_or_else(|| Rejection::BadRequest("the object is not a JSON object".into()))?;
    let metadata = root.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata
        .as_object_mut()
        .ok_or_else(|| Rejection::BadRequest("metadata is not a JSON object".into()))
}

/// Removes what the schema does not know, and refuses it or warns of it as the client asked.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn prune(
    context: &Context<'_>,
    spoken: (&KindRef, &Version),
    stored: Option<&Object>,
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let unknown = read(&context.state.kinds, spoken, stored, document)?;
    judge(&unknown, validation)
}

/// Removes what the schema does not know, and says what that was; nulls, defaults and quantities are then what the
/// kind's decoder makes of them. What earlier releases read, and stored, may stay as it is.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn read(
    kinds: &Kinds,
    (kind, version): (&KindRef, &Version),
    stored: Option<&Object>,
    document: &mut Value,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if kind.strategy.shape == Shape::Definition {
        unknown = custom::decode_schemas(document)?;
    }
    if let Some(schema) = kinds.schema(kind, &version.name) {
        let mut wrong = if kind.is_custom() {
            schema::metadata_causes(document)
        } else {
            schema.validate(document)
        };
        if let Some(stored) = stored.filter(|_| !wrong.is_empty() && !kind.is_custom()) {
            let form = Form::of(kinds, kind, &version.name);
            wrong = schema.validate_change(document, &form.document(stored));
        }
        if let Some(wrong) = wrong.first() {
            return Err(wrong.message.clone());
        }
        unknown.extend(schema.prune(document));
        if kind.is_custom() {
            schema.apply_defaults(document);
        } else {
            schema.decode(document);
        }
    }
    if kind.is_custom() {
        write_whole_numbers(document);
    }
    Ok(unknown)
}

/// What the kind's strategy says of a document that is valid; mutating admission comes before that.
pub(super) fn strategy_warnings(
    context: &Context<'_>,
    kind: &Kind,
    finalizers_held: &[Name],
    document: &Value,
) -> Vec<String> {
    if context.strictness == Strictness::Draft {
        return Vec::new();
    }
    if kind.strategy.shape == Shape::Definition {
        return custom::warnings(document);
    }
    let metadata = document.get("metadata").and_then(Value::as_object);
    metadata.map_or_else(Vec::new, |metadata| {
        validate::finalizer_warnings(kind, finalizers_held, metadata)
    })
}

/// The same of the count that a kind shows.
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

/// The same of what is posted to an object: an eviction, or a binding.
///
/// # Errors
///
/// What cannot be read as its kind, and what a strict client wants refused.
pub fn prune_posted(
    kinds: &Kinds,
    to: Subresource,
    validation: FieldValidation,
    document: &mut Value,
) -> Result<Vec<String>, Rejection> {
    let Some((schema, posted)) = kinds.posted_schema(to).zip(to.posted()) else {
        return Ok(Vec::new());
    };
    prune_by(
        schema,
        (&posted.kind, &posted.version),
        validation,
        document,
    )
}

/// The same of a review, which is answered and never stored.
///
/// # Errors
///
/// What cannot be read as its kind, and what a strict client wants refused.
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

/// What is stored, as writes of it are decided on. It is read and completed as what is sent is: or a null
/// that earlier releases took, or a default that came later, would be a change.
pub(super) fn stored(kinds: &Kinds, kind: &KindRef, version: &Version, object: &Object) -> Value {
    if kind.is_custom() {
        let mut document = Form::of(kinds, kind, &version.name).document(object);
        write_whole_numbers(&mut document);
        return document;
    }
    let mut document = object.document();
    let stored = kind.storage_version();
    let schema = stored.and_then(|version| kinds.schema(kind, &version.name));
    if let Some(schema) = schema {
        schema.decode(&mut document);
    }
    defaults::apply(kind, &mut document);
    document
}

/// What becomes of a document with such paths in it: refused, or these warnings.
fn judge(unknown: &[String], validation: FieldValidation) -> Result<Vec<String>, String> {
    let unknown = unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""));
    let unknown: Vec<String> = unknown.collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(format!("strict decoding error: {}", unknown.join(", ")))
        }
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// Defaults of a built-in kind; then everything that is wrong with the document. What was wrong before and did not
/// change is not held against an object of a custom kind.
pub(super) fn complete(
    context: &Context<'_>,
    kind: &Kind,
    version: &Version,
    document: &mut Value,
    old: Option<&Value>,
) -> Vec<FieldCause> {
    if !kind.is_custom() {
        defaults::apply(kind, document);
    }
    drop_empty(document);
    let schema = context
        .state
        .kinds
        .schema(kind, &version.name)
        .filter(|_| kind.is_custom());
    let mut causes = document
        .get("metadata")
        .and_then(Value::as_object)
        .map_or_else(Vec::new, |metadata| {
            validate::metadata(kind, metadata, old.is_none())
        });
    causes.extend(validate::object(kind, document, old));
    if kind.strategy.shape == Shape::Definition {
        causes.extend(custom::check(document, old));
    }
    if let Some(schema) = schema {
        causes.extend(schema.validate_object(document, old));
    }
    causes
}

/// Empty lists and maps of metadata are absent ones, as in every answer of upstream's, and a label
/// or an annotation that is null is an empty one.
pub(super) fn drop_empty(document: &mut Value) {
    let mut metadata = document.get_mut("metadata").and_then(Value::as_object_mut);
    for texts in ["labels", "annotations"] {
        let texts = metadata
            .as_mut()
            .and_then(|metadata| metadata.get_mut(texts));
        let texts = texts.and_then(Value::as_object_mut).into_iter().flatten();
        for (_, text) in texts.filter(|(_, text)| text.is_null()) {
            *text = Value::from("");
        }
    }
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(_) | Value::Bool(_) | Value::Number(_) => false,
    };
    if let Some(metadata) = metadata {
        metadata.retain(|_, value| !is_empty(value));
    }
}

/// A null is what upstream's decoder makes of it: in a reference an absent member, in the list of
/// finalizers an empty name.
pub(super) fn decode_nulls(metadata: &mut Map<String, Value>) {
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

/// Drops exact repetitions of owner references; says so. What a client sends is looked at before and
/// after admission, of a patch only the outcome.
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

/// A refusal with every cause, or nothing.
pub(super) fn refuse(kind: &Kind, name: &str, causes: Vec<FieldCause>) -> Result<(), Rejection> {
    if causes.is_empty() {
        return Ok(());
    }
    let mut told = Findings::default();
    told.extend(causes);
    Err(Rejection::Invalid {
        group: Arc::clone(&kind.resource.group),
        kind: Arc::clone(&kind.kind),
        name: Name::from(name),
        causes: told.into_causes(),
    })
}

/// A member's text; empty where it is absent or something else.
pub(super) fn text<'a>(members: &'a Map<String, Value>, member: &str) -> &'a str {
    members
        .get(member)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
