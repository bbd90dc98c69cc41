//! Functions that make lists. Source: version 3 of `cel-go`'s `ext/lists.go`, which Kubernetes has
//! since 1.34.
//!
//! Upstream charges by lengths (`trackListSelfCompare`, `trackListFlatten`): to sort a list or to find
//! its distinct items, twice the square of its length, and to flatten it, its length for each level,
//! whatever the lists in it hold. Here each item that is read, each comparison and each item of a
//! range costs a step, so that none of them takes longer than what was paid for. Distinct items are
//! found by their fingerprints, so that large items cost no more than upstream.

use super::super::compare;
use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::{Native, lists};
use std::cmp::Ordering;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Fault>;

const SORT: &str = "
list(int).sort() list(int)
list(uint).sort() list(uint)
list(double).sort() list(double)
list(bool).sort() list(bool)
list(duration).sort() list(duration)
list(timestamp).sort() list(timestamp)
list(string).sort() list(string)
list(bytes).sort() list(bytes)";

/// The function that `sortBy` stands for, which has no name that an expression could write.
pub(in crate::cel) const SORT_BY: &str = "@sortByAssociatedKeys";
const SORT_BY_KEYS: &str = "
list(A).@sortByAssociatedKeys(list(int)) list(A)
list(A).@sortByAssociatedKeys(list(uint)) list(A)
list(A).@sortByAssociatedKeys(list(double)) list(A)
list(A).@sortByAssociatedKeys(list(bool)) list(A)
list(A).@sortByAssociatedKeys(list(duration)) list(A)
list(A).@sortByAssociatedKeys(list(timestamp)) list(A)
list(A).@sortByAssociatedKeys(list(string)) list(A)
list(A).@sortByAssociatedKeys(list(bytes)) list(A)";

/// The longest list that `lists.range` makes. Source: `defaultMaxRangeSize`.
const RANGE_MAX: i64 = 1_000_000;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("list(A).distinct() list(A)", distinct),
        (
            "list(list(A)).flatten() list(A)",
            |meter, given| match given {
                [list] => flattened(meter, list, 1),
                _ => Err(Fault::no_overload()),
            },
        ),
        (
            "list(dyn).flatten(int) list(dyn)",
            |meter, given| match given {
                [list, Value::Int(depth)] => {
                    let negative = |_| Fault::failed("level must be non-negative");
                    let depth = usize::try_from(*depth).map_err(negative)?;
                    flattened(meter, list, depth)
                }
                _ => Err(Fault::no_overload()),
            },
        ),
        ("lists.range(int) list(int)", range),
        ("list(A).reverse() list(A)", |meter, given| match given {
            [list] => {
                let items = items(meter, list)?.into_iter();
                Ok(Value::list(items.rev().collect()))
            }
            _ => Err(Fault::no_overload()),
        }),
        ("list(A).slice(int, int) list(A)", slice),
        (SORT, |meter, given| match given {
            [list] => {
                let items = items(meter, list)?.into_iter();
                let pairs = items.map(|item| (item.clone(), item));
                sort_by_keys(meter, list, pairs.collect())
            }
            _ => Err(Fault::no_overload()),
        }),
        // The evaluator implements this one.
        (SORT_BY_KEYS, super::undeclared),
    ]
}

/// The number of items of a list. A map has none, although it has a length.
pub(super) fn length(list: &Value<'_>) -> Result<usize> {
    let length = list.length().filter(|_| list.type_name() == "list");
    length.ok_or_else(Fault::no_overload)
}

/// The items of a list, each of which costs a step.
pub(super) fn items<'a>(meter: &mut Meter, list: &Value<'a>) -> Result<Vec<Value<'a>>> {
    length(list)?;
    lists::items(meter, list)
}

/// Keeps the first of equal items. An empty list stays what it is, which only matters if its schema
/// makes it a set or a map. Source: `distinctList`.
fn distinct<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [list] = given else {
        return Err(Fault::no_overload());
    };
    let mut made: Vec<Value<'a>> = Vec::new();
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for item in items(meter, list)? {
        let alike = places.entry(compare::fingerprint(meter, &item)?);
        let alike = alike.or_default();
        let known = alike.iter().filter_map(|place| made.get(*place));
        if !is_known(meter, known, &item)? {
            alike.push(made.len());
            made.push(item);
        }
    }
    if made.is_empty() {
        return Ok(list.clone());
    }
    Ok(Value::list(made))
}

