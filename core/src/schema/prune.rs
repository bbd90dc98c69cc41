//! Removing what a schema does not know.

use super::{Path, Schema, check, object_meta};
use serde_json::{Map, Value};
use std::sync::Arc;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// How far what is known reaches.
#[derive(Clone, Copy)]
struct Reach {
    /// The value is an object of its own, with metadata.
    resource: bool,
    /// What is unknown stays, because a list of it says so.
    preserve: bool,
}

pub(super) fn inside(schema: &Schema, value: &mut Value) {
    let reach = Reach {
        resource: false,
        preserve: false,
    };
    prune(schema, value, &Path::Root, reach, &mut Vec::new());
}

pub(super) fn root(schema: &Schema, document: &mut Value, removed: &mut Vec<String>) {
    let reach = Reach {
        resource: true,
        preserve: false,
    };
    prune(schema, document, &Path::Root, reach, removed);
}

fn prune(
    schema: &Schema,
    value: &mut Value,
    at: &Path<'_>,
    reach: Reach,
    removed: &mut Vec<String>,
) {
    let preserve = reach.preserve || schema.preserve_unknown;
    let reach = Reach {
        resource: reach.resource || schema.embedded,
        preserve,
    };
    match value {
        Value::Object(members) => object(schema, members, at, reach, removed),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            let inside = Reach {
                resource: false,
                preserve,
            };
            for (index, item) in items.iter_mut().enumerate() {
                prune(schema, item, &at.item(index), inside, removed);
            }
        }
        Value::Number(number) if schema.rewritten && number.is_f64() => {
            if let Some(whole) = check::rewritten(value) {
                *value = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn object(
    schema: &Schema,
    members: &mut Map<String, Value>,
    at: &Path<'_>,
    reach: Reach,
    removed: &mut Vec<String>,
) {
    let meta = |name: &str| reach.resource && META.contains(&name);
    members.retain(|name, _| {
        let known = schema.member(name).is_some() || schema.closed;
        let keep = known || reach.preserve || meta(name);
        if !keep {
            removed.push(at.member(name).to_string());
        }
        keep
    });
    let inside = Reach {
        resource: false,
        preserve: false,
    };
    for (name, member) in members.iter_mut() {
        let at = at.member(name);
        if !meta(name) {
            if let Some(schema) = schema.member(name) {
                prune(schema, member, &at, inside, removed);
            }
        } else if name == "metadata" {
            prune(metadata_of(schema), member, &at, inside, removed);
        }
    }
}

/// A built-in kind says itself what its metadata holds; a custom one cannot.
fn metadata_of(schema: &Schema) -> &Schema {
    let own = schema.properties.get("metadata");
    own.filter(|own| own.properties.contains_key("ownerReferences"))
        .map_or(object_meta(), Arc::as_ref)
}
