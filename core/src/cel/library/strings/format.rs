//! `'%s is %d'.format([...])`. Source: `cel-go`'s `ext/formatting.go`.

use super::super::super::meter::{Fault, Meter};
use super::super::super::value::Value;
use super::super::{convert, lists};
use super::{Result, bounded, one};

/// Digits behind the point where none are asked for.
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

/// `.2f`: the letter, the digits, and what is behind it.
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

#[expect(clippy::cast_precision_loss, reason = "as CEL converts")]
fn formatted(meter: &mut Meter, verb: char, precision: usize, value: &Value<'_>) -> Result<String> {
    Ok(match (verb, value) {
        ('s', value) => plain(meter, value)?,
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::Uint(number)) => number.to_string(),
        ('f', Value::Double(number)) => format!("{number:.precision$}"),
        ('f', Value::Int(number)) => format!("{:.precision$}", *number as f64),
        ('b', Value::Int(number)) if *number >= 0 => format!("{number:b}"),
        ('b', Value::Bool(flag)) => u8::from(*flag).to_string(),
        ('o', Value::Int(number)) if *number >= 0 => format!("{number:o}"),
        ('x', Value::Int(number)) if *number >= 0 => format!("{number:x}"),
        ('X', Value::Int(number)) if *number >= 0 => format!("{number:X}"),
        _ => {
            let why = format!(
                "error during formatting: no formatting clause %{verb} for {}",
                value.type_name()
            );
            return Err(Fault::failed(why));
        }
    })
}

fn plain(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    if value.type_name() != "list" {
        return match value {
            Value::Null => Ok("null".to_owned()),
            other => convert::written(meter, other),
        };
    }
    let mut texts = Vec::new();
    for item in lists::items(meter, value)? {
        texts.push(match item {
            Value::Null => "null".to_owned(),
            other => convert::written(meter, &other)?,
        });
    }
    Ok(format!("[{}]", texts.join(", ")))
}
