//! Checks whether a configuration can be applied. It cannot if it has fields that its schema does
//! not know, values of the wrong type, or duplicate items. The messages are upstream's, with Go's
//! notation of values.

use super::types::{Collection, ListType, MapType, Member, Plain, Type};
use crate::patch::{go, type_of};
use crate::schema::Schema;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// The most bytes of reported faults: the path of each may be much longer than the value at its end.
const FAULTS_BYTES_MAX: usize = 1 << 20;
const UNDECLARED: &str = "field not declared in schema";

/// Returns the faults of a configuration as one text, as far as they are reported.
pub(crate) fn check(config: &Value, schema: Option<&Schema>) -> Result<(), String> {
    let mut faults = Faults::default();
    value(config, Type::of_object(schema), &At::Root, &mut faults);
    faults.into_result()
}

/// Refuses fields that what describes only a part of the configuration does not know, by their paths.
pub(crate) fn refuse_undeclared(paths: &[String]) -> Result<(), String> {
    let mut faults = Faults::default();
    for path in paths {
        let element = format!(".{path}");
        faults.note(&At::Below(&At::Root, &element), UNDECLARED);
    }
    faults.into_result()
}

/// The place of a value: the elements that lead to it.
enum At<'a> {
    Root,
    Below(&'a Self, &'a str),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Below(above, element) => write!(formatter, "{above}{element}"),
        }
    }
}

/// The faults that were found.
#[derive(Default)]
struct Faults {
    found: Vec<String>,
    bytes: usize,
}

impl Faults {
    fn into_result(self) -> Result<(), String> {
        match &*self.found {
            [] => Ok(()),
            [one] => Err(one.clone()),
            all => Err(["errors:", &all.join("\n  ")].join("\n  ")),
        }
    }

    const fn is_full(&self) -> bool {
        self.bytes >= FAULTS_BYTES_MAX
    }

    fn note(&mut self, at: &At<'_>, why: impl fmt::Display) {
        if self.is_full() {
            return;
        }
        let fault = match at {
            At::Root => why.to_string(),
            At::Below(..) => format!("{at}: {why}"),
        };
        self.bytes += fault.len();
        self.found.push(fault);
    }
}

fn value(value: &Value, kind: Type<'_>, at: &At<'_>, faults: &mut Faults) {
    if value.is_null() || faults.is_full() {
        return;
    }
    if let Some(plain) = kind.plain() {
        if let Some(why) = misfit(plain, value) {
            faults.note(at, why);
        }
        return;
    }
    match (kind.collection(), value) {
        (None | Some(Collection::Map), Value::Object(members)) => {
            if let Some(kind) = kind.as_map() {
                map(members, kind, at, faults);
            }
        }
        (None | Some(Collection::List), Value::Array(items)) => {
            if let Some(kind) = kind.as_list() {
                list(items, kind, at, faults);
            }
        }
        (Some(Collection::Map), other) => {
            faults.note(at, format!("expected map, got &{{{}}}", go(other)));
        }
        (Some(Collection::List), other) => {
            faults.note(at, format!("expected list, got &{{{}}}", go(other)));
        }
        (None, _) => {}
    }
}

/// Stops at the first undeclared field, as upstream does, although upstream's order of fields
/// differs.
fn map(members: &Map<String, Value>, kind: MapType<'_>, at: &At<'_>, faults: &mut Faults) {
    for (name, member) in members {
        let element = format!(".{name}");
        let at = At::Below(at, &element);
        match kind.member(name) {
            Member::Named(_, kind) | Member::Other(kind) => value(member, kind, &at, faults),
            Member::Undeclared => {
                faults.note(&at, UNDECLARED);
                break;
            }
        }
    }
}

fn list(items: &[Value], kind: ListType<'_>, at: &At<'_>, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let element = match kind.element(item) {
            _ if kind.is_atomic() => format!("[{index}]"),
            Err(why) => {
                faults.note(at, format!("element {index}: {why}"));
                break;
            }
            Ok(element) => {
                let shown = element.to_string();
                if !seen.insert(element) {
                    faults.note(at, format!("duplicate entries for key {shown}"));
                }
                shown
            }
        };
        value(item, kind.item(), &At::Below(at, &element), faults);
    }
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
