//! `FieldsV1`: the JSON form of a set in `metadata.managedFields`. Each member of an object stands
//! for a field and what is below it; `.` or an empty object says that the field itself is in the
//! set.

use super::element::Datum;
use super::{DEPTH_MAX, Element, FieldSet};
use serde_json::{Map, Value};
use std::sync::Arc;

const ITSELF: &str = ".";

impl FieldSet {
    /// Encodes the set for clients.
    pub(crate) fn to_fields_v1(&self) -> Value {
        Value::Object(self.members())
    }

    fn members(&self) -> Map<String, Value> {
        let fields = self.nodes().iter().map(|node| {
            let mut below = node.below.members();
            if node.member && !below.is_empty() {
                below.insert(ITSELF.into(), Value::Object(Map::new()));
            }
            (text(&node.element), Value::Object(below))
        });
        fields.collect()
    }

    /// Decodes a set that a client sent; `None` if it is not valid. Elements of an unknown kind are
    /// reserved for later versions, and are ignored.
    pub(crate) fn from_fields_v1(fields: &Value) -> Option<Self> {
        if fields.is_null() {
            return Some(Self::default());
        }
        Some(read(fields.as_object()?, 0)?.0)
    }
}

/// Returns what is below a field, and whether the field itself is in the set.
fn read(members: &Map<String, Value>, depth: u8) -> Option<(FieldSet, bool)> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut parts = Vec::with_capacity(members.len());
    for (name, below) in members.iter().filter(|(name, _)| *name != ITSELF) {
        let (below, member) = match below {
            Value::Null => (FieldSet::default(), true),
            Value::Object(below) => read(below, depth + 1)?,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
        };
        match element(name) {
            Found::Known(element) => parts.push((element, member, below)),
            Found::Unknown => {}
            Found::Nothing => return None,
        }
    }
    let set = FieldSet::of_parts(parts);
    let member = set.is_empty() || members.contains_key(ITSELF);
    Some((set, member))
}

enum Found {
    Known(Element),
    /// An element of an unknown kind.
    Unknown,
    Nothing,
}

fn element(text: &str) -> Found {
    let Some((kind, content)) = text.split_at_checked(2) else {
        return Found::Nothing;
    };
    let found = match kind {
        "f:" => Some(Element::field(content)),
        "k:" => keys(content),
        "v:" => serde_json::from_str(content)
            .ok()
            .map(|value| Element::Value(Datum(value))),
        "i:" => content.parse().ok().map(Element::Index),
        other if other.ends_with(':') => return Found::Unknown,
        _ => None,
    };
    found.map_or(Found::Nothing, Found::Known)
}

fn keys(text: &str) -> Option<Element> {
    let values: Map<String, Value> = serde_json::from_str(text).ok()?;
    let values = values.into_iter();
    Some(Element::key(
        values
            .map(|(name, value)| (name.into(), Datum(value)))
            .collect(),
    ))
}

fn text(element: &Element) -> String {
    match element {
        Element::Field(name) => ["f:", name].concat(),
        Element::Key(values) => {
            let written = |(name, value): &(Arc<str>, Datum)| {
                format!("{}:{}", Value::from(&**name), go_json(&value.0))
            };
            let values: Vec<String> = values.iter().map(written).collect();
            format!("k:{{{}}}", values.join(","))
        }
        Element::Value(value) => format!("v:{}", go_json(&value.0)),
        Element::Index(place) => format!("i:{place}"),
    }
}

/// Encodes like Go's `encoding/json`, which escapes what has a meaning in HTML or JavaScript.
fn go_json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
