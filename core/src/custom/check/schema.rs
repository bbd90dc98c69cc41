//! `schema.openAPIV3Schema`: it must be structural, with valid defaults and no unsupported members.

use super::{Limits, complete, defaults, expressions, openapi, patterns, structural};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::{self, Format, Path, Schema};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Members that the root may have while the status subresource is enabled: upstream's name and the
/// JSON name.
const ALLOWED_BESIDE_STATUS: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
    ),
    ("XValidations", "x-kubernetes-validations"),
];

/// The schema of a version, with its place.
pub(super) struct Root<'a> {
    pub(super) document: &'a Value,
    /// Whether it is the schema of a version with a status subresource.
    pub(super) status: bool,
    pub(super) at: &'a Path<'a>,
}

impl Root<'_> {
    pub(super) fn check(&self, limits: &mut Limits, causes: &mut CauseList) {
        let mut found = CauseList::default();
        let parsed = self.form(limits, &mut found);
        if let Some(parsed) = parsed.filter(|_| found.is_empty()) {
            expressions::check(
                self.document,
                &parsed,
                self.at,
                &limits.budget.literals,
                &mut found,
            );
        }
        causes.extend(found.into_causes());
    }

    /// Returns the schema itself if its structure is right.
    fn form(&self, limits: &mut Limits, causes: &mut CauseList) -> Option<Schema> {
        let (root, at) = (self.document, self.at);
        let mut parsed = None;
        if self.status {
            beside_status(root, at, causes);
        }
        if is_true(root, "nullable") {
            let field = at.member("nullable").to_string();
            causes.push(FieldCause::forbidden(
                field,
                "nullable cannot be true at the root",
            ));
        }
        if structural::is_supported(root) {
            let mut found = CauseList::default();
            structural::check(root, at, &mut found);
            complete::check(root, at, &mut found);
            patterns::check(root, at, &mut limits.patterns, &mut found);
            found.sort();
            if found.is_empty() {
                let schema = schema::parse_with(root, &mut limits.patterns);
                defaults::check(root, &schema, at, &mut limits.budget, &mut found);
                parsed = Some(schema);
            }
            causes.extend(found.into_causes());
        }
        openapi::check(root, at, causes);
        parsed
    }
}

fn beside_status(root: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let members = root.as_object().into_iter().flatten();
    let set = |value: &Value| !is_zero(value);
    let names: Vec<&str> = members
        .filter_map(|(name, value)| set(value).then_some(name.as_str()))
        .collect();
    let kind = text(root, "/type");
    if !kind.is_empty() && kind != "object" {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status \
                   subresource is enabled";
        let field = at.member("type").to_string();
        causes.push(FieldCause::invalid(field, &json!(kind), why));
    }
    let allowed = |name: &&str| ALLOWED_BESIDE_STATUS.iter().any(|(_, one)| one == name);
    if !names.iter().all(allowed) {
        let fields: Vec<&str> = ALLOWED_BESIDE_STATUS
            .iter()
            .map(|(name, _)| *name)
            .collect();
        let why = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is \
             enabled",
            fields.join(" ")
        );
        causes.push(FieldCause::invalid(at.to_string(), &json!(names), &why));
    }
}

/// Warns about what is accepted but may not have the effect that its author expects.
pub(in crate::custom) fn warnings(root: &Value) -> BTreeSet<String> {
    let mut warnings = BTreeSet::new();
    visit(root, &mut |schema| {
        let format = text(schema, "/format");
        let known = match text(schema, "/type") {
            "integer" => matches!(format, "int32" | "int64"),
            "number" => matches!(format, "float" | "double"),
            "" | "string" => Format::named(format).is_some(),
            _ => false,
        };
        if !format.is_empty() && !known {
            warnings.insert(format!("unrecognized format \"{format}\""));
        }
    });
    warnings
}

/// Visits a schema and every schema inside it.
pub(super) fn visit<'a>(schema: &'a Value, seen: &mut dyn FnMut(&'a Value)) {
    seen(schema);
    each_child(schema, &mut |_, child| visit(child, seen));
}

/// The place of a schema in the schema that contains it.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Only(&'a str),
    Entry(&'a str, &'a str),
    Item(&'a str, usize),
}

/// Visits the direct subschemas of a schema, each with its place.
pub(super) fn each_child<'a>(schema: &'a Value, seen: &mut dyn FnMut(Place<'a>, &'a Value)) {
    for name in ["items", "additionalProperties", "not"] {
        if let Some(child) = schema.get(name).filter(|child| child.is_object()) {
            seen(Place::Only(name), child);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, child) in properties.into_iter().flatten() {
        seen(Place::Entry("properties", key), child);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let list = schema.get(name).and_then(Value::as_array);
        for (index, child) in list.into_iter().flatten().enumerate() {
            seen(Place::Item(name, index), child);
        }
    }
}

impl Place<'_> {
    /// The schema at this place outside of junctors.
    pub(super) fn of(self, schema: &Schema) -> Option<&Schema> {
        let found = match self {
            Place::Entry("properties", name) => schema.properties.get(name),
            Place::Only("items") => schema.items.as_ref(),
            Place::Only("additionalProperties") => schema.additional.as_ref(),
            Place::Only(_) | Place::Entry(..) | Place::Item(..) => None,
        };
        found.map(|one| &**one)
    }

    /// Calls a function with the path of the place.
    pub(super) fn within(self, at: &Path<'_>, call: impl FnOnce(&Path<'_>)) {
        match self {
            Place::Only(name) => call(&at.member(name)),
            Place::Entry(name, key) => call(&at.member(name).entry(key)),
            Place::Item(name, index) => call(&at.member(name).item(index)),
        }
    }
}

pub(super) fn is_true(schema: &Value, member: &str) -> bool {
    schema.get(member) == Some(&Value::Bool(true))
}

/// Whether a value is a zero value in Go, like a field that the decoder did not see.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
