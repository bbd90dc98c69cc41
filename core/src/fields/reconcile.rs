//! Adapts sets of fields that were written under a more granular schema.

use super::FieldSet;
use super::set::Node;
use super::types::{Shape, Type};
use crate::schema::Schema;
use serde_json::Value;

/// Adapts a set to the schema: a manager that owns a part of what has become atomic owns all of it.
/// What was atomic before stays owned as it was, and so does what the schema does not know any
/// more. Returns `None` if nothing changes.
pub(super) fn reconcile(fields: &FieldSet, schema: Option<&Schema>) -> Option<FieldSet> {
    below(fields, Type::of_object(schema))
}

fn below(fields: &FieldSet, kind: Type<'_>) -> Option<FieldSet> {
    let mut changed: Option<FieldSet> = None;
    for (index, node) in fields.nodes().iter().enumerate() {
        let found = kind.below(&node.element).and_then(|kind| field(node, kind));
        if found.is_some() && changed.is_none() {
            changed = Some(fields.first(index));
        }
        if let Some(set) = &mut changed {
            let (member, below) = found.unwrap_or_else(|| (node.member, node.below.clone()));
            set.insert(node.element.clone(), member, below);
        }
    }
    changed
}

/// Returns what replaces a field: whether it is in the set itself, and what is below it.
fn field(node: &Node, kind: Type<'_>) -> Option<(bool, FieldSet)> {
    if node.below.is_empty() {
        return None;
    }
    match kind.shape(&Value::Null) {
        Shape::Leaf if kind.plain().is_none() => Some((true, FieldSet::default())),
        Shape::Leaf => None,
        Shape::Map(_) | Shape::List(_) => Some((node.member, below(&node.below, kind)?)),
    }
}
