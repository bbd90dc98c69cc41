//! Merges an applied configuration into a live object.

use super::Element;
use super::types::{ListType, MapType, Shape, Type};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the live object with everything that the configuration contains. Nothing is removed.
pub(crate) fn merge(live: &Value, config: &Value, schema: Option<&Schema>) -> Value {
    value(live, config, Type::of_object(schema))
}

/// A map or a list in the configuration that is empty or null removes nothing.
fn value(live: &Value, config: &Value, kind: Type<'_>) -> Value {
    match (kind.shape(config), live, config) {
        (Shape::Map(kind), Value::Object(live), Value::Object(config)) if !live.is_empty() => {
            maps(live, config, kind)
        }
        (Shape::Map(_), Value::Object(members), Value::Null) if !members.is_empty() => live.clone(),
        (Shape::List(kind), Value::Array(live), Value::Array(config)) if !live.is_empty() => {
            lists(live, config, kind)
        }
        (Shape::List(_), Value::Array(items), Value::Null) if !items.is_empty() => live.clone(),
        _ => config.clone(),
    }
}

fn maps(live: &Map<String, Value>, config: &Map<String, Value>, kind: MapType<'_>) -> Value {
    let mut merged = live.clone();
    for (name, config) in config {
        let (_, kind, _) = kind.lenient(name);
        match merged.get_mut(name) {
            Some(live) => *live = value(live, config, kind),
            None => drop(merged.insert(name.clone(), config.clone())),
        }
    }
    Value::Object(merged)
}

/// Merges lists item by item, in the order of the configuration; items that only the live list has
/// keep their places in between. An item that the live list has twice is replaced as a whole, by
/// one item.
fn lists(live: &[Value], config: &[Value], kind: ListType<'_>) -> Value {
    let element = |item: &Value| kind.element(item).ok();
    let old: Vec<Option<Element>> = live.iter().map(element).collect();
    let new: Vec<Option<Element>> = config.iter().map(element).collect();
    let mut counterparts: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (element, item) in old.iter().zip(live) {
        if let Some(element) = element {
            let found = counterparts.entry(element);
            found
                .and_modify(|repeated| *repeated = None)
                .or_insert(Some(item));
        }
    }
    let wanted: BTreeSet<&Element> = new.iter().flatten().collect();
    let merged = |index: usize| {
        let item = config.get(index)?;
        let element = new.get(index)?.as_ref();
        let live = element.and_then(|element| counterparts.get(element).copied().flatten());
        Some(live.map_or_else(|| item.clone(), |live| value(live, item, kind.item())))
    };
    let steps = arrange(&old, &new, &wanted);
    let items = steps.into_iter().filter_map(|step| match step {
        Step::Live(index) => live.get(index).cloned(),
        Step::Config(index) => merged(index),
    });
    items.collect()
}

/// The source of the next item of a merged list.
enum Step {
    Live(usize),
    Config(usize),
}

/// Walks through both lists together. Items that only the live list has stay in front of the common
/// item that they preceded. A common item whose order differs in the live list waits for its turn
/// in the configuration.
fn arrange(
    old: &[Option<Element>],
    new: &[Option<Element>],
    wanted: &BTreeSet<&Element>,
) -> Vec<Step> {
    let known: BTreeSet<&Element> = old.iter().flatten().collect();
    let shared = |element: &&Option<Element>| {
        let element = element.as_ref();
        element.is_some_and(|element| known.contains(element))
    };
    let mut awaited = new.iter().filter(shared).peekable();
    let mut steps = Vec::new();
    let mut left = 0;
    for (right, element) in new.iter().enumerate() {
        let is_shared = shared(&element);
        while let Some(waiting) = old.get(left) {
            let only_live = waiting.as_ref().is_none_or(|one| !wanted.contains(one));
            let awaits = awaited.peek();
            if !only_live && awaits == Some(&waiting) {
                break;
            }
            if only_live {
                steps.push(Step::Live(left));
            }
            left += 1;
            if !only_live && awaits.is_none() {
                break;
            }
        }
        steps.push(Step::Config(right));
        if is_shared {
            awaited.next();
            left += usize::from(old.get(left) == Some(element));
        }
    }
    let rest = (left..old.len()).filter(|index| {
        let element = old.get(*index).and_then(Option::as_ref);
        element.is_none_or(|element| !wanted.contains(element))
    });
    steps.extend(rest.map(Step::Live));
    steps
}
