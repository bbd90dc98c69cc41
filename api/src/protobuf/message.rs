//! Converts a message to JSON as a Go server would write it: zeros are omitted where Go omits them.

use super::special;
use super::table::{Field, Kind, Name, Shape, TABLE};
use super::wire::{self, Wire};
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Map, Value, json};

/// The members, or why the bytes are not the message.
pub(super) fn read(name: Name, bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let mut members = Map::new();
    merge(&mut members, name, bytes)?;
    Ok(members)
}

/// Adds the members of a message to those that were read of it before: parts of one may come one after another. Unknown
/// fields, those of a later Kubernetes, are skipped as upstream does. No message of the table contains itself, so the
/// recursion is no deeper than the table. Source: `unmarshal.go` of gogo's `protoc-gen-gogo`, which decodes a message
/// that is there already into that.
fn merge(members: &mut Map<String, Value>, name: Name, bytes: &[u8]) -> Result<(), String> {
    let known = TABLE.fields(name);
    for field in wire::fields(bytes) {
        let broken = || format!("{}.{} is cut short or damaged", name.0, name.1);
        let (number, wire) = field.ok_or_else(broken)?;
        let Some(field) = known.iter().find(|field| field.number == number) else {
            continue;
        };
        add(members, field, wire)
            .map_err(|error| format!("{error} (field {number} of {}.{})", name.0, name.1))?;
    }
    Ok(())
}

fn add(members: &mut Map<String, Value>, field: &Field, wire: Wire<'_>) -> Result<(), String> {
    match field.shape {
        Shape::Single => set(members, field, wire)?,
        Shape::Inline => match (field.kind, wire) {
            (Kind::Message(name), Wire::Bytes(bytes)) => merge(members, name, bytes)?,
            _ => return Err(wrong_type(field)),
        },
        Shape::List => {
            let item = element(field, wire)?;
            let list = members.entry(field.name).or_insert_with(|| json!([]));
            list.as_array_mut()
                .map(|list| list.push(item))
                .ok_or("a list is also something else")?;
        }
        Shape::Map => {
            let (key, value) = entry(field, wire)?;
            let map = members.entry(field.name).or_insert_with(|| json!({}));
            map.as_object_mut()
                .map(|map| map.insert(key, value))
                .ok_or("a map is also something else")?;
        }
    }
    Ok(())
}

fn set(members: &mut Map<String, Value>, field: &Field, wire: Wire<'_>) -> Result<(), String> {
    if let (Kind::Message(name), Wire::Bytes(bytes)) = (field.kind, wire) {
        let known = members.entry(field.name).or_insert_with(|| json!({}));
        let known = known.as_object_mut();
        return merge(
            known.ok_or("a message is also something else")?,
            name,
            bytes,
        );
    }
    match value(field, wire)? {
        Some(value) => members.insert(field.name.into(), value),
        None => members.remove(field.name),
    };
    Ok(())
}

/// The value of a single field; `None` where it is a zero that JSON omits.
fn value(field: &Field, wire: Wire<'_>) -> Result<Option<Value>, String> {
    let zero = match (field.kind, wire) {
        (Kind::Text | Kind::Time | Kind::MicroTime, Wire::Bytes(bytes)) => bytes.is_empty(),
        (Kind::Bool | Kind::Integer, Wire::Number(number)) => number == 0,
        _ => false,
    };
    if zero && !field.keeps_zero {
        return Ok(None);
    }
    element(field, wire).map(Some)
}

fn element(field: &Field, wire: Wire<'_>) -> Result<Value, String> {
    match (field.kind, wire) {
        (Kind::Bool, Wire::Number(number)) => Ok((number != 0).into()),
        (Kind::Integer, Wire::Number(number)) => Ok(number.cast_signed().into()),
        (Kind::Text, Wire::Bytes(bytes)) => Ok(text(bytes)?.into()),
        (Kind::Bytes, Wire::Bytes(bytes)) => Ok(BASE64_STANDARD.encode(bytes).into()),
        (Kind::Message(name), Wire::Bytes(bytes)) => read(name, bytes).map(Value::Object),
        (Kind::Time, Wire::Bytes(bytes)) => Ok(special::time(bytes)?.to_rfc3339().into()),
        (Kind::MicroTime, Wire::Bytes(bytes)) => {
            Ok(special::time(bytes)?.to_rfc3339_micros().into())
        }
        (Kind::Quantity, Wire::Bytes(bytes)) => special::quantity(bytes),
        (Kind::IntOrString, Wire::Bytes(bytes)) => special::int_or_string(bytes),
        (Kind::Json, Wire::Bytes(bytes)) => special::document(bytes),
        (Kind::Texts, Wire::Bytes(bytes)) => special::texts(bytes),
        _ => Err(wrong_type(field)),
    }
}

fn wrong_type(field: &Field) -> String {
    format!("{} has the wrong type", field.name)
}

/// A key and its value; on the wire either is omitted where it is zero.
fn entry(field: &Field, wire: Wire<'_>) -> Result<(String, Value), String> {
    let damaged = || format!("{} has a damaged entry", field.name);
    let Wire::Bytes(bytes) = wire else {
        return Err(damaged());
    };
    let (mut key, mut value) = (String::new(), Wire::Bytes(&[]));
    for field in wire::fields(bytes) {
        match field.ok_or_else(damaged)? {
            (1, Wire::Bytes(bytes)) => key = text(bytes)?,
            (1, _) => return Err(damaged()),
            (2, wire) => value = wire,
            _ => {}
        }
    }
    Ok((key, element(field, value)?))
}

pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".into())
}
