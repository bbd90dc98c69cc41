//! Compares two versions of an object field by field.

use super::order::same;
use super::types::{ListType, MapType, Shape, Type};
use super::{Element, FieldSet};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

/// The fields that differ between two values of one type. An item that occurs once in one value and
/// several times in the other is both added and removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Fields that only the new value has.
    pub(crate) added: FieldSet,
    /// Fields that both values have, with different content.
    pub(crate) modified: FieldSet,
    /// Fields that only the old value has.
    pub(crate) removed: FieldSet,
}

/// What happened to a field itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Same,
    Added,
    Modified,
    Removed,
    Replaced,
}

impl Fate {
    fn is(self, other: Self) -> bool {
        self == other || (self == Self::Replaced && other != Self::Modified)
    }
}

/// Compares two versions of an object. Only fields that can have managers are considered.
pub(crate) fn compare(old: &Value, new: &Value, schema: Option<&Schema>) -> Comparison {
    value(Some(old), Some(new), Type::of_object(schema)).0
}

impl Comparison {
    fn insert(&mut self, element: Element, (below, fate): (Self, Fate)) {
        let sets = [
            (&mut self.added, below.added, Fate::Added),
            (&mut self.modified, below.modified, Fate::Modified),
            (&mut self.removed, below.removed, Fate::Removed),
        ];
        for (set, below, meaning) in sets {
            if fate.is(meaning) || !below.is_empty() {
                set.insert(element.clone(), fate.is(meaning), below);
            }
        }
    }

    fn union(&self, other: &Self) -> Self {
        Self {
            added: self.added.union(&other.added),
            modified: self.modified.union(&other.modified),
            removed: self.removed.union(&other.removed),
        }
    }
}

/// Returns what differs below a field, and what happened to the field itself. If the value changes
/// its shape, all fields of the old shape are removed and all of the new shape are added.
fn value(old: Option<&Value>, new: Option<&Value>, kind: Type<'_>) -> (Comparison, Fate) {
    // Most differences are on one side only, and need no comparison.
    match (old, new) {
        (None, Some(new)) => {
            let added = whole(new, kind);
            let found = Comparison {
                added,
                ..Comparison::default()
            };
            return (found, Fate::Added);
        }
        (Some(old), None) => {
            let removed = whole(old, kind);
            let found = Comparison {
                removed,
                ..Comparison::default()
            };
            return (found, Fate::Removed);
        }
        _ => {}
    }
    let shape = |value: &Value| kind.shape(value);
    match (old.map(shape), new.map(shape)) {
        (Some(before), Some(after)) if discriminant(&before) != discriminant(&after) => {
            let (first, fate) = shaped(old, new, before);
            let (second, other) = shaped(old, new, after);
            let fate = if fate == Fate::Same { other } else { fate };
            (first.union(&second), fate)
        }
        (Some(shape), _) | (None, Some(shape)) => shaped(old, new, shape),
        (None, None) => (Comparison::default(), Fate::Same),
    }
}

/// Returns all fields below a value that only one side has.
fn whole(value: &Value, kind: Type<'_>) -> FieldSet {
    match (kind.shape(value), value) {
        (Shape::Map(kind), Value::Object(found)) => members(found, kind),
        (Shape::List(kind), Value::Array(found)) => items(found, kind),
        (Shape::Map(_) | Shape::List(_) | Shape::Leaf, _) => FieldSet::default(),
    }
}

fn members(found: &Map<String, Value>, kind: MapType<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (name, value) in found.iter().filter(|(name, _)| kind.tracks(name)) {
        let (element, member, _) = kind.lenient(name);
        set.insert(element, kind.tracks_itself(name), whole(value, member));
    }
    set
}