fn is_known<'k, 'a: 'k>(
    meter: &mut Meter,
    known: impl Iterator<Item = &'k Value<'a>>,
    item: &Value<'_>,
) -> Result<bool> {
    for one in known {
        if compare::equal(meter, item, one)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Replaces lists in a list by their items, down to this depth. How deep lists nest is up to the
/// expression, so this does not recurse.
fn flattened<'a>(meter: &mut Meter, list: &Value<'a>, depth: usize) -> Result<Value<'a>> {
    let mut made = Vec::new();
    let mut open = vec![items(meter, list)?.into_iter()];
    while let Some(innermost) = open.last_mut() {
        match innermost.next() {
            None => {
                open.pop();
            }
            Some(item) if open.len() <= depth && item.type_name() == "list" => {
                open.push(items(meter, &item)?.into_iter());
            }
            Some(item) => made.push(item),
        }
    }
    Ok(Value::list(made))
}

/// Source: `genRange`. Until `cel-go`'s pull request 1310, a negative length made an empty list, and none
/// was too large.
fn range<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::Int(size)] = given else {
        return Err(Fault::no_overload());
    };
    if *size < 0 {
        let why = format!("lists.range: size must be non-negative, got {size}");
        return Err(Fault::failed(why));
    }
    if *size > RANGE_MAX {
        let why = format!("lists.range: size {size} exceeds maximum allowed ({RANGE_MAX})");
        return Err(Fault::failed(why));
    }
    meter.spend(size.unsigned_abs())?;
    Ok(Value::list((0..*size).map(Value::Int).collect()))
}

fn slice<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [list, Value::Int(start), Value::Int(end)] = given else {
        return Err(Fault::no_overload());
    };
    let length = length(list)?;
    let wrong = |why: &str| Fault::failed(format!("cannot slice({start}, {end}), {why}"));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Err(wrong("negative indexes not supported"));
    };
    if from > to {
        let why = "start index must be less than or equal to end index";
        return Err(wrong(why));
    }
    if length < to {
        return Err(wrong(&format!("list is length {length}")));
    }
    meter.spend((to - from) as u64)?;
    let items = (from..to).map(|index| list.item(meter, index).transpose());
    let items: Result<Vec<Value<'a>>> = items.flatten().collect();
    items.map(Value::list)
}

/// An item of a list, and the key by which it is sorted.
type Keyed<'a> = (Value<'a>, Value<'a>);

/// Sorts the items of a list by their keys. An empty list stays what it is. Source:
/// `sortListByAssociatedKeys`. Items with equal keys keep their order, as upstream up to twelve items;
/// beyond, `sort.Slice` promises no order of theirs.
pub(in crate::cel) fn sort_by_keys<'a>(
    meter: &mut Meter,
    list: &Value<'a>,
    keyed: Vec<Keyed<'a>>,
) -> Result<Value<'a>> {
    length(list)?;
    let Some((_, first)) = keyed.first() else {
        return Ok(list.clone());
    };
    if !is_comparable(first) {
        return Err(Fault::failed("list elements must be comparable"));
    }
    let wanted = first.type_name();
    if keyed.iter().any(|(_, key)| key.type_name() != wanted) {
        return Err(Fault::failed("list elements must have the same type"));
    }
    let sorted = sorted(meter, keyed)?.into_iter();
    Ok(Value::list(sorted.map(|(item, _)| item).collect()))
}

/// Whether values of this type have an order. Source: `comparableTypes`.
const fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Bool(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::Text(_)
            | Value::Bytes(_)
    )
}

/// Merges sorted halves. The sorts of the standard library cannot be stopped when a comparison can no
/// longer be paid for, and may panic if there is a NaN.
fn sorted<'a>(meter: &mut Meter, mut keyed: Vec<Keyed<'a>>) -> Result<Vec<Keyed<'a>>> {
    if keyed.len() < 2 {
        return Ok(keyed);
    }
    let rest = keyed.split_off(keyed.len() / 2);
    let mut made = Vec::with_capacity(keyed.len() + rest.len());
    let mut left = sorted(meter, keyed)?.into_iter().peekable();
    let mut right = sorted(meter, rest)?.into_iter().peekable();
    while let (Some((_, one)), Some((_, other))) = (left.peek(), right.peek()) {
        let is_first = is_less(meter, other, one)?;
        made.extend(if is_first { right.next() } else { left.next() });
    }
    made.extend(left.chain(right));
    Ok(made)
}

fn is_less(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool> {
    meter.spend(1)?;
    let order = compare::order(meter, one, other)?;
    Ok(order.is_some_and(Ordering::is_lt))
}
