//! `enum`: the values that a schema allows, of which there may be many.

use serde_json::Value;
use std::collections::BTreeSet;

/// Values, to be looked up.
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

    /// Whether nothing is said of which values are allowed: all are.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// In the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// Whether this is one of them.
    pub(super) fn allow(&self, value: &Value) -> bool {
        self.known.contains(&key(value))
    }
}

/// Numbers are compared by what they are, not by how they are written.
fn key(value: &Value) -> String {
    match value.as_f64() {
        // Nought has two signs.
        Some(number) => (number + 0.0).to_string(),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_the_same_however_they_are_written_and_texts_are_not() {
        let choices = Choices::new(&[json!(1), json!("2"), json!(null), json!([1]), json!(-0.0)]);
        for (value, is_allowed) in [
            (json!(1.0), true),
            (json!("1"), false),
            (json!("2"), true),
            (json!(2), false),
            (json!(null), true),
            (json!([1]), true),
            (json!([1.0]), false),
            (json!(0), true),
        ] {
            assert_eq!(choices.allow(&value), is_allowed, "{value}");
        }
    }
}
