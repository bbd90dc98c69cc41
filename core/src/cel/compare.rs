//! Equality, order and membership of values.

use super::library::versions::Version;
use super::meter::{Fault, Meter};
use super::value::{Text, Value};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Whether two values are equal. Values of unrelated types are unequal, not an error.
pub(super) fn equal(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    meter.spend(1)?;
    if let (Some(length), Some(same)) = (one.length(), other.length()) {
        let alike = one.type_name() == other.type_name();
        return Ok(length == same && alike && all_equal(meter, one, other)?);
    }
    Ok(match (one, other) {
        (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Type(one), Value::Type(other)) => one == other,
        (Value::Address(one), Value::Address(other)) => one == other,
        (Value::Range(one), Value::Range(other)) => one == other,
        (Value::Format(one), Value::Format(other)) => std::ptr::eq(*one, *other),
        (Value::Version(one), Value::Version(other)) => {
            versions(meter, one, other)? == Ordering::Equal
        }
        (Value::Url(one), Value::Url(other)) => {
            meter.text(one.text.len().min(other.text.len()))?;
            one.text == other.text
        }
        (Value::Optional(Some(one)), Value::Optional(Some(other))) => {
            return equal(meter, one, other);
        }
        (one, other) => order(meter, one, other)? == Some(Ordering::Equal),
    })
}

/// A number that equal values have in common, and that unequal ones seldom do. It costs what reading the value costs. Of
/// a list only the length counts: whether the order of its items does is up to the schema of what it is compared with.
pub(super) fn fingerprint(meter: &mut Meter, value: &Value<'_>) -> Result<u64, Fault> {
    meter.spend(1)?;
    let mut hasher = DefaultHasher::new();
    if let Some(number) = double(value) {
        // Both zeros are equal.
        (number + 0.0).to_bits().hash(&mut hasher);
        return Ok(hasher.finish());
    }
    (value.type_name(), value.length()).hash(&mut hasher);
    match value {
        Value::Bool(flag) => flag.hash(&mut hasher),
        Value::Text(text) => {
            meter.text(text.as_str().len())?;
            text.as_str().hash(&mut hasher);
        }
        Value::Bytes(bytes) => {
            meter.text(bytes.len())?;
            bytes.hash(&mut hasher);
        }
        Value::Duration(duration) => duration.hash(&mut hasher),
        Value::Timestamp(time) => time.hash(&mut hasher),
        Value::Map(entries) => {
            let mut entries = entries.iter();
            let sum = entries.try_fold(0_u64, |sum, (key, value)| {
                Ok(sum.wrapping_add(of_entry(meter, key, value)?))
            });
            sum?.hash(&mut hasher);
        }
        Value::Object(members, _) => {
            let sum = members.keys().try_fold(0_u64, |sum, name| {
                let member = value.member(meter, name)?.unwrap_or(Value::Null);
                let key = Value::Text(Text::Borrowed(name));
                Ok(sum.wrapping_add(of_entry(meter, &key, &member)?))
            });
            sum?.hash(&mut hasher);
        }
        _ => {}
    }
    Ok(hasher.finish())
}

/// The fingerprint of an entry of a map, where the order of entries does not matter.
fn of_entry(meter: &mut Meter, key: &Value<'_>, value: &Value<'_>) -> Result<u64, Fault> {
    let mut hasher = DefaultHasher::new();
    fingerprint(meter, key)?.hash(&mut hasher);
    fingerprint(meter, value)?.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Orders two versions, which costs by the length of the shorter one.
pub(super) fn versions(
    meter: &mut Meter,
    one: &Version,
    other: &Version,
) -> Result<Ordering, Fault> {
    meter.text(one.length.min(other.length))?;
    Ok(one.order(other))
}

/// Compares two collections of equal length item by item, up to the first difference.
fn all_equal(meter: &mut Meter, one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    match one {
        Value::Map(entries) => every(entries.iter(), |(key, value)| {
            same_entry(meter, key, value, other)
        }),
        Value::Object(members, _) => every(members.keys(), |name| {
            let value = one.member(meter, name)?.unwrap_or(Value::Null);
            same_entry(meter, &Value::Text(Text::Borrowed(name)), &value, other)
        }),
        _ => {
            // The schema of the left operand decides whether the order of items matters.
            let schema = one.schema();
            let unordered = schema.is_some_and(|schema| !schema.identity.is_atomic());
            every(0..other.length().unwrap_or_default(), |index| {
                let item = other.item(meter, index)?.unwrap_or(Value::Null);
                if unordered {
                    return contains(meter, one, &item);
                }
                let same = one.item(meter, index)?.unwrap_or(Value::Null);
                equal(meter, &same, &item)
            })
        }
    }
}

fn every<T>(
    items: impl Iterator<Item = T>,
    mut holds: impl FnMut(T) -> Result<bool, Fault>,
) -> Result<bool, Fault> {
    for item in items {
        if !holds(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_entry(
    meter: &mut Meter,
    key: &Value<'_>,
    value: &Value<'_>,
    map: &Value<'_>,
) -> Result<bool, Fault> {
    match entry(meter, map, key)? {
        Some(same) => equal(meter, value, &same),
        None => Ok(false),
    }
}

/// Returns the value of a key in a map.
pub(super) fn find<'a>(
    meter: &mut Meter,
    map: &Value<'a>,
    key: &Value<'_>,
) -> Result<Option<Value<'a>>, Fault> {
    let found = entry(meter, map, key)?;
    let absent = matches!(key, Value::Text(name) if map.leaves_out(name.as_str()));
    Ok(found.filter(|_| !absent))
}

/// Like [`find`], but also returns fields that are null: equality compares them, too.
fn entry<'a>(
    meter: &mut Meter,
    map: &Value<'a>,
    key: &Value<'_>,
) -> Result<Option<Value<'a>>, Fault> {
    match key {
        Value::Text(name) => meter.text(name.as_str().len())?,
        _ => meter.spend(1)?,
    }
    match (map, key) {
        (Value::Object(..), Value::Text(name)) => map.member(meter, name.as_str()),
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

/// Whether a list contains an item that is equal to `wanted`.
pub(super) fn contains(
    meter: &mut Meter,
    list: &Value<'_>,
    wanted: &Value<'_>,
) -> Result<bool, Fault> {
    let length = list.length().unwrap_or_default();
    for index in 0..length {
        let item = list.item(meter, index)?.unwrap_or(Value::Null);
        if equal(meter, &item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Orders two values, or returns `None` if they have no order. Strings and bytes cost by the length
/// that is compared.
pub(super) fn order(
    meter: &mut Meter,
    one: &Value<'_>,
    other: &Value<'_>,
) -> Result<Option<Ordering>, Fault> {
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => {
            meter.text(one.as_str().len().min(other.as_str().len()))?;
        }
        (Value::Bytes(one), Value::Bytes(other)) => meter.text(one.len().min(other.len()))?,
        _ => {}
    }
    Ok(ordered(one, other))
}

fn ordered(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Text(one), Value::Text(other)) => Some(one.as_str().cmp(other.as_str())),
        (Value::Bytes(one), Value::Bytes(other)) => Some(one.cmp(other)),
        (Value::Duration(one), Value::Duration(other)) => Some(one.cmp(other)),
        (Value::Timestamp(one), Value::Timestamp(other)) => Some(one.cmp(other)),
        (Value::Quantity(one), Value::Quantity(other)) => Some(one.cmp(other)),
        (Value::Double(_), _) | (_, Value::Double(_)) => double(one)?.partial_cmp(&double(other)?),
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
        Value::Double(number) => Some(*number),
        _ => None,
    }
}
