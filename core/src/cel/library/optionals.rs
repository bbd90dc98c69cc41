//! Functions of optional values. Source: version 2 of `cel-go`'s `optionalLib` in `cel/library.go`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::{Native, convert, sequences};

type Result<T> = std::result::Result<T, Fault>;

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
        ("list(A).first() optional(A)", |meter, given| match given {
            [list] => {
                sequences::length(list)?;
                list.item(meter, 0).map(Value::optional)
            }
            _ => Err(Fault::no_overload()),
        }),
        ("list(A).last() optional(A)", |meter, given| match given {
            [list] => match sequences::length(list)?.checked_sub(1) {
                Some(last) => list.item(meter, last).map(Value::optional),
                None => Ok(Value::Optional(None)),
            },
            _ => Err(Fault::no_overload()),
        }),
        (
            "optional.unwrap(list(optional(A))) list(A)
            list(optional(A)).unwrapOpt() list(A)",
            unwrapped,
        ),
        // These two are implemented by the evaluator.
        ("optional(A).orValue(A) A", super::undeclared),
        ("optional(A).or(optional(A)) optional(A)", super::undeclared),
    ]
}

/// Whether a call evaluates its argument only if its target has no value.
pub(in crate::cel) fn is_alternative(name: &str, member: bool) -> bool {
    member && matches!(name, "or" | "orValue")
}

/// The values of those items that have one. Source: `optUnwrap`.
fn unwrapped<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [list] = given else {
        return Err(Fault::no_overload());
    };
    let mut made = Vec::new();
    for item in sequences::items(meter, list)? {
        let Value::Optional(value) = item else {
            let shown = convert::written(meter, &item)?;
            return Err(Fault::failed(format!("value {shown} is not optional")));
        };
        made.extend(value.map(|value| (*value).clone()));
    }
    Ok(Value::list(made))
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
