//! `create`: server-owned fields, a name, the namespace's consent, the type's rules.

mod definition;
mod name;
#[cfg(test)]
mod tests;

use super::account::{Account, Target};
use super::commit::Written;
use super::delete::decision;
use super::update::{namespace, same_namespace};
use super::{Context, Strictness, namespace_of_new, prepare};
use crate::command::Create;
use crate::kind::{Generation, Kind, Origin, Shape, Version};
use crate::object::{NAMESPACE_TOKEN, Name, ObjectKey, Uid};
use crate::rejection::FieldCause;
use crate::{Decision, Outcome, Rejection, Revision, convert, validate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const SERVER_OWNED: [&str; 4] = [
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
];

pub(crate) use definition::{reconsider, refresh as refresh_definition};

pub(crate) fn create(context: Context<'_>, intent: Create) -> Result<Decision, Rejection> {
    create_with(context, intent, Account::Kept)
}

pub(super) fn create_with(
    context: Context<'_>,
    intent: Create,
    account: Account,
) -> Result<Decision, Rejection> {
    let (kind, version) = prepare::kind(&context, &intent.key, &intent.version)?;
    let mut document = intent.object;
    // What does not decode is refused before anything is looked up.
    let mut warnings = prepare::prune(&context, kind, version, intent.validation, &mut document)?;
    let metadata = prepare::metadata(&mut document)?;
    same_namespace(metadata, &intent.key)?;
    let numbered = has_revision(metadata);
    let sent = metadata.remove("managedFields");
    let mut causes = negative_generation(kind, metadata);
    let collection = admit(&context, kind, &intent.key, wanted_name(metadata))?;
    own(&context, kind, &collection, metadata);
    prepare::decode_nulls(metadata);
    prepare::dedup_owners(metadata, context.is_settled, &mut warnings);
    warnings.extend(validate::finalizer_warnings(kind, &[], metadata));
    let labels = labels_of_nameless(kind, metadata);
    let name::Chosen { key, taken } = name::choose(&context, &collection, metadata);
    shape(&context, kind, version, &mut document);
    convert::to_storage(kind, version, &mut document);
    causes.extend(prepare::complete(
        &context,
        kind,
        version,
        &mut document,
        None,
    ));
    if kind.strategy.shape == Shape::Namespace {
        causes.extend(namespace::new_causes(&document));
    }
    context.refuse(kind, &key.name, causes)?;
    if context.strictness == Strictness::Storage {
        refuse_storage(numbered, taken)?;
    }
    let target = Target {
        context,
        kind,
        version,
        subresource: None,
    };
    match labels {
        Some(labels) => note_unlabelled(&target, &mut document, sent, labels),
        None => target.note_created(&mut document, sent, account),
    }
    let written = Written {
        key,
        document,
        revision: context.state.revision.next(),
    };
    let (object, commit) = context.write(None, written, Vec::new())?;
    Ok(Decision {
        warnings,
        ..decision(vec![commit], Outcome::Created(object))
    })
}

/// A namespace whose name is yet to be made has none to be labelled with when its account is taken.
fn labels_of_nameless(kind: &Kind, metadata: &Map<String, Value>) -> Option<Value> {
    let is_namespace = kind.strategy.shape == Shape::Namespace;
    let is_nameless = is_namespace && prepare::text(metadata, "name").is_empty();
    is_nameless.then(|| metadata.get("labels").cloned().unwrap_or_default())
}

fn note_unlabelled(target: &Target<'_>, document: &mut Value, sent: Option<Value>, labels: Value) {
    let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let shaped = metadata.remove("labels");
    if !labels.is_null() {
        metadata.insert("labels".into(), labels);
    }
    target.note_created(document, sent, Account::Kept);
    let metadata = document.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(metadata), Some(shaped)) = (metadata, shaped) {
        metadata.insert("labels".into(), shaped);
    }
}

/// Upstream's storage refuses a number here, and takes any other text for nothing.
fn has_revision(metadata: &Map<String, Value>) -> bool {
    let revision = Revision::parse(prepare::text(metadata, "resourceVersion"));
    revision.is_some_and(|revision| revision != Revision::ZERO)
}

/// What only storage finds out: after everybody else has said what they have to say.
fn refuse_storage(numbered: bool, taken: Option<Rejection>) -> Result<(), Rejection> {
    if numbered {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Rejection::Internal(why.into()));
    }
    taken.map_or(Ok(()), Err)
}

