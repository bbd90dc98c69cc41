//! Sets that were written when the schema told more fields apart than today.

use super::FieldSet;
use super::set::Node;
use super::types::{Shape, Type};
use crate::schema::Schema;
use serde_json::Value;

/// The set as the schema tells fields apart: whoever holds a part of what is owned as a whole by now
/// holds the whole. What was owned as a whole before is owned as it was, and so is what the schema
/// does not know any more. `None` where nothing is to be changed.
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

/// What is to stand for a field: whether it is in the set itself, and what is below it.
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
