//! JSON Patch (RFC 6902), as upstream's library implements it: indices may count from the end, and
//! `replace` of a missing member adds it. The root may be tested and replaced, but not added or
//! moved.

use crate::Rejection;
use crate::document::{LEVELS_MAX, fits, values};
use serde::Deserialize;
use serde_json::Value;

const OPERATIONS_MAX: usize = 10_000;
/// Limit on the bytes that all `copy` operations of a patch add. Source: upstream's accumulated
/// copy limit.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Limit on the values that all operations of a patch may look at or shift, so that other writers wait
/// for less than a second. The most operations that a patch may have reach it if each of them inserts
/// something at the beginning of a list of more than 6,700 items.
const WORK_MAX: usize = 64 << 20;

#[derive(Deserialize)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    #[serde(default)]
    value: Value,
}

/// The work that a patch may still do, in values.
struct Work(usize);

impl Work {
    /// Takes so much of it; `None` if less is left.
    fn spend(&mut self, values: usize) -> Option<()> {
        self.0 = self.0.checked_sub(values)?;
        Some(())
    }
}

pub(super) fn apply(live: &Value, operations: &Value) -> Result<Value, Rejection> {
    apply_within(live, operations, WORK_MAX)
}

/// Applies a patch that may look at or shift so many values.
pub(super) fn apply_within(
    live: &Value,
    operations: &Value,
    work_max: usize,
) -> Result<Value, Rejection> {
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
    let (mut copied, mut work) = (0, Work(work_max));
    for operation in &operations {
        let operation = operation.as_ref().ok_or(Rejection::Unprocessable)?;
        let done = step(&mut document, operation, &mut work);
        copied += done.ok_or(Rejection::Unprocessable)?;
        if copied > COPIED_BYTES_MAX {
            return Err(Rejection::Unprocessable);
        }
    }
    Ok(document)
}

/// Applies one operation. Returns the number of bytes that it copied, or `None` if it cannot be
/// applied, or would take more work than is left.
fn step(document: &mut Value, operation: &Operation, work: &mut Work) -> Option<usize> {
    let path = segments(operation.path.as_deref()?);
    let from = || operation.from.as_deref().map(segments);
    match operation.op.as_deref()? {
        "add" => {
            fits_at(&path, &operation.value, work)?;
            add(document, &path, operation.value.clone(), work)?;
        }
        "replace" => {
            fits_at(&path, &operation.value, work)?;
            replace(document, &path, operation.value.clone())?;
        }
        "remove" => remove(document, &path, work).map(drop)?,
        "test" => {
            let found = if path.is_empty() {
                &*document
            } else {
                get(document, &path)?
            };
            work.spend(values(&operation.value))?;
            (*found == operation.value).then_some(())?;
        }
        "move" => {
            let from = from()?;
            let moved = remove(document, &from, work)?;
            // Only further down can the document become deeper.
            if path.len() > from.len() {
                fits_at(&path, &moved, work)?;
            }
            add(document, &path, moved, work)?;
        }
        "copy" => {
            let copied = get(document, &from()?)?.clone();
            let bytes = copied.to_string().len();
            fits_at(&path, &copied, work)?;
            add(document, &path, copied, work)?;
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

/// Checks that the document stays shallow enough to be decoded again: each copy may double its depth.
fn fits_at(path: &[String], value: &Value, work: &mut Work) -> Option<()> {
    work.spend(values(value))?;
    let below = LEVELS_MAX.checked_sub(path.len());
    below.is_some_and(|below| fits(value, below)).then_some(())
}

fn add(document: &mut Value, path: &[String], value: Value, work: &mut Work) -> Option<()> {
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
            work.spend(length.checked_sub(at)?)?;
            items.insert(at, value);
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return None,
    }
    Some(())
}

fn replace(document: &mut Value, path: &[String], value: Value) -> Option<()> {
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

fn remove(document: &mut Value, path: &[String], work: &mut Work) -> Option<Value> {
    match parent(document, path)? {
        (Value::Object(members), token) => members.remove(token),
        (Value::Array(items), token) => {
            let at = index(token, items.len())?;
            work.spend(items.len().checked_sub(at)?)?;
            (at < items.len()).then(|| items.remove(at))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => None,
    }
}

/// The position of an existing item; negative ones count from the end.
fn index(token: &str, length: usize) -> Option<usize> {
    from_either_end(token, length).filter(|at| *at < length)
}

/// A position to insert at; the end of the list is one too.
fn insertion(token: &str, length: usize) -> Option<usize> {
    from_either_end(token, length.checked_add(1)?).filter(|at| *at <= length)
}

/// A position among so many; a sign in front of zero means nothing.
fn from_either_end(token: &str, length: usize) -> Option<usize> {
    let at: i64 = token.parse().ok()?;
    let distance = usize::try_from(at.unsigned_abs()).ok()?;
    if at < 0 {
        length.checked_sub(distance)
    } else {
        Some(distance)
    }
}
