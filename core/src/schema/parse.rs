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
        Some(found @ Value::Object(_)) => Some(part(found, patterns)),
        _ => None,
    };
    let (additional, items) = (child("additionalProperties"), child("items"));
    let properties = document.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let properties: BTreeMap<Arc<str>, Arc<Schema>> = properties
        .map(|(name, found)| (name.as_str().into(), part(found, patterns)))
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

/// The schema of a part. A definition may have tens of thousands of fields of which it says the type and no more: they
/// share one.
fn part(document: &Value, patterns: &mut Patterns) -> Arc<Schema> {
    let Some(place) = plain(document) else {
        return Arc::new(schema(document, patterns));
    };
    if let Some(known) = patterns.plain.get(&place) {
        return Arc::clone(known);
    }
    let new = Arc::new(schema(document, patterns));
    patterns.plain.insert(place, Arc::clone(&new));
    new
}

/// Type and format, if nothing else is said that counts. Lists and objects are not shared: for rules two of them have one
/// type only if they are one.
fn plain(document: &Value) -> Option<(String, String)> {
    let counts = |name: &str| !matches!(name, "type" | "format" | "description");
    if document.as_object()?.keys().any(|name| counts(name)) {
        return None;
    }
    let type_name = text(document, "type");
    let is_scalar = matches!(type_name, "string" | "integer" | "number" | "boolean");
    is_scalar.then(|| (type_name.to_owned(), text(document, "format").to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_which_only_a_type_is_said_share_a_schema() {
        let fields = json!({
            "a": {"type": "string"}, "b": {"type": "string", "description": "B."},
            "long": {"type": "string", "minLength": 1}, "time": {"type": "string", "format": "date-time"},
            "count": {"type": "integer"}, "open": {"type": "object"}, "opener": {"type": "object"},
            "names": {"type": "array", "items": {"type": "string"}}});
        let schema = parse(&json!({"type": "object", "properties": fields}));
        let field = |name: &str| schema.member(name).expect("a field");
        assert!(Arc::ptr_eq(field("a"), field("b")));
        let items = field("names").items.as_ref().expect("items");
        assert!(Arc::ptr_eq(field("a"), items));
        for (one, other) in [
            ("a", "long"),
            ("a", "time"),
            ("a", "count"),
            ("open", "opener"),
        ] {
            assert!(!Arc::ptr_eq(field(one), field(other)), "{one} {other}");
        }
        assert_eq!(field("long").bounds.min_length, Some(1));
        assert!(field("time").format.is_some() && field("a").format.is_none());
    }
}
