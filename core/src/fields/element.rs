//! One step of a field's path: it leads from a map or a list to one of its fields.

use super::order;
use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// An element of a path. The order is upstream's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    /// A member of a map.
    Field(Arc<str>),
    /// The item of a list of type map that has these values of the keys, sorted by key.
    Key(Vec<(Arc<str>, Datum)>),
    /// The item of a set.
    Value(Datum),
    /// The item at an index. Nothing creates these any more, but sets that clients send may contain
    /// them.
    Index(i64),
}

/// A value in a path.
#[derive(Debug, Clone)]
pub(crate) struct Datum(pub(crate) Value);

impl Ord for Datum {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.0, &other.0)
    }
}

impl PartialOrd for Datum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Datum {}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Returns the element for an item with these values of the keys.
    pub(super) fn key(mut values: Vec<(Arc<str>, Datum)>) -> Self {
        values.sort();
        Self::Key(values)
    }
}

/// The notation of conflicts: `.spec`, `[name="a"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(values) => {
                let values = values
                    .iter()
                    .map(|(name, value)| format!("{name}={}", value.0));
                let values: Vec<String> = values.collect();
                write!(formatter, "[{}]", values.join(","))
            }
            Self::Value(value) => write!(formatter, "[={}]", value.0),
            Self::Index(place) => write!(formatter, "[{place}]"),
        }
    }
}
