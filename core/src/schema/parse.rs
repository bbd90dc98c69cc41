//! From `openAPIV3Schema` to a [`Schema`].

use super::{Bounds, Schema};
use serde_json::Value;
use std::sync::Arc;

/// A compiled pattern may not take more than this.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Reads a schema; the message says where it cannot be used. The document's depth is bounded by
/// the decoder.
pub fn parse(document: &Value, path: &str) -> Result<Schema, String> {
    let text = |key: &str| {
        document
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let flag = |key: &str| document.get(key) == Some(&Value::Bool(true));
    let child = |key: &str| match document.get(key) {
        Some(Value::Bool(true)) => Ok(Some(Arc::new(Schema::default()))),
        Some(schema @ Value::Object(_)) => parse(schema, &format!("{path}.{key}"))
            .map(Arc::new)
            .map(Some),
        _ => Ok(None),
    };
    let int_or_string = flag("x-kubernetes-int-or-string");
    let preserve_unknown = flag("x-kubernetes-preserve-unknown-fields");
    if text("type").is_empty() && !int_or_string && !preserve_unknown {
        return Err(format!(
            "{path}.type: Required value: must not be empty for specified object fields"
        ));
    }
    let mut properties = std::collections::BTreeMap::new();
    for (name, schema) in document
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let schema = parse(schema, &format!("{path}.properties[{name}]"))?;
        properties.insert(name.as_str().into(), Arc::new(schema));
    }
    let list = |key: &str| {
        document
            .get(key)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    Ok(Schema {
        type_name: text("type").into(),
        properties,
        additional: child("additionalProperties")?,
        items: child("items")?,
        required: list("required")
            .iter()
            .filter_map(Value::as_str)
            .map(Arc::from)
            .collect(),
        nullable: flag("nullable"),
        int_or_string,
        preserve_unknown,
        embedded: flag("x-kubernetes-embedded-resource"),
        default: document.get("default").cloned(),
        enumeration: list("enum"),
        bounds: bounds(document, path)?,
    })
}

fn bounds(document: &Value, path: &str) -> Result<Bounds, String> {
    let number = |key: &str| document.get(key).and_then(Value::as_f64);
    let size = |key: &str| {
        let value = document.get(key).and_then(Value::as_u64);
        value.and_then(|value| usize::try_from(value).ok())
    };
    let pattern = match document.get("pattern").and_then(Value::as_str) {
        None => None,
        Some(pattern) => {
            let built = regex::RegexBuilder::new(pattern)
                .size_limit(PATTERN_BYTES_MAX)
                .build();
            Some(built.map_err(|error| format!("{path}.pattern: {error}"))?)
        }
    };
    Ok(Bounds {
        minimum: number("minimum"),
        maximum: number("maximum"),
        min_length: size("minLength"),
        max_length: size("maxLength"),
        min_items: size("minItems"),
        max_items: size("maxItems"),
        pattern,
    })
}
