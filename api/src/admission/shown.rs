//! Objects as webhooks see them: in the version that they asked for, with the revision that is
//! stored, and without what the server has yet to fill in.

use super::subject::{Operation, Subject};
use hindsight_core::convert;
use hindsight_core::kind::{KindRef, Subresource, Version};
use hindsight_core::object::NAMESPACE_LABEL;
use hindsight_core::scale::{scale_for_admission, scale_with_owners};
use hindsight_core::{Command, Decision, Intent, Object, metadata_mut};
use serde_json::{Map, Value};

/// Fields of a new object that only the server sets. Mutating admission comes before that.
const FILLED_IN: [&str; 3] = ["uid", "creationTimestamp", "generation"];

/// The object that a decision results in.
pub(super) fn new(subject: &Subject<'_>, decision: &Decision) -> Value {
    show(subject, &as_stored(subject, decision))
}

/// The same object with the revision that was stored before the write.
fn as_stored(subject: &Subject<'_>, decision: &Decision) -> Object {
    let stored = subject.old.as_ref().map(|old| old.revision);
    decision.outcome.object().shown_at(stored)
}

/// The object that a decision results in, as mutating admission sees it.
pub(super) fn draft(subject: &Subject<'_>, command: &Command, decision: &Decision) -> Value {
    if let Some(version) = scaled(subject) {
        let stored = as_stored(subject, decision);
        let scale = scale_with_owners(version, &subject.form.object(&stored));
        return scale.unwrap_or_default();
    }
    let mut document = new(subject, decision);
    if subject.operation != Operation::Create {
        number(command, &mut document);
        return document;
    }
    let named = match &command.intent {
        Intent::Create(create) => create.object.pointer("/metadata/name").is_some(),
        _ => true,
    };
    if let Some(metadata) = metadata_mut(&mut document) {
        for field in FILLED_IN {
            metadata.remove(field);
        }
        if !named {
            metadata.remove("name");
            unlabel(subject, metadata);
        }
    }
    document
}

/// Puts the `resourceVersion` that a replacement names into the document: it is compared only after mutating
/// webhooks were asked.
fn number(command: &Command, document: &mut Value) {
    let Intent::Update(update) = &command.intent else {
        return;
    };
    let sent = update.object.pointer("/metadata/resourceVersion");
    let named = sent.and_then(Value::as_str).filter(|sent| !sent.is_empty());
    if let Some((metadata, named)) = metadata_mut(document).zip(named) {
        metadata.insert("resourceVersion".into(), named.into());
    }
}

/// Removes the label that holds a namespace's name, which is set once the name is known.
fn unlabel(subject: &Subject<'_>, metadata: &mut Map<String, Value>) {
    let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
    let Some(labels) = labels.filter(|_| subject.is_namespace()) else {
        return;
    };
    labels.remove(NAMESPACE_LABEL);
    if labels.is_empty() {
        metadata.remove("labels");
    }
}

/// The object before the write.
pub(super) fn old(subject: &Subject<'_>) -> Option<Value> {
    let old = subject.old.as_ref().filter(|_| subject.posted.is_none())?;
    Some(show(subject, old))
}

fn show(subject: &Subject<'_>, object: &Object) -> Value {
    match scaled(subject) {
        Some(version) => {
            scale_for_admission(version, &subject.form.object(object)).unwrap_or_default()
        }
        None => subject.form.document(object),
    }
}

/// The version of the object, if its `Scale` is written.
fn scaled<'a>(subject: &'a Subject<'_>) -> Option<&'a Version> {
    let version = subject.kind.served(&subject.version);
    version.filter(|_| subject.subresource == Some(Subresource::Scale))
}

/// The document converted to this version of this kind.
pub(super) fn in_version(
    subject: &Subject<'_>,
    mut document: Value,
    (kind, version): (&KindRef, &str),
) -> Value {
    let is_scale = subject.subresource == Some(Subresource::Scale);
    let is_the_object = !is_scale && subject.posted.is_none();
    if is_the_object {
        convert::to_version(kind, version, &mut document);
    }
    document
}

/// The name that the document gives itself.
pub(super) fn name(document: &Value) -> &str {
    let name = document.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}
