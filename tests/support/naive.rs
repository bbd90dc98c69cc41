//! Translates between the real world and the naive one: the same objects, the same requests.

use crate::reference::{Kind, Policy, Reference, Short, Thing, World};
use hindsight_core::command::{
    Create, Delete, FieldValidation, Intent, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{GroupResource, Object, ObjectKey, Rule, State};
use serde_json::{Value, json};
use std::sync::Arc;

fn holds_token(namespace: &Object) -> bool {
    let tokens = &namespace.document()["spec"]["finalizers"];
    tokens
        .as_array()
        .is_some_and(|list| list.contains(&json!("kubernetes")))
}

/// An object as the naive world represents it.
pub(crate) fn thing(object: &Object) -> Thing {
    let owner = |one: &hindsight_core::OwnerReference| Reference {
        kind: kind(&one.kind),
        name: one.name.to_string(),
        uid: one.uid.to_string(),
        blocks: one.blocks(),
    };
    let owners = object.meta.owner_references.iter().map(owner);
    Thing {
        uid: object.meta.uid.to_string(),
        kind: kind(&object.type_meta.kind),
        namespace: object.key.namespace.to_string(),
        name: object.key.name.to_string(),
        finalizers: object
            .meta
            .finalizers
            .iter()
            .map(ToString::to_string)
            .collect(),
        owners: owners.collect(),
        deleting: object.is_deleting(),
        token: &*object.type_meta.kind == "Namespace" && holds_token(object),
        short: if object.key.is_definition() {
            short(object)
        } else {
            Short::Unwanted
        },
    }
}

fn short(definition: &Object) -> Short {
    let document = definition.document();
    if document["spec"]["names"]["shortNames"].is_null() {
        Short::Unwanted
    } else if document["status"]["acceptedNames"]["shortNames"].is_null() {
        Short::Wanted
    } else {
        Short::Held
    }
}

/// A create of an object of this kind, with the members that the kind requires.
pub fn create(kind: Kind, namespace: &str, object: Value) -> Intent {
    Intent::Create(Create {
        key: key(kind, namespace, ""),
        version: "v1".into(),
        object: whole(kind, object),
        validation: FieldValidation::Ignore,
    })
}

fn whole(kind: Kind, mut object: Value) -> Value {
    let (version, name, ..) = spelled(kind);
    if kind.definition().is_some() {
        object["apiVersion"] = version.into();
        object["kind"] = name.into();
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if let Some(spec) = spec(kind, name).filter(|_| object["spec"].is_null()) {
        object["spec"] = spec;
    }
    object
}

/// The smallest valid spec of a kind.
pub fn spec(kind: Kind, name: &str) -> Option<Value> {
    match kind {
        Kind::Pod => Some(json!({"restartPolicy": "Never",
            "containers": [{"name": "main", "image": "x"}]})),
        Kind::Definition => {
            let kind = KINDS
                .into_iter()
                .find(|kind| kind.definition() == Some(name));
            kind.map(defined)
        }
        _ => None,
    }
}

fn defined(kind: Kind) -> Value {
    let (_, name, group, plural) = spelled(kind);
    let scope = if kind.is_namespaced() {
        "Namespaced"
    } else {
        "Cluster"
    };
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"group": group, "scope": scope, "names": {"plural": plural, "kind": name},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}}]})
}

/// A create of a namespace.
pub fn create_namespace(name: &str) -> Intent {
    create(Kind::Namespace, "", json!({"metadata": {"name": name}}))
}

/// A client's delete.
pub fn delete(key: ObjectKey, policy: Option<Policy>) -> Intent {
    Intent::Delete(Delete {
        propagation: policy.map(propagation),
        ..Delete::new(Target::any(key), "v1".into(), Rule::Requested)
    })
}

/// A client's merge patch.
pub fn patch(key: ObjectKey, change: Value) -> Intent {
    Intent::Patch(PatchObject {
        key,
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(change),
        validation: FieldValidation::Ignore,
    })
}

/// The key of a thing.
pub fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    let (_, _, group, resource) = spelled(kind);
    ObjectKey::new(GroupResource::new(group, resource), namespace, name)
}

/// The real world as the naive one represents it, sorted.
pub fn world(state: &State) -> World {
    world_by(state, thing)
}

/// The same with another way to represent an object.
pub(crate) fn world_by(state: &State, thing: impl Fn(&Object) -> Thing) -> World {
    let known = |object: &&Arc<Object>| kind(&object.type_meta.kind) != Kind::Unknown;
    let objects = state.objects().filter(known);
    let mut things: Vec<Thing> = objects.map(|object| thing(object)).collect();
    things.sort();
    World { things }
}

const KINDS: [Kind; 9] = [
    Kind::ConfigMap,
    Kind::Pod,
    Kind::Widget,
    Kind::PriorityClass,
    Kind::Gadget,
    Kind::Gizmo,
    Kind::Namespace,
    Kind::Definition,
    Kind::Unknown,
];

/// Version, kind, group and resource.
pub const fn spelled(kind: Kind) -> (&'static str, &'static str, &'static str, &'static str) {
    const EXTENSIONS: &str = "apiextensions.k8s.io";
    match kind {
        Kind::ConfigMap => ("v1", "ConfigMap", "", "configmaps"),
        Kind::Pod => ("v1", "Pod", "", "pods"),
        Kind::Namespace => ("v1", "Namespace", "", "namespaces"),
        Kind::PriorityClass => (
            "scheduling.k8s.io/v1",
            "PriorityClass",
            "scheduling.k8s.io",
            "priorityclasses",
        ),
        Kind::Widget => ("example.com/v1", "Widget", "example.com", "widgets"),
        Kind::Gadget => ("example.com/v1", "Gadget", "example.com", "gadgets"),
        Kind::Gizmo => ("example.com/v1", "Gizmo", "example.com", "gizmos"),
        Kind::Definition => (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            EXTENSIONS,
            "customresourcedefinitions",
        ),
        Kind::Unknown => ("example.com/v1", "Unknown", "", "unknowns"),
    }
}

/// The kind with this name.
pub(crate) fn kind(name: &str) -> Kind {
    let found = KINDS.into_iter().find(|kind| spelled(*kind).1 == name);
    found.unwrap_or(Kind::Unknown)
}

/// Finalizers as a merge patch sets them.
pub fn list(finalizers: &[String]) -> Value {
    if finalizers.is_empty() {
        Value::Null
    } else {
        json!(finalizers)
    }
}

/// Owner references as a merge patch sets them.
pub fn references(owners: &[Reference]) -> Value {
    let one = |owner: &Reference| {
        let (version, kind, ..) = spelled(owner.kind);
        json!({"apiVersion": version, "kind": kind, "name": owner.name, "uid": owner.uid,
            "blockOwnerDeletion": owner.blocks})
    };
    if owners.is_empty() {
        Value::Null
    } else {
        owners.iter().map(one).collect()
    }
}

const fn propagation(policy: Policy) -> Propagation {
    match policy {
        Policy::Background => Propagation::Background,
        Policy::Foreground => Propagation::Foreground,
        Policy::Orphan => Propagation::Orphan,
    }
}
