//! About how many bytes values take in memory, for bounds on what is kept: rather a little too many.

use serde_json::Value;

/// What an allocation takes beside its content: counts of its owners, and what the allocator adds.
const ALLOCATION_BYTES: usize = 32;
/// How many entries a node of a `BTreeMap` has room for, and the least that each has, the first one excepted.
const NODE_ENTRIES_MAX: usize = 11;
const NODE_ENTRIES_MIN: usize = 5;

/// Something of so many bytes that has an allocation of its own.
pub(crate) const fn allocated(bytes: usize) -> usize {
    ALLOCATION_BYTES + bytes
}

/// The nodes of a `BTreeMap` of so many entries, each of `entry` bytes, without what those have allocated.
pub(crate) const fn nodes(entries: usize, entry: usize) -> usize {
    entries.div_ceil(NODE_ENTRIES_MIN) * allocated(NODE_ENTRIES_MAX * entry)
}

/// A list of texts.
pub(crate) fn texts<T: AsRef<str>>(list: &[T]) -> usize {
    let text = |text: &T| size_of::<T>() + allocated(text.as_ref().len());
    list.iter().map(text).sum()
}

/// What a document takes beside the `Value` itself. Recursion is safe: the decoder bounds the depth.
pub(crate) fn below(document: &Value) -> usize {
    match document {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => allocated(text.len()),
        Value::Array(items) => allocated(values(items)),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| allocated(name.len()) + below(value);
            nodes(members.len(), size_of::<(String, Value)>())
                + members.iter().map(member).sum::<usize>()
        }
    }
}

/// The values of a list.
pub(crate) fn values(list: &[Value]) -> usize {
    let value = |value: &Value| size_of::<Value>() + below(value);
    list.iter().map(value).sum()
}
