//! Between the real world and the naive one: the same objects, the same requests.

use crate::reference::{Kind, Policy, Reference, Thing, World};
use hindsight_core::command::{
    Create, Delete, FieldValidation, Intent, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::{GroupResource, ObjectKey, Rule, State};
use serde_json::{Value, json};

fn thing(object: &hindsight_core::Object) -> Thing {
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
    }
}

/// Creates an object of this kind.
pub fn create(kind: Kind, namespace: &str, object: Value) -> Intent {
    Intent::Create(Create {
        key: key(kind, namespace, ""),
        version: "v1".into(),
        object,
        validation: FieldValidation::Ignore,
    })
}

/// Creates a namespace.
pub fn create_namespace(name: &str) -> Intent {
    Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Ignore,
    })
}

/// A client's delete.
pub fn delete(key: ObjectKey, policy: Option<Policy>) -> Intent {
    Intent::Delete(Delete {
        target: Target {
            key,
            uid: None,
            revision: None,
        },
        version: "v1".into(),
        orphan_dependents: None,
        propagation: policy.map(propagation),
        grace_period_seconds: None,
        rule: Rule::Requested,
    })
}

/// A client's merge patch.
pub fn patch(key: ObjectKey, change: Value) -> Intent {
    Intent::Patch(PatchObject {
        key,
        version: "v1".into(),
        subresource: "".into(),
        patch: Patch::Merge(change),
        validation: FieldValidation::Ignore,
    })
}

/// Where a thing lives.
pub fn key(kind: Kind, namespace: &str, name: &str) -> ObjectKey {
    let group = match kind {
        Kind::PriorityClass => "scheduling.k8s.io",
        Kind::ConfigMap | Kind::Unknown => "",
    };
    ObjectKey::new(GroupResource::new(group, resource(kind)), namespace, name)
}

/// The real world as the naive one has it, sorted.
pub fn world(state: &State) -> World {
    let mut things: Vec<Thing> = state
        .objects()
        .filter(|object| {
            matches!(
                &*object.key.resource.resource,
                "configmaps" | "priorityclasses"
            )
        })
        .map(|object| thing(object))
        .collect();
    things.sort();
    World { things }
}

fn resource(kind: Kind) -> &'static str {
    match kind {
        Kind::ConfigMap => "configmaps",
        Kind::PriorityClass => "priorityclasses",
        Kind::Unknown => "unknowns",
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "ConfigMap" => Kind::ConfigMap,
        "PriorityClass" => Kind::PriorityClass,
        _ => Kind::Unknown,
    }
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
        let (version, kind) = match owner.kind {
            Kind::ConfigMap => ("v1", "ConfigMap"),
            Kind::PriorityClass => ("scheduling.k8s.io/v1", "PriorityClass"),
            Kind::Unknown => ("example.com/v1", "Unknown"),
        };
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
