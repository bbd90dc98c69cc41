//! Reads an `openAPIV3Schema` into a [`Schema`]. This never fails and ignores what makes no sense,
//! since old definitions are read with it too; definitions are validated before they are written.

use super::pattern::Patterns;
use super::rules::Rules;
use super::{Bounds, Choices, Format, ItemIdentity, Junctors, PatchStrategy, Schema};
use crate::document::{list, names, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads a schema. Recursion is safe: the decoder bounds the depth of the document.
pub fn parse(document: &Value) -> Schema {
    parse_with(document, &mut Patterns::default())
}

/// The same for one of several schemas that share their patterns.
pub(crate) fn parse_with(document: &Value, patterns: &mut Patterns) -> Schema {
    schema(document, patterns)
}

fn schema(document: &Value, patterns: &mut Patterns) -> Schema {
    let text = |key: &str| text(document, key);
    let flag = |key: &str| document.get(key) == Some(&Value::Bool(true));
    let mut child = |key: &str| match document.get(key) {
        Some(Value::Bool(true)) => Some(Arc::default()),
        Some(found @ Value::Object(_)) => Some(Arc::new(schema(found, patterns))),
        _ => None,
    };
    let (additional, items) = (child("additionalProperties"), child("items"));
    let properties = document.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let properties: BTreeMap<Arc<str>, Arc<Schema>> = properties
        .map(|(name, found)| (name.as_str().into(), Arc::new(schema(found, patterns))))
        .collect();
    let below = || properties.values().chain(&additional).chain(&items);
    let rules = Rules::read(document, below().map(|child| &child.rules));
    let embedded = flag("x-kubernetes-embedded-resource");
    let embeds = embedded || below().any(|child| child.embeds);
    Schema {
        type_name: text("type").into(),
        properties,
        additional,
        closed: document.get("additionalProperties") == Some(&Value::Bool(false)),
        items,
        required: names(document, "required"),
        nullable: flag("nullable"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        go_integer: false,
        rewritten: false,
        omits_zero: false,
        quantity: false,
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded,
        embeds,
        default: document.get("default").cloned(),
        enumeration: Choices::new(list(document, "enum")),
        format: Some(text("type"))
            .filter(|name| name.is_empty() || *name == "string")
            .and_then(|_| Format::named(text("format"))),
        bounds: bounds(document, patterns),
        junctors: junctors(document, patterns),
        identity: ItemIdentity::of(document),
        patch: PatchStrategy::of(document),
        atomic: text("x-kubernetes-map-type") == "atomic",
        rules,
    }
}

fn bounds(document: &Value, patterns: &mut Patterns) -> Bounds {
    let number = |key: &str| document.get(key).and_then(Value::as_f64);
    let flag = |key: &str| document.get(key) == Some(&Value::Bool(true));
    let size = |key: &str| {
        let value = document.get(key).and_then(Value::as_u64);
        value.and_then(|value| usize::try_from(value).ok())
    };
    Bounds {
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf").filter(|one| *one > 0.0),
        min_length: size("minLength"),
        max_length: size("maxLength"),
        min_items: size("minItems"),
        max_items: size("maxItems"),
        min_properties: size("minProperties"),
        max_properties: size("maxProperties"),
        pattern: patterns.get(text(document, "pattern")),
    }
}

fn junctors(document: &Value, patterns: &mut Patterns) -> Option<Box<Junctors>> {
    let mut all = |key: &str| {
        let found = list(document, key).iter();
        found.map(|one| schema(one, patterns)).collect::<Vec<_>>()
    };
    let found = Junctors {
        all_of: all("allOf"),
        any_of: all("anyOf"),
        one_of: all("oneOf"),
        not: document.get("not").map(|one| schema(one, patterns)),
    };
    let none = found.all_of.is_empty()
        && found.any_of.is_empty()
        && found.one_of.is_empty()
        && found.not.is_none();
    (!none).then(|| Box::new(found))
}
