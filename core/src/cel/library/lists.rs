//! Functions of lists. Source: `k8s.io/apiserver/pkg/cel/library/lists.go`, and the sets of
//! `cel-go`.

use super::super::compare;
use super::super::meter::{Fault, Meter};
use super::super::operators;
use super::super::value::Value;
use super::Native;
use crate::schema::ItemIdentity;
use std::cmp::Ordering;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

const SORTED: &str = "
list(int).isSorted() bool
list(uint).isSorted() bool
list(double).isSorted() bool
list(bool).isSorted() bool
list(string).isSorted() bool
list(bytes).isSorted() bool
list(duration).isSorted() bool
list(timestamp).isSorted() bool";
const LEAST: &str = "
list(int).min() int
list(uint).min() uint
list(double).min() double
list(bool).min() bool
list(string).min() string
list(bytes).min() bytes
list(duration).min() duration
list(timestamp).min() timestamp";
const MOST: &str = "
list(int).max() int
list(uint).max() uint
list(double).max() double
list(bool).max() bool
list(string).max() string
list(bytes).max() bytes
list(duration).max() duration
list(timestamp).max() timestamp";

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        (SORTED, is_sorted),
        // Each overload knows the sum of an empty list; if the item type is unknown, the last
        // overload applies.
        ("list(uint).sum() uint", |meter, given| {
            sum(meter, given, Value::Uint(0))
        }),
        ("list(double).sum() double", |meter, given| {
            sum(meter, given, Value::Double(0.0))
        }),
        ("list(duration).sum() duration", |meter, given| {
            sum(meter, given, Value::Duration(0))
        }),
        ("list(int).sum() int", |meter, given| {
            sum(meter, given, Value::Int(0))
        }),
        (LEAST, |meter, given| {
            extreme(meter, given, "min", Ordering::is_lt)
        }),
        (MOST, |meter, given| {
            extreme(meter, given, "max", Ordering::is_gt)
        }),
        (
            "sets.contains(list(A), list(A)) bool",
            |meter, given| match given {
                [one, other] => {
                    let held = held(meter, other, one)?;
                    Ok(Value::Bool(held.iter().all(|held| *held)))
                }
                _ => Err(Fault::no_overload()),
            },
        ),
        (
            "sets.intersects(list(A), list(A)) bool",
            |meter, given| match given {
                [one, other] => {
                    let held = held(meter, one, other)?;
                    Ok(Value::Bool(held.iter().any(|held| *held)))
                }
                _ => Err(Fault::no_overload()),
            },
        ),
        (
            "sets.equivalent(list(A), list(A)) bool",
            |meter, given| match given {
                [one, other] => {
                    let mut held = held(meter, one, other)?;
                    held.extend(self::held(meter, other, one)?);
                    Ok(Value::Bool(held.iter().all(|held| *held)))
                }
                _ => Err(Fault::no_overload()),
            },
        ),
    ]
}

/// Returns what a loop iterates over: items of a list or keys of a map.
pub(in crate::cel) fn items<'a>(meter: &mut Meter, value: &Value<'a>) -> Result<Vec<Value<'a>>> {
    let length = value.length().ok_or_else(Fault::no_overload)?;
    meter.spend(length as u64)?;
    value.items(meter)
}

/// Concatenates two lists. If the schema of the first makes it a set or a map, items of the second
/// replace the items with the same identity, and the others are appended.
pub(in crate::cel) fn joined<'a>(
    meter: &mut Meter,
    one: &Value<'a>,
    other: &Value<'a>,
) -> Result<Value<'a>> {
    if one.type_name() != "list" || other.type_name() != "list" {
        return Err(Fault::no_overload());
    }
    let mut made = items(meter, one)?;
    let schema = one.schema();
    let identity = schema.map(|schema| &schema.identity);
    for item in items(meter, other)? {
        let at = match identity {
            None | Some(ItemIdentity::Place | ItemIdentity::Atomic) => None,
            Some(ItemIdentity::Set) => place(meter, &made, &item, &[])?,
            Some(ItemIdentity::Map(keys)) => place(meter, &made, &item, keys)?,
        };
        match at.and_then(|at| made.get_mut(at)) {
            Some(known) => *known = item,
            None => made.push(item),
        }
    }
    Ok(Value::List(Arc::new(made), schema))
}

/// The index of the item that has the same identity: equal keys in a map, an equal value in a set.
fn place(
    meter: &mut Meter,
    made: &[Value<'_>],
    item: &Value<'_>,
    keys: &[Arc<str>],
) -> Result<Option<usize>> {
    for (at, known) in made.iter().enumerate() {
        let mut same = !keys.is_empty() || compare::equal(meter, known, item)?;
        for key in keys {
            let pair = known.member(meter, key)?.zip(item.member(meter, key)?);
            let agrees = pair.map(|(one, other)| compare::equal(meter, &one, &other));
            same = same && agrees.transpose()?.unwrap_or(true);
        }
        if same {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn held(meter: &mut Meter, items: &Value<'_>, holder: &Value<'_>) -> Result<Vec<bool>> {
    let mut held = Vec::new();
    for item in self::items(meter, items)? {
        held.push(compare::contains(meter, holder, &item)?);
    }
    Ok(held)
}

fn order(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<Ordering> {
    compare::order(meter, one, other)?.ok_or_else(Fault::no_overload)
}

fn is_sorted<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [list] = given else {
        return Err(Fault::no_overload());
    };
    let items = items(meter, list)?;
    for (one, next) in items.iter().zip(items.iter().skip(1)) {
        if order(meter, one, next)?.is_gt() {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(meter: &mut Meter, given: &[Value<'a>], zero: Value<'a>) -> Result<Value<'a>> {
    let [list] = given else {
        return Err(Fault::no_overload());
    };
    let mut items = items(meter, list)?.into_iter();
    let Some(mut sum) = items.next() else {
        return Ok(zero);
    };
    for item in items {
        sum = operators::add(meter, &[sum, item])?;
    }
    Ok(sum)
}

fn extreme<'a>(
    meter: &mut Meter,
    given: &[Value<'a>],
    name: &str,
    better: fn(Ordering) -> bool,
) -> Result<Value<'a>> {
    let [list] = given else {
        return Err(Fault::no_overload());
    };
    let mut items = items(meter, list)?.into_iter();
    let empty = || Fault::failed(format!("{name} called on empty list"));
    let mut best = items.next().ok_or_else(empty)?;
    for item in items {
        if better(order(meter, &item, &best)?) {
            best = item;
        }
    }
    Ok(best)
}

/// The index of the first or the last item that is equal to `wanted`, or -1.
pub(super) fn index_of<'a>(
    meter: &mut Meter,
    list: &Value<'a>,
    wanted: &Value<'a>,
    last: bool,
) -> Result<Value<'a>> {
    let items = items(meter, list)?;
    let mut found = -1;
    for (index, item) in items.iter().enumerate() {
        if compare::equal(meter, item, wanted)? {
            found = i64::try_from(index).unwrap_or(i64::MAX);
            if !last {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}
