//! Validation with the messages of apiextensions.

use super::{Schema, join};
use crate::rejection::FieldCause;
use serde_json::{Map, Value};

pub(super) fn check(schema: &Schema, value: &Value, path: &str, causes: &mut Vec<FieldCause>) {
    if value.is_null() && schema.nullable {
        return;
    }
    if !has_type(schema, value) {
        let wanted = if schema.int_or_string {
            "integer,string"
        } else {
            &*schema.type_name
        };
        let why = format!(
            "{path} in body must be of type {wanted}: \"{}\"",
            type_of(value)
        );
        causes.push(FieldCause::invalid(path, &type_of(value).into(), &why));
        return;
    }
    if !schema.enumeration.is_empty() && !schema.enumeration.contains(value) {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let allowed: Vec<String> = schema
            .enumeration
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        causes.push(FieldCause::not_supported(path, &text, &allowed));
    }
    match value {
        Value::Object(members) => object(schema, members, path, causes),
        Value::Array(items) => array(schema, items, path, causes),
        Value::String(text) => string(schema, text, path, causes),
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                bounds(schema, number, value, path, causes);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn object(schema: &Schema, members: &Map<String, Value>, path: &str, causes: &mut Vec<FieldCause>) {
    for name in schema
        .required
        .iter()
        .filter(|name| !members.contains_key(&***name))
    {
        causes.push(FieldCause::required(join(path, name), ""));
    }
    for (name, member) in members {
        if let Some(schema) = schema.member(name) {
            check(schema, member, &join(path, name), causes);
        }
    }
}

fn array(schema: &Schema, items: &[Value], path: &str, causes: &mut Vec<FieldCause>) {
    let mut refuse = |why: String| {
        causes.push(FieldCause::invalid(path, &Value::from(items.len()), &why));
    };
    if let Some(max) = schema.bounds.max_items.filter(|max| items.len() > *max) {
        refuse(format!("{path} in body should have at most {max} items"));
    }
    if let Some(min) = schema.bounds.min_items.filter(|min| items.len() < *min) {
        refuse(format!("{path} in body should have at least {min} items"));
    }
    if let Some(schema) = &schema.items {
        for (index, item) in items.iter().enumerate() {
            check(schema, item, &format!("{path}[{index}]"), causes);
        }
    }
}

fn string(schema: &Schema, text: &str, path: &str, causes: &mut Vec<FieldCause>) {
    let mut refuse = |why: String| causes.push(FieldCause::invalid(path, &text.into(), &why));
    let length = text.chars().count();
    if let Some(max) = schema.bounds.max_length.filter(|max| length > *max) {
        refuse(format!("{path} in body should be at most {max} chars long"));
    }
    if let Some(min) = schema.bounds.min_length.filter(|min| length < *min) {
        refuse(format!(
            "{path} in body should be at least {min} chars long"
        ));
    }
    if let Some(pattern) = schema
        .bounds
        .pattern
        .as_ref()
        .filter(|one| !one.is_match(text))
    {
        refuse(format!("{path} in body should match '{pattern}'"));
    }
}

fn bounds(schema: &Schema, number: f64, value: &Value, path: &str, causes: &mut Vec<FieldCause>) {
    let mut refuse = |why: String| causes.push(FieldCause::invalid(path, value, &why));
    if let Some(max) = schema.bounds.maximum.filter(|max| number > *max) {
        refuse(format!(
            "{path} in body should be less than or equal to {max}"
        ));
    }
    if let Some(min) = schema.bounds.minimum.filter(|min| number < *min) {
        refuse(format!(
            "{path} in body should be greater than or equal to {min}"
        ));
    }
}

fn has_type(schema: &Schema, value: &Value) -> bool {
    if schema.int_or_string {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match &*schema.type_name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|one| one.fract() == 0.0)
        }
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
