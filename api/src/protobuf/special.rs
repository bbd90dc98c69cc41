//! Messages whose JSON is not an object: times, quantities, ports, embedded documents, and lists that are
//! wrapped in a message.

use super::message::text;
use super::wire::{self, Wire};
use hindsight_core::Time;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// The range of RFC 3339: the years 1 to 9999.
const SECONDS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// `Time` and `MicroTime`.
pub(super) fn time(bytes: &[u8]) -> Result<Time, String> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in wire::fields(bytes) {
        match field.ok_or_else(|| damaged("Time"))? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = number.cast_signed(),
            (1 | 2, _) => return Err(damaged("Time")),
            _ => {}
        }
    }
    if SECONDS.contains(&seconds) && (0..1_000_000_000).contains(&nanos) {
        Ok(Time(seconds * 1_000_000 + nanos / 1000))
    } else {
        Err("a time is out of range".into())
    }
}

/// The canonical text that Kubernetes sends; an empty one is zero.
pub(super) fn quantity(bytes: &[u8]) -> Result<Value, String> {
    let mut quantity = "0".to_owned();
    for field in wire::fields(bytes) {
        match field.ok_or_else(|| damaged("Quantity"))? {
            (1, Wire::Bytes(b"")) => {}
            (1, Wire::Bytes(bytes)) => quantity = text(bytes)?,
            (1, _) => return Err(damaged("Quantity")),
            _ => {}
        }
    }
    Ok(quantity.into())
}

/// `IntOrString`: a discriminator, and both values beside it.
pub(super) fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number_value, mut text_value) = (false, 0, String::new());
    for field in wire::fields(bytes) {
        match field.ok_or_else(|| damaged("IntOrString"))? {
            (1, Wire::Number(number)) => is_text = number == 1,
            (2, Wire::Number(number)) => number_value = number.cast_signed(),
            (3, Wire::Bytes(bytes)) => text_value = text(bytes)?,
            (1..=3, _) => return Err(damaged("IntOrString")),
            _ => {}
        }
    }
    Ok(if is_text {
        text_value.into()
    } else {
        number_value.into()
    })
}

/// `RawExtension` and `FieldsV1`: JSON in a field of bytes.
pub(super) fn document(bytes: &[u8]) -> Result<Value, String> {
    let mut document = Value::Null;
    for field in wire::fields(bytes) {
        match field.ok_or_else(|| damaged("RawExtension"))? {
            (1, Wire::Bytes(b"")) => {}
            (1, Wire::Bytes(bytes)) => {
                document = serde_json::from_slice(bytes)
                    .map_err(|error| format!("a document within it is not JSON: {error}"))?;
            }
            (1, _) => return Err(damaged("RawExtension")),
            _ => {}
        }
    }
    Ok(document)
}

/// `ExtraValue`: a list in a message of its own, because maps cannot hold lists.
pub(super) fn texts(bytes: &[u8]) -> Result<Value, String> {
    let mut texts = Vec::new();
    for field in wire::fields(bytes) {
        match field.ok_or_else(|| damaged("ExtraValue"))? {
            (1, Wire::Bytes(bytes)) => texts.push(text(bytes)?),
            (1, _) => return Err(damaged("ExtraValue")),
            _ => {}
        }
    }
    Ok(json!(texts))
}

fn damaged(name: &str) -> String {
    format!("{name} is cut short or damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_messages_read_as_the_json_of_kubernetes() {
        let time = time(b"\x08\x80\xe8\x92\xff\x06\x10\xc0\xc4\x07").expect("a time");
        assert_eq!(time.to_rfc3339_micros(), "2029-06-27T12:54:24.000123Z");
        assert_eq!(quantity(b"\x0a\x03100"), Ok(json!("100")));
        assert_eq!(quantity(b""), Ok(json!("0")));
        assert_eq!(int_or_string(b"\x08\x00\x10\x50\x1a\x00"), Ok(json!(80)));
        assert_eq!(
            int_or_string(b"\x08\x01\x10\x00\x1a\x03web"),
            Ok(json!("web"))
        );
        assert_eq!(document(b"\x0a\x07{\"a\":1}"), Ok(json!({"a": 1})));
        assert_eq!(texts(b"\x0a\x01a\x0a\x01b"), Ok(json!(["a", "b"])));
    }

    #[test]
    fn unknown_fields_are_skipped_and_damaged_ones_refused() {
        let unknown = b"\x78\x01";
        let with = |bytes: &[u8]| [bytes, unknown].concat();
        assert_eq!(time(&with(b"\x08\x01")).map(|time| time.0), Ok(1_000_000));
        assert_eq!(quantity(&with(b"\x0a\x011")), Ok(json!("1")));
        assert_eq!(int_or_string(&with(b"\x10\x50")), Ok(json!(80)));
        assert_eq!(document(&with(b"\x0a\x011")), Ok(json!(1)));
        assert_eq!(texts(&with(b"\x0a\x01a")), Ok(json!(["a"])));
        for refused in [
            time(b"\x0a\x01x").map(|_| ()),
            time(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f").map(|_| ()),
            quantity(b"\x08\x01").map(|_| ()),
            int_or_string(b"\x1d1234").map(|_| ()),
            document(b"\x0a\x01{").map(|_| ()),
            document(b"\x08\x01").map(|_| ()),
            texts(b"\x0a\x02a").map(|_| ()),
            texts(b"\x08\x01").map(|_| ()),
        ] {
            assert!(refused.is_err());
        }
    }
}
