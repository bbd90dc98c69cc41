//! Checks whether a configuration can be applied. It cannot if it has fields that its schema does
//! not know, values of the wrong type, or duplicate items. The messages are upstream's, with Go's
//! notation of values.

use super::types::{Collection, ListType, MapType, Member, Plain, Type};
use crate::patch::{go, type_of};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Returns all faults of a configuration as one text.
pub(crate) fn check(config: &Value, schema: Option<&Schema>) -> Result<(), String> {
    let faults = value(config, Type::of_object(schema));
    match &*faults {
        [] => Ok(()),
        [one] => Err(one.to_string()),
        all => {
            let mut text = String::from("errors:");
            for fault in all {
                // Writing to a `String` cannot fail.
                write!(text, "\n  {fault}").unwrap_or_default();
            }
            Err(text)
        }
    }
}

struct Fault {
    path: String,
    why: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.why);
        }
        write!(formatter, "{}: {}", self.path, self.why)
    }
}

fn here(why: impl Into<String>) -> Vec<Fault> {
    vec![Fault {
        path: String::new(),
        why: why.into(),
    }]
}

fn at(element: &str, mut faults: Vec<Fault>) -> Vec<Fault> {
    for fault in &mut faults {
        fault.path.insert_str(0, element);
    }
    faults
}

fn value(value: &Value, kind: Type<'_>) -> Vec<Fault> {
    if value.is_null() {
        return Vec::new();
    }
    if let Some(plain) = kind.plain() {
        return misfit(plain, value).map_or_else(Vec::new, here);
    }
    match (kind.collection(), value) {
        (None | Some(Collection::Map), Value::Object(members)) => kind
            .as_map()
            .map_or_else(Vec::new, |kind| map(members, kind)),
        (None | Some(Collection::List), Value::Array(items)) => kind
            .as_list()
            .map_or_else(Vec::new, |kind| list(items, kind)),
        (Some(Collection::Map), other) => here(format!("expected map, got &{{{}}}", go(other))),
        (Some(Collection::List), other) => here(format!("expected list, got &{{{}}}", go(other))),
        (None, _) => Vec::new(),
    }
}

/// Stops at the first undeclared field, as upstream does, although upstream's order of fields
/// differs.
fn map(members: &Map<String, Value>, kind: MapType<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, member) in members {
        let element = format!(".{name}");
        match kind.member(name) {
            Member::Named(_, kind) | Member::Other(kind) => {
                faults.extend(at(&element, value(member, kind)));
            }
            Member::Undeclared => {
                faults.extend(at(&element, here("field not declared in schema")));
                break;
            }
        }
    }
    faults
}

fn list(items: &[Value], kind: ListType<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = match kind.element(item) {
            _ if kind.is_atomic() => format!("[{index}]"),
            Err(why) => {
                faults.extend(here(format!("element {index}: {why}")));
                break;
            }
            Ok(element) => {
                let shown = element.to_string();
                if !seen.insert(element) {
                    faults.extend(here(format!("duplicate entries for key {shown}")));
                }
                shown
            }
        };
        faults.extend(at(&element, value(item, kind.item())));
    }
    faults
}

fn misfit(plain: Plain, value: &Value) -> Option<String> {
    match (plain, value) {
        (Plain::Text, Value::String(_))
        | (Plain::Number, Value::Number(_))
        | (Plain::Flag, Value::Bool(_))
        | (Plain::Any, Value::String(_) | Value::Number(_) | Value::Bool(_)) => None,
        (Plain::Text, value) => {
            let value = literal(value);
            Some(format!(
                "expected string, got &value.valueUnstructured{{Value:{value}}}"
            ))
        }
        (Plain::Number, value) => {
            let value = type_of(value);
            Some(format!("expected numeric (int or float), got {value}"))
        }
        (Plain::Flag, value) => Some(format!("expected boolean, got &{{{}}}", go(value))),
        (Plain::Any, value) => Some(format!("expected any scalar, got &{{{}}}", go(value))),
    }
}

/// Formats a value like Go's `%#v`.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(&**name), literal(value))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
    }
}
