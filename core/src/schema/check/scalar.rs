//! Bounds of strings and numbers.

use super::{Path, Report};
use crate::rejection::FieldCause;
use crate::schema::{Bounds, Schema};
use serde_json::{Number, Value};

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
    if let Some(pattern) = bounds.pattern.as_ref().filter(|one| !one.is_match(text)) {
        let why = format_args!("should match '{pattern}'");
        report.invalid(at, text, why);
    }
    if let Some(format) = schema.format.filter(|format| !format.fits(text)) {
        report.wrong_type(at, format.name(), text);
    }
}

pub(super) fn number(bounds: &Bounds, number: &Number, at: &Path<'_>, report: &mut Report) {
    let Some(value) = number.as_f64() else { return };
    let mut refuse = |why: String| {
        report.invalid(at, Value::Number(number.clone()), why);
    };
    // An integer is compared with the integral part of a bound, and that is what the message shows.
    let bound = |bound: f64| {
        if number.is_f64() {
            bound
        } else {
            bound.trunc()
        }
    };
    let shown = |bound: f64| shown(bound, number.is_f64());
    if let Some(factor) = bounds.multiple_of.map(bound)
        && factor > 0.0
        && (value / factor).fract() != 0.0
    {
        refuse(format!("should be a multiple of {}", shown(factor)));
    }
    if let Some(max) = bounds.maximum.map(bound) {
        if bounds.exclusive_maximum && value >= max {
            refuse(format!("should be less than {}", shown(max)));
        } else if value > max {
            refuse(format!("should be less than or equal to {}", shown(max)));
        }
    }
    if let Some(min) = bounds.minimum.map(bound) {
        if bounds.exclusive_minimum && value <= min {
            refuse(format!("should be greater than {}", shown(min)));
        } else if value < min {
            refuse(format!("should be greater than or equal to {}", shown(min)));
        }
    }
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
