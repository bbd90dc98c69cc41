//! The operators. A result out of the range of its type is an error.

use super::compare;
use super::library::{Native, convert, lists};
use super::meter::{Fault, Meter};
use super::value::Value;
use std::cmp::Ordering;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

/// The signatures of a comparison; numbers of different types can be compared.
macro_rules! ordered {
    ($($name:literal)*) => {
        concat!($(
            $name, "(bool, bool) bool\n", $name, "(int, int) bool\n",
            $name, "(uint, uint) bool\n", $name, "(double, double) bool\n",
            $name, "(int, uint) bool\n", $name, "(uint, int) bool\n",
            $name, "(int, double) bool\n", $name, "(double, int) bool\n",
            $name, "(uint, double) bool\n", $name, "(double, uint) bool\n",
            $name, "(string, string) bool\n", $name, "(bytes, bytes) bool\n",
            $name, "(timestamp, timestamp) bool\n", $name, "(duration, duration) bool\n",
        )*)
    };
}

/// Returns every operator with its signatures.
pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let mut all: Vec<(&'static str, Native)> = vec![
        ("_==_(A, A) bool", |meter, given| {
            equal(meter, given).map(Value::Bool)
        }),
        ("_!=_(A, A) bool", |meter, given| {
            equal(meter, given).map(|same| Value::Bool(!same))
        }),
        ("!_(bool) bool", not),
        ("-_(int) int\n-_(double) double", negate),
        (
            "_+_(int, int) int
            _+_(uint, uint) uint
            _+_(double, double) double
            _+_(string, string) string
            _+_(bytes, bytes) bytes
            _+_(list(A), list(A)) list(A)
            _+_(timestamp, duration) timestamp
            _+_(duration, timestamp) timestamp
            _+_(duration, duration) duration",
            add,
        ),
        (
            "_-_(int, int) int
            _-_(uint, uint) uint
            _-_(double, double) double
            _-_(timestamp, timestamp) duration
            _-_(timestamp, duration) timestamp
            _-_(duration, duration) duration",
            subtract,
        ),
        (
            "_*_(int, int) int\n_*_(uint, uint) uint\n_*_(double, double) double",
            multiply,
        ),
        (
            "_/_(int, int) int\n_/_(uint, uint) uint\n_/_(double, double) double",
            divide,
        ),
        ("_%_(int, int) int\n_%_(uint, uint) uint", remainder),
        ("@in(A, list(A)) bool\n@in(A, map(A, B)) bool", is_in),
        (
            "_[_](list(A), int) A
            _[_](map(A, B), A) B
            _[_](optional(list(A)), int) optional(A)
            _[_](optional(map(A, B)), A) optional(B)",
            index,
        ),
        (
            "_[?_](list(A), int) optional(A)
            _[?_](map(A, B), A) optional(B)
            _[?_](optional(list(A)), int) optional(A)
            _[?_](optional(map(A, B)), A) optional(B)",
            optional_index,
        ),
    ];
    all.extend(comparisons());
    all
}

fn comparisons() -> [(&'static str, Native); 4] {
    [
        (
            ordered!("_<_"),
            (|meter, given| compared(meter, given, Ordering::is_lt)) as Native,
        ),
        (ordered!("_<=_"), |meter, given| {
            compared(meter, given, Ordering::is_le)
        }),
        (ordered!("_>_"), |meter, given| {
            compared(meter, given, Ordering::is_gt)
        }),
        (ordered!("_>=_"), |meter, given| {
            compared(meter, given, Ordering::is_ge)
        }),
    ]
}

fn overflow() -> Fault {
    Fault::failed("integer overflow")
}

fn equal(meter: &mut Meter, given: &[Value<'_>]) -> Result<bool> {
    match given {
        [one, other] => compare::equal(meter, one, other),
        _ => Err(Fault::no_overload()),
    }
}

fn compared<'a>(
    meter: &mut Meter,
    given: &[Value<'a>],
    is: fn(Ordering) -> bool,
) -> Result<Value<'a>> {
    let [one, other] = given else {
        return Err(Fault::no_overload());
    };
    let not_a_number = |one: &Value<'_>| matches!(one, Value::Double(one) if one.is_nan());
    match compare::order(meter, one, other)? {
        Some(order) => Ok(Value::Bool(is(order))),
        None if not_a_number(one) || not_a_number(other) => Ok(Value::Bool(false)),
        None => Err(Fault::no_overload()),
    }
}

fn not<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    match given {
        [Value::Bool(flag)] => Ok(Value::Bool(!flag)),
        _ => Err(Fault::no_overload()),
    }
}

fn negate<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    match given {
        [Value::Int(number)] => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        [Value::Double(number)] => Ok(Value::Double(-number)),
        _ => Err(Fault::no_overload()),
    }
}

