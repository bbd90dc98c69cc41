//! Evaluates a path. A step that does not fit a value finds nothing there.

use super::{Comparison, Filter, Slice, Step};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// The most values that a step may find.
pub(super) const FOUND_MAX: usize = 10_000;
/// The most values that all paths of a row may look at, with those that their filters and unions look at. A path
/// that a person writes looks at hundreds; one that looks everywhere again, wherever it finds something, would not
/// end.
pub(crate) const LOOKS_MAX: usize = 100_000;
/// What a look costs next to reading a byte of an object.
const LOOK_BYTES: usize = 8;
/// How many bytes of two texts are compared for one look.
const COMPARED_BYTES: usize = 256;

/// What a step has found so far. There is never more in it than a step may find.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) values: Vec<&'a Value>,
}

impl<'a> Found<'a> {
    fn is_full(&self) -> bool {
        self.values.len() >= FOUND_MAX
    }

    fn add(&mut self, values: impl IntoIterator<Item = &'a Value>) {
        let room = FOUND_MAX.saturating_sub(self.values.len());
        self.values.extend(values.into_iter().take(room));
    }
}

/// What the paths of one row look at.
#[derive(Debug)]
pub(crate) struct Looks {
    /// How many more values they may look at.
    left: usize,
}

impl Default for Looks {
    fn default() -> Self {
        Self { left: LOOKS_MAX }
    }
}

impl Looks {
    /// The cost so far, in bytes of objects that could have been read instead.
    pub(crate) const fn cost(&self) -> usize {
        LOOKS_MAX.saturating_sub(self.left) * LOOK_BYTES
    }

    pub(super) fn follow<'a>(&mut self, steps: &'a [Step], start: &'a Value) -> Found<'a> {
        let mut current = Found::default();
        // An empty path finds nothing.
        if !steps.is_empty() {
            current.add([start]);
        }
        for step in steps {
            let mut next = Found::default();
            for value in current.values {
                self.take(step, value, &mut next);
            }
            current = next;
        }
        current
    }

    fn take<'a>(&mut self, step: &'a Step, value: &'a Value, next: &mut Found<'a>) {
        if next.is_full() || !self.may_look() {
            return;
        }
        let before = next.values.len();
        match step {
            Step::Field(name) => next.add(value.get(name)),
            Step::Wildcard => next.add(children(value)),
            Step::Descend => self.descend(value, next),
            Step::Slice(slice) => next.add(sliced(*slice, value)),
            Step::Union(paths) => {
                let mut paths = paths.iter();
                while !next.is_full()
                    && let Some(path) = paths.next()
                {
                    next.add(self.follow(&path.steps, value).values);
                }
            }
            Step::Filter(filter) => {
                let items = value.as_array().into_iter().flatten();
                next.add(items.filter(|item| self.passes(filter, item)));
            }
            Step::Literal(literal) => next.add([literal]),
        }
        let found = next.values.len() - before;
        self.left = self.left.saturating_sub(found);
    }

    /// Counts a value that is looked at; false if that would be one too many.
    fn may_look(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    /// Collects the value, if there is something inside it, and everything below. Recursive: the document's
    /// depth is bounded by the decoder.
    fn descend<'a>(&mut self, value: &'a Value, next: &mut Found<'a>) {
        let mut below = children(value).peekable();
        if below.peek().is_none() {
            return;
        }
        next.add([value]);
        for child in below {
            if next.is_full() || !self.may_look() {
                return;
            }
            self.descend(child, next);
        }
    }

    fn passes(&mut self, filter: &Filter, item: &Value) -> bool {
        if !self.may_look() {
            return false;
        }
        let left = self.follow(&filter.left.steps, item);
        let Some(left) = left.values.first() else {
            return false;
        };
        let Some((comparison, right)) = &filter.right else {
            return true;
        };
        let right = self.follow(&right.steps, item);
        let [right] = right.values.as_slice() else {
            return false;
        };
        if let (Value::String(left), Value::String(right)) = (left, right) {
            let compared = left.len().min(right.len()) / COMPARED_BYTES;
            self.left = self.left.saturating_sub(compared);
        }
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
}

/// What is directly inside a list or an object.
fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    let members = value.as_object().into_iter().flat_map(Map::values);
    items.chain(members)
}

fn sliced(slice: Slice, value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    let (picked, step) = range(slice, items).unwrap_or_default();
    picked.iter().step_by(step.max(1))
}

/// The items between the ends of a slice, and how far apart those are that it takes.
fn range(slice: Slice, items: &[Value]) -> Option<(&[Value], usize)> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        Some(end) => from_end(end),
        None if slice.single => start.saturating_add(1),
        None => length,
    };
    if end > length {
        return None;
    }
    let step = usize::try_from(slice.step.unwrap_or(1)).ok();
    let step = step.filter(|step| *step > 0)?;
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    Some((items.get(start..end)?, step))
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
