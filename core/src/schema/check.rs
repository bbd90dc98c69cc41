//! Validation of values against a schema, with the messages of `kube-openapi/pkg/validation`.

mod junctors;
mod scalar;

use super::lists::Counterparts;
use super::{Path, Pattern, Schema, Work, fill};
use crate::patch::whole;
use crate::quantity;
use crate::rejection::{CauseList, FieldCause};
use serde_json::{Map, Value};
use std::fmt::Display;

/// Above this, a float stands for several integers, and is none of them.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;

/// Returns everything that does not fit the schema, except in parts that are unchanged since `old`. The steps of
/// matching texts are taken from `work`.
pub(super) fn causes(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    work: &mut Work,
) -> Vec<FieldCause> {
    let mut report = Report {
        work: *work,
        ..Report::default()
    };
    check(schema, value, old, &Path::Root, &mut report);
    *work = report.work;
    report.ended()
}

/// Returns everything that does not fit the schema, and whether the value may have to be pruned or
/// decoded. If it has no faults and need not be, both would leave it as it is.
pub(super) fn causes_of_raw(schema: &Schema, value: &Value) -> (Vec<FieldCause>, bool) {
    let mut report = Report::default();
    check(schema, value, None, &Path::Root, &mut report);
    let is_raw = report.is_raw;
    (report.ended(), is_raw)
}

/// The violations that were found, and how many parts of the value fit. Of several failing
/// alternatives, the one that fits best is reported.
#[derive(Debug, Default)]
struct Report {
    causes: CauseList,
    fitting: usize,
    /// Whether a part of the value was found that pruning or decoding may change.
    is_raw: bool,
    /// How much work its patterns may still be.
    work: Work,
    /// Where there was not enough left, for the first time.
    unmatched: Option<FieldCause>,
}

impl Report {
    /// Whether a text matches. Once no work is left, every text passes for a match, and the value is refused in the
    /// end.
    fn matches(&mut self, pattern: &Pattern, text: &str, at: &Path<'_>) -> bool {
        if self.work.take(pattern, text.len()) {
            return pattern.is_match(text);
        }
        self.unmatched.get_or_insert_with(|| {
            let why = format!(
                "{at} in body cannot be matched with '{pattern}': with what is matched before it, that would take too long"
            );
            // In place of the text, which is long.
            FieldCause::invalid(at.to_string(), &"string".into(), &why)
        });
        true
    }

    fn ended(mut self) -> Vec<FieldCause> {
        self.causes.extend(self.unmatched);
        self.causes.into_causes()
    }

    fn invalid(&mut self, at: &Path<'_>, value: impl Into<Value>, why: impl Display) {
        self.causes.push_with(|| {
            let why = format!("{at} in body {why}");
            FieldCause::invalid(at.to_string(), &value.into(), &why)
        });
    }

    /// A decoder cannot read the value; its message is reported as it is.
    fn unreadable(&mut self, at: &Path<'_>, why: &str) {
        let unreadable = || FieldCause::unreadable(at.to_string(), why);
        self.causes.push_with(unreadable);
    }

    fn wrong_type(&mut self, at: &Path<'_>, wanted: &str, found: &str) {
        self.causes.push_with(|| {
            let why = format!("{at} in body must be of type {wanted}: {found:?}");
            FieldCause::type_invalid(at.to_string(), &found.into(), &why)
        });
    }
}

fn check(schema: &Schema, value: &Value, old: Option<&Value>, at: &Path<'_>, report: &mut Report) {
    if report.causes.is_full() {
        return;
    }
    if old == Some(value) {
        report.fitting += 1;
        return;
    }
    report.is_raw |= fill::is_raw(schema, value);
    if has_type(schema, value) {
        report.fitting += 1;
    } else if schema.go_integer && value.is_number() {
        let why = "should be an integer of 64 bits, without a point or an exponent";
        report.invalid(at, value.clone(), why);
    } else if schema.rewritten && value.is_number() {
        report.invalid(at, value.clone(), "should be an integer of 64 bits");
    } else {
        report.wrong_type(at, wanted_type(schema), type_of(value));
    }
    if schema.quantity
        && let Err(why) = quantity::read(value)
    {
        report.unreadable(at, why);
    }
    one_of_the_allowed(schema, value, at, report);
    if value.is_null() {
        return;
    }
    if let Some(nested) = &schema.junctors {
        junctors::check(nested, value, at, report);
    }
    match value {
        Value::Object(members) => object(schema, members, old, at, report),
        Value::Array(items) => array(schema, items, old, at, report),
        Value::String(text) => scalar::text(schema, text, at, report),
        Value::Number(number) => scalar::number(&schema.bounds, number, at, report),
        Value::Null | Value::Bool(_) => {}
    }
}

