//! Collects the fields that a value contains.

use super::types::{ListType, MapType, Shape, Type};
use super::{Element, FieldSet};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Returns every field of an object that can have a manager.
pub(crate) fn set_of(object: &Value, schema: Option<&Schema>) -> FieldSet {
    collect(object, Type::of_object(schema)).0
}

/// Returns the fields below a value, and whether the value is a field itself.
pub(super) fn collect(value: &Value, kind: Type<'_>) -> (FieldSet, bool) {
    match (kind.shape(value), value) {
        (Shape::Leaf, _) => (FieldSet::default(), true),
        (Shape::Map(kind), Value::Object(members)) => (map(members, kind), false),
        (Shape::List(kind), Value::Array(items)) => (list(items, kind), false),
        (Shape::Map(_) | Shape::List(_), _) => (FieldSet::default(), false),
    }
}

/// A member that the schema names is a field only through what is in it; other members are fields
/// themselves.
fn map(members: &Map<String, Value>, kind: MapType<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in members.iter().filter(|(name, _)| kind.tracks(name)) {
        let (element, member, named) = kind.lenient(name);
        let (below, whole) = collect(value, member);
        let hollow = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let itself = (whole || hollow || !named) && kind.tracks_itself(name);
        set.insert(element, itself, below);
    }
    set
}

/// Duplicate items are one field, without the fields below them.
fn list(items: &[Value], kind: ListType<'_>) -> FieldSet {
    let mut seen: BTreeMap<Element, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = kind.element(item) {
            seen.entry(element)
                .and_modify(|repeated| *repeated = None)
                .or_insert(Some(item));
        }
    }
    let mut set = FieldSet::default();
    for (element, item) in seen {
        let below = item.map(|item| collect(item, kind.item()).0);
        set.insert(element, true, below.unwrap_or_default());
    }
    set
}
