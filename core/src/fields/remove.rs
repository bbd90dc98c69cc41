//! Removes fields from an object.

use super::set::Node;
use super::types::{ListType, MapType, Member, Shape, Type};
use super::{Element, FieldSet};
use serde_json::{Map, Value};

/// Returns the value without these fields and everything in them. A map or a list that is not
/// removed itself may end up empty. What is owned as a whole stays as it is, and so do the items of
/// `finalizers` and `ownerReferences` that are not removed themselves.
pub(super) fn remove(value: &Value, fields: &FieldSet, kind: Type<'_>) -> Value {
    if fields.is_empty() {
        return value.clone();
    }
    match (kind.shape(value), value) {
        (Shape::Map(kind), Value::Object(members)) => from_map(members, fields, kind),
        (Shape::List(kind), Value::Array(items)) => from_list(items, fields, kind),
        _ => value.clone(),
    }
}

fn from_map(members: &Map<String, Value>, fields: &FieldSet, kind: MapType<'_>) -> Value {
    let kept = members.iter().filter_map(|(name, value)| {
        let (element, member, _) = kind.lenient(name);
        let node = fields.get(&element);
        let value = if kind.is_of_its_items(name) {
            keep_items(value, node, member)?
        } else {
            keep(value, node, member)?
        };
        Some((name.clone(), value))
    });
    Value::Object(kept.collect())
}

/// For `finalizers` and `ownerReferences`, which are removed only if no item is left.
fn keep_items(value: &Value, node: Option<&Node>, kind: Type<'_>) -> Option<Value> {
    let Some(node) = node else {
        return Some(value.clone());
    };
    let left = remove(value, &node.below, kind);
    let has_items = left.as_array().is_some_and(|items| !items.is_empty());
    (has_items || !node.member).then_some(left)
}

fn from_list(items: &[Value], fields: &FieldSet, kind: ListType<'_>) -> Value {
    let kept = items.iter().filter_map(|item| {
        let element = kind.element(item).ok();
        let node = element.and_then(|element| fields.get(&element));
        keep(item, node, kind.item())
    });
    kept.collect()
}

fn keep(value: &Value, node: Option<&Node>, kind: Type<'_>) -> Option<Value> {
    match node {
        None => Some(value.clone()),
        Some(node) if node.member => None,
        Some(node) => Some(remove(value, &node.below, kind)),
    }
}

/// Adds every field that the schema names and that has fields of the set below it, so that it is
/// removed if nothing in it stays. The object's `metadata` is not added: the name stays in it.
pub(super) fn with_named(fields: &FieldSet, kind: Type<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for node in fields.nodes() {
        let below = match kind.below(&node.element) {
            Some(kind) => with_named(&node.below, kind),
            None => node.below.clone(),
        };
        let above = !node.below.is_empty() && is_named(&node.element, kind);
        set.insert(node.element.clone(), node.member || above, below);
    }
    set
}

fn is_named(element: &Element, kind: Type<'_>) -> bool {
    match (kind.owner_of(element), element) {
        (Shape::Map(kind), Element::Field(name)) => {
            kind.tracks_itself(name) && matches!(kind.member(name), Member::Named(..))
        }
        _ => false,
    }
}