fn one_of_the_allowed(schema: &Schema, value: &Value, at: &Path<'_>, report: &mut Report) {
    if schema.enumeration.is_empty() {
        return;
    }
    if schema.enumeration.allow(value) {
        report.fitting += 1;
        return;
    }
    report.causes.push_with(|| {
        let plain = |one: &Value| one.as_str().map_or_else(|| one.to_string(), str::to_owned);
        let allowed: Vec<String> = schema.enumeration.iter().map(plain).collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        FieldCause::unsupported(at.to_string(), value, &allowed)
    });
}

fn object(
    schema: &Schema,
    members: &Map<String, Value>,
    old: Option<&Value>,
    at: &Path<'_>,
    report: &mut Report,
) {
    let bounds = &schema.bounds;
    let count = members.len();
    if let Some(min) = bounds.min_properties.filter(|min| count < *min) {
        let why = format_args!("should have at least {min} properties");
        return report.invalid(at, count, why);
    }
    if let Some(max) = bounds.max_properties.filter(|max| count > *max) {
        let too_many = || FieldCause::too_many(at.to_string(), count, max);
        return report.causes.push_with(too_many);
    }
    for (name, member) in members {
        let at = at.member(name);
        if let Some(schema) = schema.member(name) {
            let old = old.and_then(|old| old.get(name));
            check(schema, member, old, &at, report);
            continue;
        }
        report.is_raw = true;
        if schema.closed {
            report.invalid(&at, name.as_str(), "is a forbidden property");
        }
    }
    for name in &schema.required {
        if members.contains_key(&**name) {
            report.fitting += 1;
        } else {
            let missing = || FieldCause::required(at.member(name).to_string(), "");
            report.causes.push_with(missing);
        }
    }
}

fn array(
    schema: &Schema,
    items: &[Value],
    old: Option<&Value>,
    at: &Path<'_>,
    report: &mut Report,
) {
    if let Some(of_items) = &schema.items {
        let counterparts = Counterparts::new(&schema.identity, old);
        for (index, item) in items.iter().enumerate() {
            check(
                of_items,
                item,
                counterparts.of(index, item),
                &at.item(index),
                report,
            );
        }
    }
    let count = items.len();
    if let Some(min) = schema.bounds.min_items.filter(|min| count < *min) {
        let why = format_args!("should have at least {min} items");
        report.invalid(at, count, why);
    }
    if let Some(max) = schema.bounds.max_items.filter(|max| count > *max) {
        let too_many = || FieldCause::too_many(at.to_string(), count, max);
        report.causes.push_with(too_many);
    }
}

fn wanted_type(schema: &Schema) -> &str {
    if schema.int_or_string {
        "integer,string"
    } else {
        &schema.type_name
    }
}

fn has_type(schema: &Schema, value: &Value) -> bool {
    if value.is_null() {
        return schema.nullable || wanted_type(schema).is_empty();
    }
    let whole = || is_whole(schema, value);
    if schema.int_or_string {
        return value.is_string() || whole();
    }
    match &*schema.type_name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => whole(),
        _ => true,
    }
}

fn is_whole(schema: &Schema, value: &Value) -> bool {
    if schema.go_integer {
        return value.is_i64();
    }
    if schema.rewritten {
        return rewritten(value).is_some();
    }
    let whole = |one: f64| one.fract() == 0.0 && one.abs() <= WHOLE_MAX;
    value.is_i64() || value.as_f64().is_some_and(whole)
}

/// The 64-bit integer that a number denotes, however it is written: 1.0 is 1.
pub(super) fn rewritten(value: &Value) -> Option<i64> {
    let float = || value.as_f64().filter(|_| value.is_f64());
    value.as_i64().or_else(|| whole(float()?))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
