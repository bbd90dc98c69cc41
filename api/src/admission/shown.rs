//! Objects as webhooks see them: in the version that they asked for, with the revision that is
//! stored, and without what the server has yet to fill in.

use super::hooks::labels;
use super::subject::{Operation, Subject};
use hindsight_core::convert;
use hindsight_core::kind::{KindRef, Subresource, Version};
use hindsight_core::object::{NAMESPACE_LABEL, Name};
use hindsight_core::scale::{scale_for_admission, scale_with_owners};
use hindsight_core::{Command, Decision, Intent, Object, metadata_mut};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields of a new object that only the server sets. Mutating admission comes before that.
const FILLED_IN: [&str; 3] = ["uid", "creationTimestamp", "generation"];

/// The object that a decision results in.
pub(super) fn new(subject: &Subject, decision: &Decision) -> Value {
    show(subject, &as_stored(subject, decision))
}

/// The same object with the revision that was stored before the write.
fn as_stored(subject: &Subject, decision: &Decision) -> Object {
    let stored = subject.old.as_ref().map(|old| old.revision);
    decision.outcome.object().shown_at(stored)
}

/// What mutating admission sees of a command, besides the object that it results in.
pub(super) struct Sent {
    /// Whether a new object comes with its name.
    is_named: bool,
    /// The `resourceVersion` that a replacement names.
    revision: Option<String>,
}

impl Sent {
    pub(super) fn in_command(command: &Command) -> Self {
        let text = |object: &Value| {
            let sent = object.pointer("/metadata/resourceVersion");
            let sent = sent.and_then(Value::as_str).filter(|sent| !sent.is_empty());
            sent.map(str::to_owned)
        };
        Self {
            is_named: match &command.intent {
                Intent::Create(create) => create.object.pointer("/metadata/name").is_some(),
                _ => true,
            },
            revision: match &command.intent {
                Intent::Update(update) => text(&update.object),
                _ => None,
            },
        }
    }
}

/// The object that a decision results in, as mutating admission sees it.
pub(super) fn draft(subject: &Subject, sent: &Sent, decision: &Decision) -> Value {
    if let Some(version) = scaled(subject) {
        let stored = as_stored(subject, decision);
        let scale = scale_with_owners(version, &subject.form.object(&stored));
        return scale.unwrap_or_default();
    }
    let mut document = new(subject, decision);
    if subject.operation != Operation::Create {
        number(sent, &mut document);
        return document;
    }
    if let Some(metadata) = metadata_mut(&mut document) {
        for field in FILLED_IN {
            metadata.remove(field);
        }
        if !sent.is_named {
            metadata.remove("name");
            unlabel(subject, metadata);
        }
    }
    document
}

/// Puts the `resourceVersion` that a replacement names into the document: it is compared only after mutating
/// webhooks were asked.
fn number(sent: &Sent, document: &mut Value) {
    if let Some((metadata, named)) = metadata_mut(document).zip(sent.revision.as_deref()) {
        metadata.insert("resourceVersion".into(), named.into());
    }
}

/// Removes the label that holds a namespace's name, which is set once the name is known.
fn unlabel(subject: &Subject, metadata: &mut Map<String, Value>) {
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
pub(super) fn old(subject: &Subject) -> Option<Value> {
    let old = subject.old.as_ref().filter(|_| subject.posted.is_none())?;
    Some(show(subject, old))
}

/// Its labels.
pub(super) fn old_labels(subject: &Subject) -> Option<Arc<BTreeMap<Name, Name>>> {
    if scaled(subject).is_some() {
        return old(subject).map(|scale| Arc::new(labels(&scale)));
    }
    let old = subject.old.as_ref().filter(|_| subject.posted.is_none())?;
    Some(Arc::clone(&old.meta.labels))
}

fn show(subject: &Subject, object: &Object) -> Value {
    match scaled(subject) {
        Some(version) => {
            scale_for_admission(version, &subject.form.object(object)).unwrap_or_default()
        }
        None => subject.form.document(object),
    }
}

/// The version of the object, if its `Scale` is written.
fn scaled(subject: &Subject) -> Option<&Arc<Version>> {
    let version = subject.kind.served(&subject.version);
    version.filter(|_| subject.subresource == Some(Subresource::Scale))
}

/// The document converted to this version of this kind.
pub(super) fn in_version(
    subject: &Subject,
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
