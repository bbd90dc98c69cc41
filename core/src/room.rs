//! The room that a document has for defaults. It ends where the document is longer than it may be stored: a short one
//! may have hundreds of thousands of places for them.

use serde_json::Value;

/// What is left of it.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: usize,
    is_enough: bool,
}

impl Room {
    /// The room in a document that may have so many bytes.
    pub(crate) fn of(document: &Value, bytes_max: usize) -> Self {
        Self {
            bytes: bytes_max.saturating_sub(bytes(document)),
            is_enough: true,
        }
    }

    /// Takes room for a value, if any is left. The last one may take more than what is left.
    pub(crate) fn takes(&mut self, value: &Value) -> bool {
        self.take(bytes(value))
    }

    /// The same for a member.
    pub(crate) fn takes_member(&mut self, name: &str, value: &Value) -> bool {
        self.take(of_member(name, value))
    }

    /// Whether there was room for all that was to be filled in.
    pub(crate) const fn is_enough(&self) -> bool {
        self.is_enough
    }

    const fn take(&mut self, bytes: usize) -> bool {
        self.is_enough = self.is_enough && self.bytes > 0;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_enough
    }
}

/// A lower bound on the encoded size of a value, in bytes: what exceeds the room by this is too
/// long.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => enclosing(items.len()) + items.iter().map(bytes).sum::<usize>(),
        Value::Object(members) => {
            let each = members.iter().map(|(name, one)| of_member(name, one));
            enclosing(members.len()) + each.sum::<usize>()
        }
    }
}

/// The size of the brackets around so many items, and of the commas between them.
const fn enclosing(items: usize) -> usize {
    let commas = items.saturating_sub(1);
    2 + commas
}

/// The size of a member, with the quotes and the colon of its name.
fn of_member(name: &str, value: &Value) -> usize {
    name.len() + 3 + bytes(value)
}
