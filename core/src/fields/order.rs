//! A total order of JSON values that compares numbers by value: `1` equals `1.0`.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Whether two values are equal in this order.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    compare(one, other).is_eq()
}

/// Types are ordered: numbers, strings, booleans, lists, maps, null.
pub(super) fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let pairs = one.iter().zip(other);
            let unequal = pairs
                .map(|(one, other)| compare(one, other))
                .find(|found| found.is_ne());
            unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let pairs = one.iter().zip(other);
            let member = |((name, one), (other_name, other)): ((&String, _), (&String, _))| {
                name.cmp(other_name).then_with(|| compare(one, other))
            };
            let unequal = pairs.map(member).find(|found| found.is_ne());
            unequal.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (one, other) => rank(one).cmp(&rank(other)),
    }
}

const fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn numbers(one: &Number, other: &Number) -> Ordering {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(whole), None) => against_float(whole, float(other)),
        (None, Some(whole)) => against_float(whole, float(one)).reverse(),
        (None, None) => order(float(one), float(other)),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// JSON cannot express NaN, so two numbers always have an order.
fn order(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}

/// Compares without rounding; otherwise the order would not be transitive.
fn against_float(whole: i128, float: f64) -> Ordering {
    const BEYOND_EVERY_INTEGER: f64 = 1e30;
    if float.abs() > BEYOND_EVERY_INTEGER {
        return order(0.0, float);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is in range and whole")]
    let floor = float.floor() as i128;
    whole.cmp(&floor).then_with(|| order(float.floor(), float))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_one_order_and_numbers_count_by_what_they_say() {
        let ascending = [
            json!(-1e40),
            json!(i64::MIN),
            json!(-1.5),
            json!(-1),
            json!(0),
            json!(0.5),
            json!(1),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_993_i64),
            json!(u64::MAX),
            json!(1e30),
            json!(1e40),
            json!(""),
            json!("a"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 0]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!({"b": 0}),
            json!(null),
        ];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                let expected = index.cmp(&other_index);
                assert_eq!(compare(one, other), expected, "{one} {other}");
            }
        }
        assert!(same(&json!({"a": [1.0, -0.0]}), &json!({"a": [1, 0.0]})));
    }
}
