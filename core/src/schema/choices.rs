//! `enum`: the values that a schema allows. There may be many, so they are indexed.

use crate::memory::{allocated, nodes, values};
use crate::patch::whole;
use serde_json::Value;
use std::collections::BTreeSet;

/// A list of allowed values with an index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choices {
    values: Vec<Value>,
    known: BTreeSet<String>,
}

impl Choices {
    pub(super) fn new(values: &[Value]) -> Self {
        Self {
            values: values.to_vec(),
            known: values.iter().map(key).collect(),
        }
    }

    /// Whether the schema has no `enum`, and so allows every value.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The allowed values, in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// About how many bytes they take, with the index.
    pub(super) fn estimated_bytes(&self) -> usize {
        let keys: usize = self.known.iter().map(|key| allocated(key.len())).sum();
        values(&self.values) + nodes(self.known.len(), size_of::<String>()) + keys
    }

    /// Whether this is one of the allowed values.
    pub(super) fn allow(&self, value: &Value) -> bool {
        self.known.contains(&key(value))
    }
}

/// The index key of a value. Numbers are compared by value, not by notation; above 2^53 a float stands for several
/// integers.
fn key(value: &Value) -> String {
    let float = || value.as_f64().filter(|_| value.is_f64());
    match value.as_i64().or_else(|| whole(float()?)) {
        Some(number) => number.to_string(),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_the_same_however_they_are_written_and_texts_are_not() {
        let choices = Choices::new(&[
            json!(1),
            json!("2"),
            json!(null),
            json!([1]),
            json!(-0.0),
            json!(9_007_199_254_740_992_i64),
        ]);
        for (value, is_allowed) in [
            (json!(1.0), true),
            (json!("1"), false),
            (json!("2"), true),
            (json!(2), false),
            (json!(null), true),
            (json!([1]), true),
            (json!([1.0]), false),
            (json!(0), true),
            (json!(9_007_199_254_740_993_i64), false),
        ] {
            assert_eq!(choices.allow(&value), is_allowed, "{value}");
        }
    }
}
