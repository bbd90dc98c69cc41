//! The `create` intent: server-owned fields, the name, the namespace check and the type's rules.

mod creation;
mod name;
#[cfg(test)]
mod tests;
mod workload;

use super::conditions::{self, Condition};
use super::managed_fields::Ownership;
use super::{Context, Strictness, claim, definition, namespace, namespace_of_new, volume};
use crate::command::Create;
use crate::kind::{Generation, Kind, Shape, Version};
use crate::object::{Name, ObjectKey};
use crate::{Decision, Rejection, Time};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const SERVER_OWNED: [&str; 4] = [
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "resourceVersion",
];

pub(super) use creation::create_with;

pub(crate) fn create(context: Context<'_>, intent: Create) -> Result<Decision, Rejection> {
    create_with(context, intent, Ownership::Kept)
}

/// Checks that objects may be created here, and returns the key to create under; it shares its parts with
/// existing keys. Source of the first refusal: the finalizer of definitions.
fn admit(
    context: &Context<'_>,
    kind: &Kind,
    key: &ObjectKey,
    name: &str,
) -> Result<ObjectKey, Rejection> {
    if kind.is_terminating() {
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
        if !key.namespace.is_empty() {
            return Err(Rejection::BadRequest(format!(
                "{} are not in a namespace: the key must name none, and not {:?}",
                key.resource, &*key.namespace
            )));
        }
        return Ok(collection(&key.namespace));
    }
    let namespace = namespace_of_new(context.state, key, name)?;
    Ok(collection(&namespace.key.name))
}

/// Writes the metadata that only the server sets, without the uid, which depends on the name.
fn own(context: &Context<'_>, kind: &Kind, key: &ObjectKey, metadata: &mut Map<String, Value>) {
    metadata.retain(|field, _| !SERVER_OWNED.contains(&field.as_str()));
    metadata.insert(
        "creationTimestamp".into(),
        context.envelope.time.to_rfc3339().into(),
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

/// Applies the type's strategy to a new object.
fn shape(context: &Context<'_>, kind: &Kind, version: &Version, document: &mut Value) {
    if kind.strategy.shape == Shape::Claim {
        claim::drop_sources(None, document);
    }
    let Some(root) = document.as_object_mut() else {
        return;
    };
    if context.strictness == Strictness::Draft {
        return shape_draft(kind, document);
    }
    if version.has_status() && !kind.strategy.keeps_status {
        root.remove("status");
    }
    match kind.strategy.shape {
        Shape::Plain | Shape::Job | Shape::DaemonSet | Shape::Claim | Shape::Service => {}
        Shape::Namespace => namespace::shape(root),
        Shape::Definition => definition::complete(context, document),
        Shape::Pod => {
            let status = workload::pending(root, &context.envelope.time.to_rfc3339());
            root.insert("status".into(), status);
        }
        Shape::Volume => {
            let status = volume::pending(context.envelope.time);
            root.insert("status".into(), status);
        }
        Shape::ApiService => tell_local(document, context.envelope.time),
        Shape::CertificateRequest => name_requester(context, root),
    }
}

/// Applies only what upstream treats as defaulting: mutating admission runs after that, but before the type's
/// strategy.
pub(super) fn shape_draft(kind: &Kind, document: &mut Value) {
    match (kind.strategy.shape, document.as_object_mut()) {
        (Shape::Namespace, Some(root)) => namespace::label(root),
        (Shape::Definition, _) => definition::default_names(document),
        _ => {}
    }
}

/// What this server serves itself is available at once. Source: `apiServerStrategy.PrepareForCreate` and
/// `NewLocalAvailableAPIServiceCondition` of upstream's `kube-aggregator`.
fn tell_local(document: &mut Value, now: Time) {
    let elsewhere = document.pointer("/spec/service");
    if elsewhere.is_none_or(Value::is_null) {
        let why = "Local APIServices are always available";
        let local = Condition::new_true("Available", "Local", why);
        conditions::set(document, &local, &now.to_rfc3339());
    }
}

/// Records who requests a certificate: what the server knows, whatever the document says.
fn name_requester(context: &Context<'_>, root: &mut Map<String, Value>) {
    let Some(spec) = root.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let actor = &context.envelope.actor;
    spec.insert("username".into(), json!(&*actor.user));
    spec.remove("uid");
    if !actor.uid.is_empty() {
        spec.insert("uid".into(), json!(&*actor.uid));
    }
    let groups: Vec<&str> = actor.groups.iter().map(|group| &**group).collect();
    spec.insert("groups".into(), json!(groups));
    spec.remove("extra");
}
