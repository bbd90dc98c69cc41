//! Quantities. Source: `k8s.io/apiserver/pkg/cel/library/quantity.go`.

use super::super::meter::Fault;
use super::super::quantity::Quantity;
use super::super::value::Value;
use super::Native;
use std::cmp::Ordering;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("quantity(string) quantity", |_, given| match given {
            [Value::Text(text)] => {
                let wrong = || {
                    let why = "quantities must match the regular expression \
                               '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
                    Fault::failed(why)
                };
                Quantity::parse(text.as_str()).map(made).ok_or_else(wrong)
            }
            _ => Err(Fault::no_overload()),
        }),
        ("isQuantity(string) bool", |_, given| match given {
            [Value::Text(text)] => Ok(Value::Bool(Quantity::parse(text.as_str()).is_some())),
            _ => Err(Fault::no_overload()),
        }),
        ("quantity.isInteger() bool", |_, given| {
            one(given).map(|quantity| Value::Bool(quantity.integer().is_some()))
        }),
        ("quantity.asInteger() int", |_, given| {
            let wrong = || Fault::failed("cannot convert value to integer");
            one(given)?.integer().map(Value::Int).ok_or_else(wrong)
        }),
        ("quantity.asApproximateFloat() double", |_, given| {
            one(given).map(|quantity| Value::Double(quantity.approximate()))
        }),
        ("quantity.sign() int", |_, given| {
            one(given).map(|quantity| Value::Int(quantity.sign()))
        }),
        ("quantity.isGreaterThan(quantity) bool", |_, given| {
            order(given).map(|order| Value::Bool(order.is_gt()))
        }),
        ("quantity.isLessThan(quantity) bool", |_, given| {
            order(given).map(|order| Value::Bool(order.is_lt()))
        }),
        ("quantity.compareTo(quantity) int", |_, given| {
            order(given).map(|order| Value::Int(order as i64))
        }),
        (
            "quantity.add(quantity) quantity\nquantity.add(int) quantity",
            |_, given| combined(given, Quantity::plus),
        ),
        (
            "quantity.sub(quantity) quantity\nquantity.sub(int) quantity",
            |_, given| combined(given, Quantity::minus),
        ),
    ]
}

fn made<'a>(quantity: Quantity) -> Value<'a> {
    Value::Quantity(Arc::new(quantity))
}

fn one(given: &[Value<'_>]) -> Result<Quantity> {
    match given.first() {
        Some(Value::Quantity(quantity)) => Ok(**quantity),
        _ => Err(Fault::no_overload()),
    }
}

fn order(given: &[Value<'_>]) -> Result<Ordering> {
    let other = one(given.get(1..).unwrap_or_default())?;
    Ok(one(given)?.cmp(&other))
}

fn combined<'a>(
    given: &[Value<'a>],
    combine: fn(Quantity, Quantity) -> Option<Quantity>,
) -> Result<Value<'a>> {
    let other = match given.get(1) {
        Some(Value::Int(number)) => Quantity::whole(*number),
        _ => one(given.get(1..).unwrap_or_default())?,
    };
    let overflow = || Fault::failed("quantity overflow");
    combine(one(given)?, other).map(made).ok_or_else(overflow)
}