fn items(found: &[Value], kind: ListType<'_>) -> FieldSet {
    let mut apart: BTreeMap<Element, Items<'_>> = BTreeMap::new();
    for item in found {
        if let Ok(element) = kind.element(item) {
            apart.entry(element).or_default().push(item);
        }
    }
    let mut set = FieldSet::default();
    for (element, items) in apart {
        let below = match *items {
            [item] => whole(item, kind.item()),
            _ => FieldSet::default(),
        };
        set.insert(element, true, below);
    }
    set
}

fn shaped(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> (Comparison, Fate) {
    let fate = match (old, new) {
        (None, _) => Fate::Added,
        (_, None) => Fate::Removed,
        (Some(_), Some(_)) => Fate::Same,
    };
    match shape {
        Shape::Map(kind) => {
            let before = old.and_then(Value::as_object);
            let after = new.and_then(Value::as_object);
            if before.is_some_and(filled) || after.is_some_and(filled) {
                return (maps(before, after, kind), fate);
            }
        }
        Shape::List(kind) => {
            let before = old.and_then(Value::as_array);
            let after = new.and_then(Value::as_array);
            let filled = |items: &Vec<Value>| !items.is_empty();
            if before.is_some_and(filled) || after.is_some_and(filled) {
                return (lists(before, after, kind), fate);
            }
        }
        Shape::Leaf => {}
    }
    (Comparison::default(), leaf(old, new).unwrap_or(fate))
}

fn filled(members: &Map<String, Value>) -> bool {
    !members.is_empty()
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Option<Fate> {
    let differ = !same(old?, new?);
    differ.then_some(Fate::Modified)
}

fn maps(
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    kind: MapType<'_>,
) -> Comparison {
    if old.is_none_or(Map::is_empty) {
        return Comparison {
            added: new.map_or_else(FieldSet::default, |new| members(new, kind)),
            ..Comparison::default()
        };
    }
    let names = [old, new].into_iter().flatten().flat_map(Map::keys);
    let names: BTreeSet<&String> = names.filter(|name| kind.tracks(name)).collect();
    let mut found = Comparison::default();
    for name in names {
        let before = old.and_then(|members| members.get(name));
        let after = new.and_then(|members| members.get(name));
        let (element, member, _) = kind.lenient(name);
        let (below, fate) = value(before, after, member);
        let fate = if kind.tracks_itself(name) {
            fate
        } else {
            Fate::Same
        };
        found.insert(element, (below, fate));
    }
    found
}

type Items<'a> = Vec<&'a Value>;

/// Compares lists item by item. Duplicate items have no fields below them.
fn lists(old: Option<&Vec<Value>>, new: Option<&Vec<Value>>, kind: ListType<'_>) -> Comparison {
    let mut items: BTreeMap<Element, (Items<'_>, Items<'_>)> = BTreeMap::new();
    for item in old.into_iter().flatten() {
        if let Ok(element) = kind.element(item) {
            items.entry(element).or_default().0.push(item);
        }
    }
    for item in new.into_iter().flatten() {
        if let Ok(element) = kind.element(item) {
            items.entry(element).or_default().1.push(item);
        }
    }
    let mut found = Comparison::default();
    for (element, (old, new)) in items {
        let change = repeated(&old, &new, kind.item());
        found.insert(element, change);
    }
    found
}

fn repeated(old: &[&Value], new: &[&Value], kind: Type<'_>) -> (Comparison, Fate) {
    match (old, new) {
        ([] | [_], [] | [_]) => value(old.first().copied(), new.first().copied(), kind),
        ([_, _, ..], [_, _, ..]) => {
            let pairs = || old.iter().zip(new);
            let equal = old.len() == new.len() && pairs().all(|(old, new)| same(old, new));
            let fate = if equal { Fate::Same } else { Fate::Modified };
            (Comparison::default(), fate)
        }
        ([_, _, ..], []) => (Comparison::default(), Fate::Removed),
        ([], _) => (Comparison::default(), Fate::Added),
        ([_, _, ..], [new]) => (value(None, Some(new), kind).0, Fate::Replaced),
        ([old], _) => (value(Some(old), None, kind).0, Fate::Replaced),
    }
}
