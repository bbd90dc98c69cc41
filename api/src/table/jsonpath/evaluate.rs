//! Evaluates a path. A step that does not fit a value finds nothing there.

use super::{Comparison, Filter, Slice, Step};
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The most values that a step may find.
const FOUND_MAX: usize = 10_000;

type Values<'a> = Vec<Cow<'a, Value>>;

pub(super) fn evaluate(steps: &[Step], document: &Value) -> Vec<Value> {
    let found = follow(steps, Cow::Borrowed(document));
    found.into_iter().map(Cow::into_owned).collect()
}

fn follow<'a>(steps: &[Step], start: Cow<'a, Value>) -> Values<'a> {
    // An empty path finds nothing.
    if steps.is_empty() {
        return Vec::new();
    }
    let mut current = vec![start];
    for step in steps {
        let mut next = Vec::new();
        for value in current {
            if next.len() < FOUND_MAX {
                take(step, value, &mut next);
            }
        }
        next.truncate(FOUND_MAX);
        current = next;
    }
    current
}

fn take<'a>(step: &Step, value: Cow<'a, Value>, next: &mut Values<'a>) {
    match step {
        Step::Field(name) => next.extend(child(&value, name)),
        Step::Wildcard => next.extend(children(&value)),
        Step::Descend => descend(value, next),
        Step::Slice(slice) => next.extend(sliced(*slice, &value)),
        Step::Union(paths) => {
            for path in paths {
                next.extend(follow(&path.steps, value.clone()));
            }
        }
        Step::Filter(filter) => {
            let items = if value.is_array() {
                children(&value)
            } else {
                Vec::new()
            };
            next.extend(items.into_iter().filter(|item| passes(filter, item)));
        }
        Step::Literal(literal) => next.push(Cow::Owned(literal.clone())),
    }
}

fn child<'a>(value: &Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    }
}

fn children<'a>(value: &Cow<'a, Value>) -> Values<'a> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(members)) => members.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.iter().cloned().map(Cow::Owned).collect(),
        Cow::Borrowed(_) | Cow::Owned(_) => Vec::new(),
    }
}

/// Collects the value, if there is something inside it, and everything below. Recursive: the document's depth
/// is bounded by the decoder.
fn descend<'a>(value: Cow<'a, Value>, next: &mut Values<'a>) {
    let children = children(&value);
    if children.is_empty() || next.len() >= FOUND_MAX {
        return;
    }
    next.push(value);
    for child in children {
        descend(child, next);
    }
}

fn sliced<'a>(slice: Slice, value: &Cow<'a, Value>) -> Values<'a> {
    let Value::Array(items) = &**value else {
        return Vec::new();
    };
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        Some(end) => from_end(end),
        None if slice.single => start.saturating_add(1),
        None => length,
    };
    let step = slice.step.unwrap_or(1);
    if start < 0 || end > length || step < 1 {
        return Vec::new();
    }
    let (Ok(start), Ok(step)) = (usize::try_from(start), usize::try_from(step)) else {
        return Vec::new();
    };
    let count = usize::try_from(end).unwrap_or(0).saturating_sub(start);
    let picked = children(value).into_iter().skip(start).take(count);
    picked.step_by(step).collect()
}

fn passes(filter: &Filter, item: &Value) -> bool {
    let left = follow(&filter.left.steps, Cow::Borrowed(item));
    let Some(left) = left.first() else {
        return false;
    };
    let Some((comparison, right)) = &filter.right else {
        return true;
    };
    let right = follow(&right.steps, Cow::Borrowed(item));
    let [right] = right.as_slice() else {
        return false;
    };
    let Some(order) = compare(left, right) else {
        return false;
    };
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// Only values of the same type compare.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => left.as_f64()?.partial_cmp(&right.as_f64()?),
        _ => None,
    }
}
