//! Lists that are sets or maps, in which no item may occur twice.
//! Source: `apiextensions-apiserver/pkg/apiserver/schema/listtype`.

use super::{ItemIdentity, Path, Schema};
use crate::rejection::{CauseList, FieldCause};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns a cause for every duplicate in a set or a map.
pub(super) fn duplicates(schema: &Schema, document: &Value) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    walk(schema, document, &Path::Root, &mut causes);
    causes.into_causes()
}

fn walk(schema: &Schema, value: &Value, at: &Path<'_>, causes: &mut CauseList) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(schema) = schema.properties.get(&**name) {
                    walk(schema, member, &at.member(name), causes);
                } else if let Some(schema) = &schema.additional {
                    walk(schema, member, &at.entry(name), causes);
                }
            }
        }
        Value::Array(items) => {
            match &schema.identity {
                ItemIdentity::Place | ItemIdentity::Atomic => {}
                ItemIdentity::Set => repeated(items, at, causes),
                ItemIdentity::Map(keys) => map(keys, items, at, causes),
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    walk(schema, item, &at.item(index), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn map(keys: &[Arc<str>], items: &[Value], at: &Path<'_>, causes: &mut CauseList) {
    let odd = |item: &&Value| !item.is_object() && !item.is_null();
    if let Some((index, item)) = items.iter().enumerate().find(|(_, item)| odd(item)) {
        let why = "must be an object for an array of list-type map";
        causes.push_with(|| FieldCause::invalid(at.item(index).to_string(), item, why));
        return;
    }
    let key = |item: &Value| {
        let held = keys
            .iter()
            .filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
        Value::Object(held.collect::<Map<_, _>>())
    };
    let held: Vec<Value> = items.iter().map(key).collect();
    repeated(&held, at, causes);
}

/// Reports duplicates; only the first repetition of a value is reported.
fn repeated(values: &[Value], at: &Path<'_>, causes: &mut CauseList) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, value) in values.iter().enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            causes.push_with(|| FieldCause::duplicate(at.item(index).to_string(), value));
        }
    }
}

/// Finds the old versions of the items of a list. Source: `CorrelatedObject` in `k8s.io/apiserver/pkg/cel/common`.
pub(super) enum Counterparts<'a> {
    /// There are none, as in sets.
    None,
    /// The items at the same places.
    Places(&'a [Value]),
    /// The items with the same values for these keys.
    Keys(&'a [Arc<str>], BTreeMap<Vec<Option<String>>, &'a Value>),
}

impl<'a> Counterparts<'a> {
    pub(super) fn new(identity: &'a ItemIdentity, old: Option<&'a Value>) -> Self {
        let Some(old) = old.and_then(Value::as_array) else {
            return Self::None;
        };
        match identity {
            ItemIdentity::Place => Self::Places(old),
            ItemIdentity::Atomic | ItemIdentity::Set => Self::None,
            ItemIdentity::Map(keys) => {
                // If two old items have the same keys, the first one is used.
                let items = old.iter().rev();
                Self::Keys(keys, items.map(|item| (held(keys, item), item)).collect())
            }
        }
    }

    /// Returns the old version of an item, which now has this place.
    pub(super) fn of(&self, index: usize, item: &Value) -> Option<&'a Value> {
        match self {
            Self::None => None,
            Self::Places(old) => old.get(index),
            Self::Keys(keys, old) => old.get(&held(keys, item)).copied(),
        }
    }
}

/// The values that an item has for the keys of its list.
fn held(keys: &[Arc<str>], item: &Value) -> Vec<Option<String>> {
    let written = |key: &Arc<str>| item.get(&**key).map(Value::to_string);
    keys.iter().map(written).collect()
}
