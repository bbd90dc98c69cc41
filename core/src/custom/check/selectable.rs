//! `selectableFields`.

use super::version::root;
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FIELDS_MAX: usize = 8;

pub(super) fn check(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let Some(schema) = root(version) else {
        return;
    };
    let fields = version.get("selectableFields").and_then(Value::as_array);
    let at = at.member("selectableFields");
    let mut seen = BTreeSet::new();
    for (index, field) in fields.into_iter().flatten().enumerate() {
        if causes.is_full() {
            return;
        }
        let path = text(field, "/jsonPath");
        let at = at.item(index);
        let field = at.member("jsonPath").to_string();
        if path.is_empty() {
            causes.push(FieldCause::required(field, ""));
            continue;
        }
        let mut refuse = |why: &str| {
            causes.push(FieldCause::invalid(field.clone(), &json!(path), why));
        };
        let Some(kind) = type_at(schema, path) else {
            refuse("is an invalid path: does not refer to a valid field");
            continue;
        };
        if path == ".metadata" || path.starts_with(".metadata.") {
            refuse("must not point to fields in metadata");
        }
        if !matches!(kind, "string" | "boolean" | "integer") {
            refuse(
                "must point to a field of type string, boolean or integer. Enum string fields and \
                 strings with formats are allowed.",
            );
        }
        if !seen.insert(path) {
            causes.push(FieldCause::duplicate(field, &json!(path)));
        }
    }
    if seen.len() > FIELDS_MAX {
        let field = at.to_string();
        causes.push(FieldCause::too_many(field, seen.len(), FIELDS_MAX));
    }
}

/// Returns the type of the field at a simple path.
fn type_at<'a>(schema: &'a Value, path: &str) -> Option<&'a str> {
    let mut schema = schema;
    for name in path.strip_prefix('.')?.split('.') {
        let listed = schema.get("properties").and_then(|all| all.get(name));
        schema = listed.or_else(|| schema.get("additionalProperties"))?;
    }
    Some(text(schema, "/type"))
}
