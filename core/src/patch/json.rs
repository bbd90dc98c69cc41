//! JSON Patch (RFC 6902), as upstream's library implements it: indices may count from the end, and
//! `replace` of a missing member adds it. The root may be tested and replaced, but not added or
//! moved.

use crate::Rejection;
use crate::document::{LEVELS_MAX, fits};
use serde::Deserialize;
use serde_json::Value;

const OPERATIONS_MAX: usize = 10_000;
/// Limit on the bytes that all `copy` operations of a patch add. Source: upstream's accumulated
/// copy limit.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

#[derive(Deserialize)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    #[serde(default)]
    value: Value,
}

pub(super) fn apply(live: &Value, operations: &Value) -> Result<Value, Rejection> {
    if operations.is_null() {
        return Ok(live.clone());
    }
    let operations: Vec<Option<Operation>> = Vec::deserialize(operations)
        .map_err(|error| Rejection::BadRequest(format!("error decoding patch: {error}")))?;
    if operations.len() > OPERATIONS_MAX {
        return Err(Rejection::TooLarge(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is \
             {OPERATIONS_MAX}, got {}",
            operations.len()
        )));
    }
    let mut document = live.clone();
    let mut copied = 0;
    for operation in &operations {
        let operation = operation.as_ref().ok_or(Rejection::Unprocessable)?;
        copied += step(&mut document, operation).ok_or(Rejection::Unprocessable)?;
        if copied > COPIED_BYTES_MAX {
            return Err(Rejection::Unprocessable);
        }
    }
    Ok(document)
}

/// Applies one operation. Returns the number of bytes that it copied, or `None` if it cannot be
/// applied.
fn step(document: &mut Value, operation: &Operation) -> Option<usize> {
    let path = segments(operation.path.as_deref()?);
    let from = || operation.from.as_deref().map(segments);
    match operation.op.as_deref()? {
        "add" => add(document, &path, operation.value.clone())?,
        "replace" => replace(document, &path, operation.value.clone())?,
        "remove" => remove(document, &path).map(drop)?,
        "test" => {
            let found = if path.is_empty() {
                &*document
            } else {
                get(document, &path)?
            };
            (*found == operation.value).then_some(())?;
        }
        "move" => {
            let moved = remove(document, &from()?)?;
            add(document, &path, moved)?;
        }
        "copy" => {
            let copied = get(document, &from()?)?.clone();
            let bytes = copied.to_string().len();
            add(document, &path, copied)?;
            return Some(bytes);
        }
        _ => return None,
    }
    Some(0)
}

/// Splits a pointer into reference tokens. Text before the first slash is ignored.
fn segments(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Returns the value at a path. A missing member reads as null, but its parent must exist.
fn get<'a>(document: &'a Value, path: &[String]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let parent = parents.iter().try_fold(document, |value, token| {
        Some(entry(value, token)?).filter(|value| !value.is_null())
    })?;
    let absent = parent.is_object().then_some(&Value::Null);
    entry(parent, last).or(absent)
}

fn entry<'a>(value: &'a Value, token: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => members.get(token),
        Value::Array(items) => items.get(index(token, items.len())?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn parent<'a>(document: &'a mut Value, path: &'a [String]) -> Option<(&'a mut Value, &'a String)> {
    let (last, parents) = path.split_last()?;
    let parent = parents
        .iter()
        .try_fold(document, |value, token| match value {
            Value::Object(members) => members.get_mut(token),
            Value::Array(items) => {
                let at = index(token, items.len())?;
                items.get_mut(at)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })?;
    Some((parent, last))
}

/// Whether the document stays shallow enough to be decoded again: each copy may double its depth.
fn fits_at(path: &[String], value: &Value) -> bool {
    let below = LEVELS_MAX.checked_sub(path.len());
    below.is_some_and(|below| fits(value, below))
}

fn add(document: &mut Value, path: &[String], value: Value) -> Option<()> {
    fits_at(path, &value).then_some(())?;
    match parent(document, path)? {
        (Value::Object(members), token) => {
            members.insert(token.clone(), value);
        }
        (Value::Array(items), token) => {
            let length = items.len();
            let at = if token == "-" {
                length
            } else {
                insertion(token, length)?
            };
            items.insert(at, value);
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return None,
    }
    Some(())
}

fn replace(document: &mut Value, path: &[String], value: Value) -> Option<()> {
    fits_at(path, &value).then_some(())?;
    if path.is_empty() {
        (value.is_object() || value.is_array()).then_some(())?;
        *document = value;
        return Some(());
    }
    match parent(document, path)? {
        (Value::Object(members), token) => {
            members.insert(token.clone(), value);
        }
        (Value::Array(items), token) => {
            let at = index(token, items.len())?;
            *items.get_mut(at)? = value;
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &[String]) -> Option<Value> {
    match parent(document, path)? {
        (Value::Object(members), token) => members.remove(token),
        (Value::Array(items), token) => {
            let at = index(token, items.len())?;
            (at < items.len()).then(|| items.remove(at))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => None,
    }
}

/// The position of an existing item; negative ones count from the end.
fn index(token: &str, length: usize) -> Option<usize> {
    if let Some(back) = token.strip_prefix('-') {
        return length.checked_sub(back.parse().ok().filter(|back| *back > 0)?);
    }
    token.parse().ok().filter(|at| *at < length)
}

/// A position to insert at; the end of the list is one too.
fn insertion(token: &str, length: usize) -> Option<usize> {
    if token.starts_with('-') {
        return index(token, length.saturating_add(1));
    }
    token.parse().ok().filter(|at| *at <= length)
}
