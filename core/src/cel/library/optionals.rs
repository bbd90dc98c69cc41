//! Values that may be absent.

use super::super::meter::Fault;
use super::super::value::Value;
use super::Native;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("optional.of(A) optional(A)", |_, given| match given {
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Fault::no_overload()),
        }),
        ("optional.none() optional(A)", |_, _| {
            Ok(Value::Optional(None))
        }),
        (
            "optional.ofNonZeroValue(A) optional(A)",
            |_, given| match given {
                [value] if is_zero(value) => Ok(Value::Optional(None)),
                [value] => Ok(Value::some(value.clone())),
                _ => Err(Fault::no_overload()),
            },
        ),
        ("optional(A).hasValue() bool", |_, given| match given {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => Err(Fault::no_overload()),
        }),
        ("optional(A).value() A", |_, given| match given {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(Fault::failed("optional.none() dereference")),
            _ => Err(Fault::no_overload()),
        }),
        ("optional(A).orValue(A) A", |_, given| match given {
            [Value::Optional(Some(value)), _] => Ok((**value).clone()),
            [Value::Optional(None), otherwise] => Ok(otherwise.clone()),
            _ => Err(Fault::no_overload()),
        }),
        (
            "optional(A).or(optional(A)) optional(A)",
            |_, given| match given {
                [Value::Optional(None), otherwise @ Value::Optional(_)] => Ok(otherwise.clone()),
                [value @ Value::Optional(Some(_)), _] => Ok(value.clone()),
                _ => Err(Fault::no_overload()),
            },
        ),
    ]
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Optional(None) => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) | Value::Duration(number) => *number == 0,
        Value::Uint(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::Text(text) => text.as_str().is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        other => other.length() == Some(0),
    }
}