/// Kinds that count no generations of their own keep what they are sent.
fn negative_generation(kind: &Kind, metadata: &Map<String, Value>) -> Vec<FieldCause> {
    let sent = metadata.get("generation").filter(|sent| {
        kind.strategy.generation == Generation::Uncounted
            && sent.as_i64().is_some_and(|generation| generation < 0)
    });
    let why = "must be greater than or equal to 0";
    let cause = |sent| FieldCause::invalid("metadata.generation", sent, why);
    sent.map(cause).into_iter().collect()
}

/// The name as a refusal tells it: of a name to be made, what it begins with.
fn wanted_name(metadata: &Map<String, Value>) -> &str {
    match prepare::text(metadata, "name") {
        "" => prepare::text(metadata, "generateName"),
        name => name,
    }
}

/// The collection to create in, its parts shared with the objects that are there already.
/// Source of the first refusal: the finalizer of definitions.
fn admit(
    context: &Context<'_>,
    kind: &Kind,
    key: &ObjectKey,
    name: &str,
) -> Result<ObjectKey, Rejection> {
    if matches!(
        kind.origin,
        Origin::Custom {
            terminating: true,
            ..
        }
    ) {
        let reason = "create not allowed while custom resource definition is terminating";
        return Err(Rejection::Forbidden {
            resource: key.resource.clone(),
            name: name.into(),
            reason: reason.into(),
            causes: Vec::new(),
        });
    }
    let collection = |namespace: &Name| ObjectKey {
        resource: kind.stored_under(),
        namespace: Arc::clone(namespace),
        name: Arc::clone(&key.name),
    };
    if !kind.is_namespaced() {
        return Ok(collection(&key.namespace));
    }
    let namespace = namespace_of_new(context.state, key, name)?;
    Ok(collection(&namespace.key.name))
}

/// Fields that only the server writes.
fn own(context: &Context<'_>, kind: &Kind, key: &ObjectKey, metadata: &mut Map<String, Value>) {
    for field in SERVER_OWNED {
        metadata.remove(field);
    }
    let uid = Uid::from_seed(context.command.seed, 0);
    metadata.insert("uid".into(), uid.as_str().into());
    metadata.insert(
        "creationTimestamp".into(),
        context.command.time.to_rfc3339().into(),
    );
    if kind.strategy.generation != Generation::Uncounted {
        metadata.insert("generation".into(), json!(1));
    }
    if kind.is_namespaced() {
        metadata.insert("namespace".into(), Value::from(&*key.namespace));
    } else {
        metadata.remove("namespace");
    }
}

/// What the type's strategy does to a new object.
fn shape(context: &Context<'_>, kind: &Kind, version: &Version, document: &mut Value) {
    let Some(root) = document.as_object_mut() else {
        return;
    };
    if kind.strategy.status_apart && version.has_status() {
        root.remove("status");
    }
    match kind.strategy.shape {
        Shape::Plain => {}
        Shape::Namespace => shape_namespace(root),
        Shape::Definition => definition::complete(context, document),
        Shape::Pod => {
            let status = json!({"phase": "Pending", "qosClass": "BestEffort"});
            root.insert("status".into(), status);
        }
        Shape::CertificateRequest => name_requester(context, root),
    }
}

/// Who asks for a certificate is what the server knows, not what they say.
fn name_requester(context: &Context<'_>, root: &mut Map<String, Value>) {
    let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let actor = &context.command.actor;
    spec.insert("username".into(), json!(&*actor.user));
    spec.insert("uid".into(), json!(&*actor.uid));
    let groups: Vec<&str> = actor.groups.iter().map(|group| &**group).collect();
    spec.insert("groups".into(), json!(groups));
    spec.remove("extra");
}

pub(super) fn shape_namespace(root: &mut Map<String, Value>) {
    let phase = json!({"phase": "Active"});
    root.insert("status".into(), phase);
    let spec = root.entry("spec").or_insert_with(|| json!({}));
    if let Some(spec) = spec.as_object_mut() {
        let tokens = spec.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = tokens
            .as_array_mut()
            .filter(|list| !list.contains(&json!(NAMESPACE_TOKEN)))
        {
            list.push(json!(NAMESPACE_TOKEN));
        }
    }
    label_namespace(root);
}

/// Selectors may rely on a namespace's name being one of its labels.
pub(super) fn label_namespace(root: &mut Map<String, Value>) {
    let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let name = metadata.get("name").cloned().unwrap_or_default();
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert("kubernetes.io/metadata.name".into(), name);
    }
}
