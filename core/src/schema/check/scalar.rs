//! Bounds of strings and numbers.

use super::{Path, Report, WHOLE_MAX};
use crate::patch::whole;
use crate::rejection::FieldCause;
use crate::schema::{Bounds, Schema};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// How far a quotient may be from a whole number, as a part of it.
const TOLERANCE: f64 = 1e-9;

pub(super) fn text(schema: &Schema, text: &str, at: &Path<'_>, report: &mut Report) {
    let bounds = &schema.bounds;
    let length = || text.chars().count();
    if let Some(max) = bounds.max_length.filter(|max| length() > *max) {
        let too_long = || FieldCause::too_long(at.to_string(), max);
        report.causes.push_with(too_long);
    }
    if let Some(min) = bounds.min_length.filter(|min| length() < *min) {
        let why = format_args!("should be at least {min} chars long");
        report.invalid(at, text, why);
    }
    if let Some(pattern) = &bounds.pattern
        && !report.matches(pattern, text, at)
    {
        let why = format_args!("should match '{pattern}'");
        report.invalid(at, text, why);
    }
    if let Some(format) = schema.format.filter(|format| !format.fits(text)) {
        match format.decoding_error(text) {
            Some(why) => report.unreadable(at, &why),
            None => report.wrong_type(at, format.name(), text),
        }
    }
}

pub(super) fn number(bounds: &Bounds, number: &Number, at: &Path<'_>, report: &mut Report) {
    let mut refuse = |why: String| {
        report.invalid(at, Value::Number(number.clone()), why);
    };
    let bound = |bound: f64| compared_with(bound, number);
    let shown = |bound: f64| shown(bound, number.is_f64());
    if let Some(factor) = bounds.multiple_of.map(bound)
        && !is_multiple(number, factor)
    {
        refuse(format!("should be a multiple of {}", shown(factor)));
    }
    if let Some(max) = bounds.maximum.map(bound) {
        match compare(number, max) {
            Some(Ordering::Equal | Ordering::Greater) if bounds.exclusive_maximum => {
                refuse(format!("should be less than {}", shown(max)));
            }
            Some(Ordering::Greater) => {
                refuse(format!("should be less than or equal to {}", shown(max)));
            }
            _ => {}
        }
    }
    if let Some(min) = bounds.minimum.map(bound) {
        match compare(number, min) {
            Some(Ordering::Equal | Ordering::Less) if bounds.exclusive_minimum => {
                refuse(format!("should be greater than {}", shown(min)));
            }
            Some(Ordering::Less) => {
                refuse(format!("should be greater than or equal to {}", shown(min)));
            }
            _ => {}
        }
    }
}

/// An integer is compared with the integral part of a bound, and that is what the message shows.
fn compared_with(bound: f64, number: &Number) -> f64 {
    if number.is_f64() {
        bound
    } else {
        bound.trunc()
    }
}

/// Integers are compared as such: above 2^53 a float stands for several.
fn compare(number: &Number, bound: f64) -> Option<Ordering> {
    match (number.as_i64(), whole(bound)) {
        (Some(number), Some(bound)) => Some(number.cmp(&bound)),
        _ => number.as_f64()?.partial_cmp(&bound),
    }
}

/// Source: `MultipleOf` and `MultipleOfInt` of kube-openapi's validation, and `IsFloat64AJSONInteger` of swag.
fn is_multiple(number: &Number, factor: f64) -> bool {
    if let (Some(number), Some(factor)) = (number.as_i64(), whole(factor)) {
        return factor <= 0 || number % factor == 0;
    }
    let Some(number) = number.as_f64().filter(|_| factor > 0.0) else {
        return true;
    };
    let times = if factor < 1.0 {
        1.0 / factor * number
    } else {
        number / factor
    };
    let nearest = times.round();
    nearest.abs() <= WHOLE_MAX && (times - nearest).abs() <= nearest.abs() * TOLERANCE
}

/// Formats a number like Go: a float gets an exponent if that is below -4 or above 5.
fn shown(number: f64, float: bool) -> String {
    let magnitude = number.abs();
    let wide = magnitude >= 1e6 || (magnitude != 0.0 && magnitude < 1e-4);
    if !float || !wide {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}
