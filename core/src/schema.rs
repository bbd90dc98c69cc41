//! Structural schemas: what a body of a custom kind may hold. Defaults, pruning, validation.

mod check;
mod parse;

use crate::rejection::FieldCause;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

pub use parse::parse;

/// A structural schema.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty where any will do.
    pub type_name: Arc<str>,
    /// Members of an object.
    pub properties: BTreeMap<Arc<str>, Arc<Self>>,
    /// Schema of members that are not listed.
    pub additional: Option<Arc<Self>>,
    /// Schema of a list's items.
    pub items: Option<Arc<Self>>,
    /// Members that must be there.
    pub required: Vec<Arc<str>>,
    /// `null` is a value.
    pub nullable: bool,
    /// A number or a string.
    pub int_or_string: bool,
    /// Unknown members stay.
    pub preserve_unknown: bool,
    /// An object with `apiVersion`, `kind` and `metadata` of its own.
    pub embedded: bool,
    /// What an absent member becomes.
    pub default: Option<Value>,
    /// Allowed values; empty allows all.
    pub enumeration: Vec<Value>,
    /// Bounds on numbers, lengths, items, and the pattern.
    pub bounds: Bounds,
}

/// Bounds of a value.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Smallest number.
    pub minimum: Option<f64>,
    /// Largest number.
    pub maximum: Option<f64>,
    /// Fewest characters.
    pub min_length: Option<usize>,
    /// Most characters.
    pub max_length: Option<usize>,
    /// Fewest items.
    pub min_items: Option<usize>,
    /// Most items.
    pub max_items: Option<usize>,
    /// Regular expression that a text must match somewhere.
    pub pattern: Option<regex::Regex>,
}

impl PartialEq for Schema {
    /// Schemas are shared; two are the same only where they are one.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Schema {
    /// Fills in defaults of absent members, from the outside in.
    pub fn apply_defaults(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, schema) in &self.properties {
                    if let Some(default) = &schema.default
                        && !members.contains_key(&**name)
                    {
                        members.insert(name.to_string(), default.clone());
                    }
                    if let Some(member) = members.get_mut(&**name) {
                        schema.apply_defaults(member);
                    }
                }
                self.default_additional(members);
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    items
                        .iter_mut()
                        .for_each(|item| schema.apply_defaults(item));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn default_additional(&self, members: &mut Map<String, Value>) {
        let Some(schema) = &self.additional else {
            return;
        };
        let unlisted = members
            .iter_mut()
            .filter(|(name, _)| !self.properties.contains_key(&***name));
        unlisted.for_each(|(_, member)| schema.apply_defaults(member));
    }

    /// Removes members that the schema does not know; their paths, in order.
    pub fn prune(&self, document: &mut Value) -> Vec<String> {
        let mut removed = Vec::new();
        self.prune_at(document, "", true, &mut removed);
        removed
    }

    fn prune_at(&self, value: &mut Value, path: &str, root: bool, removed: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let known = |name: &str| {
                    self.properties.contains_key(name)
                        || self.additional.is_some()
                        || self.preserve_unknown
                        || ((root || self.embedded)
                            && matches!(name, "apiVersion" | "kind" | "metadata"))
                };
                members.retain(|name, _| {
                    let keep = known(name);
                    if !keep {
                        removed.push(join(path, name));
                    }
                    keep
                });
                for (name, member) in members.iter_mut() {
                    if let Some(schema) = self.member(name) {
                        schema.prune_at(member, &join(path, name), false, removed);
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    schema.prune_at(item, &format!("{path}[{index}]"), false, removed);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&self, name: &str) -> Option<&Arc<Self>> {
        self.properties.get(name).or(self.additional.as_ref())
    }

    /// Everything that is wrong with a document.
    pub fn validate(&self, document: &Value) -> Vec<FieldCause> {
        let mut causes = Vec::new();
        check::check(self, document, "", &mut causes);
        causes
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