pub(super) fn add<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let sum = match given {
        [Value::Int(one), Value::Int(other)] => one.checked_add(*other).map(Value::Int),
        [Value::Uint(one), Value::Uint(other)] => one.checked_add(*other).map(Value::Uint),
        [Value::Double(one), Value::Double(other)] => Some(Value::Double(one + other)),
        [Value::Duration(one), Value::Duration(other)] => {
            one.checked_add(*other).map(Value::Duration)
        }
        [Value::Timestamp(moment), Value::Duration(span)]
        | [Value::Duration(span), Value::Timestamp(moment)] => {
            let span = chrono::TimeDelta::nanoseconds(*span);
            moment.checked_add_signed(span).and_then(Value::moment)
        }
        [Value::Text(one), Value::Text(other)] => {
            let (one, other) = (one.as_str(), other.as_str());
            meter.text(one.len() + other.len())?;
            Some(Value::text([one, other].concat()))
        }
        [Value::Bytes(one), Value::Bytes(other)] => {
            meter.text(one.len() + other.len())?;
            Some(Value::Bytes([&**one, &**other].concat().into()))
        }
        [one, other] => return lists::joined(meter, one, other),
        _ => return Err(Fault::no_overload()),
    };
    sum.ok_or_else(overflow)
}

fn subtract<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let difference = match given {
        [Value::Int(one), Value::Int(other)] => one.checked_sub(*other).map(Value::Int),
        [Value::Uint(one), Value::Uint(other)] => one.checked_sub(*other).map(Value::Uint),
        [Value::Double(one), Value::Double(other)] => Some(Value::Double(one - other)),
        [Value::Duration(one), Value::Duration(other)] => {
            one.checked_sub(*other).map(Value::Duration)
        }
        [Value::Timestamp(one), Value::Timestamp(other)] => {
            let span = one.signed_duration_since(other);
            span.num_nanoseconds().map(Value::Duration)
        }
        [Value::Timestamp(moment), Value::Duration(span)] => {
            let span = chrono::TimeDelta::nanoseconds(*span);
            moment.checked_sub_signed(span).and_then(Value::moment)
        }
        _ => return Err(Fault::no_overload()),
    };
    difference.ok_or_else(overflow)
}

fn multiply<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let product = match given {
        [Value::Int(one), Value::Int(other)] => one.checked_mul(*other).map(Value::Int),
        [Value::Uint(one), Value::Uint(other)] => one.checked_mul(*other).map(Value::Uint),
        [Value::Double(one), Value::Double(other)] => Some(Value::Double(one * other)),
        _ => return Err(Fault::no_overload()),
    };
    product.ok_or_else(overflow)
}

fn divide<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let quotient = match given {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Fault::failed("division by zero"));
        }
        [Value::Int(one), Value::Int(other)] => one.checked_div(*other).map(Value::Int),
        [Value::Uint(one), Value::Uint(other)] => one.checked_div(*other).map(Value::Uint),
        [Value::Double(one), Value::Double(other)] => Some(Value::Double(one / other)),
        _ => return Err(Fault::no_overload()),
    };
    quotient.ok_or_else(overflow)
}

fn remainder<'a>(_: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let rest = match given {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            return Err(Fault::failed("modulus by zero"));
        }
        [Value::Int(one), Value::Int(other)] => one.checked_rem(*other).map(Value::Int),
        [Value::Uint(one), Value::Uint(other)] => one.checked_rem(*other).map(Value::Uint),
        _ => return Err(Fault::no_overload()),
    };
    rest.ok_or_else(overflow)
}

fn is_in<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [wanted, holder] = given else {
        return Err(Fault::no_overload());
    };
    let found = match holder.type_name() {
        "map" => compare::find(meter, holder, wanted)?.is_some(),
        "list" => compare::contains(meter, holder, wanted)?,
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Bool(found))
}

/// The list index that a number denotes. A whole number of any type will do; a negative one is
/// outside of every list.
fn place(index: &Value<'_>) -> Result<Option<usize>> {
    let number = match index {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).unwrap_or(i64::MAX),
        Value::Double(number) => convert::whole(*number).ok_or_else(Fault::no_overload)?,
        _ => return Err(Fault::no_overload()),
    };
    Ok(usize::try_from(number).ok())
}

fn found<'a>(
    meter: &mut Meter,
    holder: &Value<'a>,
    index: &Value<'a>,
) -> Result<Option<Value<'a>>> {
    match (holder.type_name(), index) {
        ("map", key) => compare::find(meter, holder, key),
        ("list", number) => match place(number)? {
            Some(place) => holder.item(meter, place),
            None => Ok(None),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn index<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [holder, index] = given else {
        return Err(Fault::no_overload());
    };
    if let Value::Optional(_) = holder {
        return optional_index(meter, given);
    }
    let value = found(meter, holder, index)?;
    value.ok_or_else(|| match index {
        Value::Int(number) if holder.type_name() == "list" => {
            Fault::failed(format!("index out of bounds: {number}"))
        }
        Value::Text(key) => Fault::failed(format!("no such key: {}", key.as_str())),
        _ => Fault::failed("no such key"),
    })
}

fn optional_index<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [holder, index] = given else {
        return Err(Fault::no_overload());
    };
    let holder = match holder {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => inner,
        other => other,
    };
    Ok(Value::Optional(found(meter, holder, index)?.map(Arc::new)))
}
