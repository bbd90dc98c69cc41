//! What is the same, what is less, and what is in what.

use super::meter::{Fault, Meter};
use super::value::Value;
use crate::schema::Identity;
use std::cmp::Ordering;

/// Whether two values are equal. Values of types that have nothing in common are not.
pub(super) fn equal(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    meter.spend(1)?;
    if let (Some(length), Some(same)) = (one.length(), other.length()) {
        let alike = one.type_name() == other.type_name();
        return Ok(length == same && alike && all_equal(meter, one, other)?);
    }
    Ok(match (one, other) {
        (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Type(one), Value::Type(other)) => one == other,
        (Value::Text(one), Value::Text(other)) => {
            meter.text(one.as_str().len())?;
            one.as_str() == other.as_str()
        }
        (Value::Optional(Some(one)), Value::Optional(Some(other))) => {
            return equal(meter, one, other);
        }
        (one, other) => order(one, other) == Some(Ordering::Equal),
    })
}

fn all_equal(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    if one.type_name() == "map" {
        for (key, value) in entries(one) {
            let Some(same) = find(meter, other, &key)? else {
                return Ok(false);
            };
            if !equal(meter, &value, &same)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let unordered = |value: &Value<'_>| {
        let schema = value.schema();
        schema.is_some_and(|schema| schema.identity != Identity::Atomic)
    };
    if unordered(one) && unordered(other) {
        return within(meter, one, other);
    }
    let items = one.items().unwrap_or_default();
    for (item, same) in items.iter().zip(other.items().unwrap_or_default()) {
        if !equal(meter, item, &same)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether every item of the one list is one of the other.
fn within(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    for item in one.items().unwrap_or_default() {
        if !contains(meter, other, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Keys with their values.
pub(super) fn entries<'a>(map: &Value<'a>) -> Vec<(Value<'a>, Value<'a>)> {
    if let Value::Map(entries) = map {
        return entries.to_vec();
    }
    let pair = |key: Value<'a>| {
        let Value::Text(name) = &key else { return None };
        let value = map.member(name.as_str())?;
        Some((key, value))
    };
    let keys = map.items().unwrap_or_default();
    keys.into_iter().filter_map(pair).collect()
}

/// The value of a key.
pub(super) fn find<'a>(
    meter: &mut Meter,
    map: &Value<'a>,
    key: &Value<'_>,
) -> Result<Option<Value<'a>>, Fault> {
    meter.spend(1)?;
    match (map, key) {
        (Value::Object(..), Value::Text(name)) => Ok(map.member(name.as_str())),
        (Value::Map(entries), _) => {
            for (known, value) in entries.iter() {
                if equal(meter, known, key)? {
                    return Ok(Some(value.clone()));
                }
            }
            Ok(None)
        }
        (Value::Object(..), _) => Ok(None),
        _ => Err(Fault::no_overload()),
    }
}

/// Whether a list has such an item.
pub(super) fn contains(
    meter: &mut Meter,
    list: &Value<'_>,
    wanted: &Value<'_>,
) -> Result<bool, Fault> {
    let length = list.length().unwrap_or_default();
    for item in (0..length).filter_map(|index| list.item(index)) {
        if equal(meter, &item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The order of two values; nothing where they have none.
pub(super) fn order(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Text(one), Value::Text(other)) => Some(one.as_str().cmp(other.as_str())),
        (Value::Bytes(one), Value::Bytes(other)) => Some(one.cmp(other)),
        (Value::Duration(one), Value::Duration(other)) => Some(one.cmp(other)),
        (Value::Timestamp(one), Value::Timestamp(other)) => Some(one.cmp(other)),
        (Value::Quantity(one), Value::Quantity(other)) => Some(one.cmp(other)),
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Double(one), other) => one.partial_cmp(&double(other)?),
        (one, Value::Double(other)) => double(one)?.partial_cmp(other),
        (one, other) => Some(integer(one)?.cmp(&integer(other)?)),
    }
}

const fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(number) => Some(*number as i128),
        Value::Uint(number) => Some(*number as i128),
        _ => None,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of two kinds are compared so in CEL"
)]
const fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Uint(number) => Some(*number as f64),
        _ => None,
    }
}
