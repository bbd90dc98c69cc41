//! Functions of quantities, and the order of versions. Source:
//! `k8s.io/apiserver/pkg/cel/library/quantity.go`.

use super::super::compare;
use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::quantity::Quantity;
use std::cmp::Ordering;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("quantity(string) kubernetes.Quantity", |meter, given| {
            let wrong = || {
                let why = "quantities must match the regular expression \
                           '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
                Fault::failed(why)
            };
            read(meter, given)?.map(made).ok_or_else(wrong)
        }),
        ("isQuantity(string) bool", |meter, given| {
            read(meter, given).map(|found| Value::Bool(found.is_some()))
        }),
        ("kubernetes.Quantity.isInteger() bool", |_, given| {
            one(given).map(|quantity| Value::Bool(quantity.integer().is_some()))
        }),
        ("kubernetes.Quantity.asInteger() int", |_, given| {
            let wrong = || Fault::failed("cannot convert value to integer");
            one(given)?.integer().map(Value::Int).ok_or_else(wrong)
        }),
        (
            "kubernetes.Quantity.asApproximateFloat() double",
            |_, given| one(given).map(|quantity| Value::Double(quantity.approximate())),
        ),
        ("kubernetes.Quantity.sign() int", |_, given| {
            one(given).map(|quantity| Value::Int(quantity.sign()))
        }),
        (
            "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
            kubernetes.Semver.isGreaterThan(kubernetes.Semver) bool",
            |meter, given| order(meter, given).map(|order| Value::Bool(order.is_gt())),
        ),
        (
            "kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool
            kubernetes.Semver.isLessThan(kubernetes.Semver) bool",
            |meter, given| order(meter, given).map(|order| Value::Bool(order.is_lt())),
        ),
        (
            "kubernetes.Quantity.compareTo(kubernetes.Quantity) int
            kubernetes.Semver.compareTo(kubernetes.Semver) int",
            |meter, given| order(meter, given).map(|order| Value::Int(order as i64)),
        ),
        (
            "kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity
            kubernetes.Quantity.add(int) kubernetes.Quantity",
            |_, given| combined(given, Quantity::plus),
        ),
        (
            "kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity
            kubernetes.Quantity.sub(int) kubernetes.Quantity",
            |_, given| combined(given, Quantity::minus),
        ),
    ]
}

fn read(meter: &mut Meter, given: &[Value<'_>]) -> Result<Option<Quantity>> {
    let [Value::Text(text)] = given else {
        return Err(Fault::no_overload());
    };
    meter.text(text.as_str().len())?;
    Ok(Quantity::parse(text.as_str()))
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

/// The order of two quantities or two versions, whose functions have the same names.
fn order(meter: &mut Meter, given: &[Value<'_>]) -> Result<Ordering> {
    if let [Value::Version(one), Value::Version(other)] = given {
        return compare::versions(meter, one, other);
    }
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
