//! Conversions between types, and `size`, `type` and `dyn`.

use super::super::meter::{Fault, Meter};
use super::super::time;
use super::super::value::Value;
use super::Native;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        (
            "size(string) int
            size(bytes) int
            size(list(A)) int
            size(map(A, B)) int
            string.size() int
            bytes.size() int
            list(A).size() int
            map(A, B).size() int",
            size,
        ),
        ("type(A) type", |_, given| match given {
            [value] => Ok(Value::Type(value.type_name())),
            _ => Err(Fault::no_overload()),
        }),
        ("dyn(A) dyn", |_, given| match given {
            [value] => Ok(value.clone()),
            _ => Err(Fault::no_overload()),
        }),
        (
            "int(int) int
            int(uint) int
            int(double) int
            int(string) int
            int(timestamp) int
            int(duration) int",
            int,
        ),
        (
            "uint(uint) uint\nuint(int) uint\nuint(double) uint\nuint(string) uint",
            uint,
        ),
        (
            "double(double) double
            double(int) double
            double(uint) double
            double(string) double",
            double,
        ),
        (
            "string(string) string
            string(int) string
            string(uint) string
            string(double) string
            string(bool) string
            string(bytes) string
            string(timestamp) string
            string(duration) string
            string(net.IP) string
            string(net.CIDR) string",
            |meter, given| match given {
                [Value::Address(address)] => Ok(Value::text(address.to_string())),
                [Value::Range(range)] => Ok(Value::text(range.to_string())),
                [value] => written(meter, value).map(Value::text),
                _ => Err(Fault::no_overload()),
            },
        ),
        ("bool(bool) bool\nbool(string) bool", bool),
        ("bytes(bytes) bytes\nbytes(string) bytes", bytes),
    ]
}

fn size<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [value] = given else {
        return Err(Fault::no_overload());
    };
    let size = match value {
        Value::Text(text) => {
            meter.text(text.as_str().len())?;
            text.as_str().chars().count()
        }
        Value::Bytes(bytes) => bytes.len(),
        other => other.length().ok_or_else(Fault::no_overload)?,
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn range() -> Fault {
    Fault::failed("integer overflow")
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the bounds are looked at first"
)]
fn truncated(number: f64) -> Option<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    (number > -BOUND && number < BOUND).then_some(number as i64)
}

/// Converts a number to an integer if it has no fractional part.
pub(in crate::cel) fn whole(number: f64) -> Option<i64> {
    truncated(number).filter(|_| number.fract() == 0.0)
}

fn int<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let number = match given {
        [Value::Int(number)] => *number,
        [Value::Uint(number)] => i64::try_from(*number).map_err(|_| range())?,
        [Value::Double(number)] => truncated(*number).ok_or_else(range)?,
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            let number = text.as_str().parse();
            number.map_err(|_| Fault::failed("type conversion error from 'string' to 'int'"))?
        }
        [Value::Timestamp(moment)] => moment.timestamp(),
        [Value::Duration(span)] => *span,
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Int(number))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the bounds are looked at first"
)]
fn uint<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    const BOUND: f64 = 18_446_744_073_709_551_616.0;
    let number = match given {
        [Value::Uint(number)] => *number,
        [Value::Int(number)] => u64::try_from(*number).map_err(|_| range())?,
        [Value::Double(number)] if *number >= 0.0 && *number < BOUND => *number as u64,
        [Value::Double(_)] => return Err(range()),
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            let digits = Some(text.as_str()).filter(|text| !text.starts_with('+'));
            let number = digits.and_then(|digits| digits.parse().ok());
            let wrong = || Fault::failed("type conversion error from 'string' to 'uint'");
            number.ok_or_else(wrong)?
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Uint(number))
}

const fn is_digit(one: char) -> bool {
    one.is_ascii_digit()
}

#[expect(clippy::cast_precision_loss, reason = "as CEL converts")]
fn double<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let number = match given {
        [Value::Double(number)] => *number,
        [Value::Int(number)] => *number as f64,
        [Value::Uint(number)] => *number as f64,
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            let wrong = || Fault::failed("type conversion error from 'string' to 'double'");
            let number: Option<f64> = text.as_str().parse().ok();
            // A number with digits must be finite; infinity has to be spelled out.
            let written = |number: &f64| number.is_finite() || !text.as_str().contains(is_digit);
            number.filter(written).ok_or_else(wrong)?
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Double(number))
}

/// Formats a number like Go's `%g`: with an exponent below 1e-4 and from 1e6 on.
pub(super) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        let text = if number > 0.0 { "+Inf" } else { "-Inf" };
        return text.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    if (-4..6).contains(&power) {
        return number.to_string();
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// Converts a value to a string, as `string()` does.
pub(in crate::cel) fn written(meter: &mut Meter, value: &Value<'_>) -> Result<String> {
    Ok(match value {
        Value::Text(text) => {
            meter.text(text.as_str().len())?;
            text.as_str().to_owned()
        }
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => double_text(*number),
        Value::Bool(flag) => flag.to_string(),
        Value::Timestamp(moment) => time::moment(moment),
        Value::Duration(span) => time::seconds(*span),
        Value::Bytes(bytes) => {
            meter.text(bytes.len())?;
            let text = String::from_utf8(bytes.to_vec());
            text.map_err(|_| Fault::failed("invalid UTF-8 in bytes, cannot convert to string"))?
        }
        _ => return Err(Fault::no_overload()),
    })
}

fn bool<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let text = match given {
        [Value::Bool(flag)] => return Ok(Value::Bool(*flag)),
        [Value::Text(text)] => text.as_str(),
        _ => return Err(Fault::no_overload()),
    };
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
        _ => Err(Fault::failed(
            "type conversion error from 'string' to 'bool'",
        )),
    }
}

fn bytes<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    match given {
        [Value::Bytes(bytes)] => Ok(Value::Bytes(bytes.clone())),
        [Value::Text(text)] => {
            meter.text(text.as_str().len())?;
            Ok(Value::Bytes(text.as_str().as_bytes().into()))
        }
        _ => Err(Fault::no_overload()),
    }
}
