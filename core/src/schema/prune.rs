//! Pruning: removes the members that a schema does not know.

use super::{Path, Schema, check};
use serde_json::{Map, Value};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What may stay in a value besides the members that its schema lists.
#[derive(Clone, Copy)]
struct Reach {
    /// The value is an object with `apiVersion`, `kind` and `metadata` of its own.
    resource: bool,
    /// Unknown members stay, because an enclosing list preserves them.
    preserve: bool,
}

/// Length limit of all reported paths together, in bytes; a path may be much longer than the value
/// at its end.
const PATHS_BYTES_MAX: usize = 4 << 20;

/// The paths of what was removed, up to the limit.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    paths: Vec<String>,
    bytes: usize,
}

impl Removed {
    pub(crate) fn note(&mut self, at: &Path<'_>) {
        if self.bytes < PATHS_BYTES_MAX {
            let path = at.to_string();
            self.bytes += path.len();
            self.paths.push(path);
        }
    }

    pub(crate) fn into_sorted(mut self) -> Vec<String> {
        self.paths.sort();
        self.paths
    }
}

pub(super) fn inside(schema: &Schema, value: &mut Value) {
    let reach = Reach {
        resource: false,
        preserve: false,
    };
    prune(schema, value, &Path::Root, reach, &mut Removed::default());
}

/// Prunes an object. Returns the paths of what was removed, sorted, up to the limit.
pub(super) fn root(schema: &Schema, document: &mut Value) -> Vec<String> {
    let reach = Reach {
        resource: true,
        preserve: false,
    };
    let mut removed = Removed::default();
    prune(schema, document, &Path::Root, reach, &mut removed);
    removed.into_sorted()
}

fn prune(schema: &Schema, value: &mut Value, at: &Path<'_>, reach: Reach, removed: &mut Removed) {
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
    removed: &mut Removed,
) {
    let inside = Reach {
        resource: false,
        preserve: false,
    };
    members.retain(|name, member| {
        let at = at.member(name);
        if reach.resource && META.contains(&name.as_str()) {
            if name == "metadata" {
                prune(schema.of_metadata(), member, &at, inside, removed);
            }
            return true;
        }
        let known = schema.member(name);
        if let Some(schema) = known {
            prune(schema, member, &at, inside, removed);
        }
        let keep = known.is_some() || schema.closed || reach.preserve;
        if !keep {
            removed.note(&at);
        }
        keep
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::parse;
    use serde_json::json;

    #[test]
    fn of_what_was_removed_so_much_is_told() {
        let empty = json!({"type": "object", "properties": {}});
        let schema = parse(&json!({"type": "object", "additionalProperties": empty}));
        let unknown: Map<String, Value> = (0..1_000).map(|n| (format!("u{n}"), json!(0))).collect();
        let long = "l".repeat(1 << 20);
        let mut document = json!({ long.clone(): unknown });
        let removed = root(&schema, &mut document);
        assert_eq!(document, json!({ long: {} }), "all of it is gone");
        let bytes: usize = removed.iter().map(String::len).sum();
        assert!((1..PATHS_BYTES_MAX + (2 << 20)).contains(&bytes), "{bytes}");
    }
}
