//! `'%s is %d'.format([...])`. Source: `cel-go`'s `ext/formatting.go`.

use super::super::super::meter::{Fault, Meter};
use super::super::super::value::Value;
use super::super::{convert, lists};
use super::{Result, bounded, one};
use crate::go::quoted;

/// Digits after the decimal point if the verb does not say how many.
const PRECISION: usize = 6;
const PRECISION_MAX: usize = 64;

pub(super) fn format<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let template = one(meter, given)?;
    let values = given.get(1).ok_or_else(Fault::no_overload)?;
    let mut values = lists::items(meter, values)?.into_iter();
    let mut made = String::new();
    let mut rest = template;
    while let Some((head, tail)) = rest.split_once('%') {
        made.push_str(head);
        let (verb, precision, tail) = verb(tail)?;
        if verb == '%' {
            made.push('%');
        } else {
            let missing = || Fault::failed("index out of range");
            let value = values.next().ok_or_else(missing)?;
            let text = formatted(meter, verb, precision, &value)?;
            made.push_str(&text);
        }
        bounded(meter, made.len())?;
        rest = tail;
    }
    made.push_str(rest);
    Ok(Value::text(made))
}

/// Parses `.2f`: returns the verb, the precision and the rest of the text.
fn verb(text: &str) -> Result<(char, usize, &str)> {
    let wrong = || Fault::failed("unrecognized formatting clause");
    let (precision, text) = match text.strip_prefix('.') {
        None => (PRECISION, text),
        Some(rest) => {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = rest.split_at(length);
            (digits.parse().map_err(|_| wrong())?, rest)
        }
    };
    let verb = text.chars().next().ok_or_else(wrong)?;
    let rest = text.get(verb.len_utf8()..).unwrap_or_default();
    if precision > PRECISION_MAX {
        return Err(wrong());
    }
    Ok((verb, precision, rest))
}

fn formatted(meter: &mut Meter, verb: char, precision: usize, value: &Value<'_>) -> Result<String> {
    Ok(match (verb, value) {
        ('s', value) => plain(meter, value)?,
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::Uint(number)) => number.to_string(),
        ('f', Value::Double(number)) => fixed(*number, precision),
        ('b', Value::Bool(flag)) => u8::from(*flag).to_string(),
        ('b' | 'o' | 'x' | 'X', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{}", digits(verb, number.unsigned_abs()))
        }
        ('b' | 'o' | 'x' | 'X', Value::Uint(number)) => digits(verb, *number),
        ('x' | 'X', Value::Text(text)) => pairs(meter, verb, text.as_str().as_bytes())?,
        ('x' | 'X', Value::Bytes(bytes)) => pairs(meter, verb, bytes)?,
        _ => {
            let why = format!(
                "error during formatting: no formatting clause %{verb} for {}",
                value.type_name()
            );
            return Err(Fault::failed(why));
        }
    })
}

fn digits(verb: char, number: u64) -> String {
    match verb {
        'b' => format!("{number:b}"),
        'o' => format!("{number:o}"),
        'x' => format!("{number:x}"),
        _ => format!("{number:X}"),
    }
}

fn pairs(meter: &mut Meter, verb: char, bytes: &[u8]) -> Result<String> {
    bounded(meter, bytes.len().saturating_mul(2))?;
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        let pair = match verb {
            'x' => format!("{byte:02x}"),
            _ => format!("{byte:02X}"),
        };
        text.push_str(&pair);
    }
    Ok(text)
}

fn fixed(number: f64, precision: usize) -> String {
    if number.is_finite() {
        format!("{number:.precision$}")
    } else {
        convert::double_text(number)
    }
}

/// Formats a value at the top level; items of a list or map are formatted as CEL literals.
fn plain(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    match value.type_name() {
        "list" => list(meter, value),
        "map" => map(meter, value),
        "null_type" => Ok("null".to_owned()),
        _ => convert::written(meter, value),
    }
}

fn list(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    let mut texts = Vec::new();
    for item in lists::items(meter, value)? {
        texts.push(literal(meter, &item)?);
    }
    joined(meter, '[', &texts, ']')
}

fn map(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    let mut written = Vec::new();
    for key in lists::items(meter, value)? {
        let found = match (value, &key) {
            (Value::Object(..), Value::Text(name)) => value.member(meter, name.as_str())?,
            _ => None,
        };
        if let Some(found) = found {
            written.push((literal(meter, &key)?, literal(meter, &found)?));
        }
    }
    if let Value::Map(entries) = value {
        for (key, value) in entries.iter() {
            written.push((literal(meter, key)?, literal(meter, value)?));
        }
    }
    written.sort_by(|one, other| one.0.cmp(&other.0));
    let texts = written.iter().map(|(key, value)| format!("{key}:{value}"));
    let texts: Vec<String> = texts.collect();
    joined(meter, '{', &texts, '}')
}

fn joined(meter: &mut Meter, open: char, texts: &[String], close: char) -> Result<String> {
    let text = format!("{open}{}{close}", texts.join(", "));
    bounded(meter, text.len())?;
    Ok(text)
}

fn literal(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    let text = match value {
        Value::Double(number) => fixed(*number, PRECISION),
        other => plain(meter, other)?,
    };
    Ok(match value {
        Value::Text(_) => quoted(&text),
        Value::Bytes(_) => format!("b{}", quoted(&text)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&text)),
        Value::Duration(_) => format!("duration({})", quoted(&text)),
        Value::Double(number) if !number.is_finite() => quoted(&text),
        _ => text,
    })
}
