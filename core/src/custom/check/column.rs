//! The checks of `additionalPrinterColumns` in a definition.

use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::{Value, json};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

pub(super) fn check(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let columns = version.get("additionalPrinterColumns");
    let columns = columns.and_then(Value::as_array).into_iter().flatten();
    let at = at.member("additionalPrinterColumns");
    for (index, column) in columns.enumerate() {
        if causes.is_full() {
            return;
        }
        one(column, &at.item(index), causes);
    }
}

fn one(column: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let field = |member: &str| at.member(member).to_string();
    if text(column, "/name").is_empty() {
        causes.push(FieldCause::required(field("name"), ""));
    }
    let kind = text(column, "/type");
    let why = format!("must be one of {}", TYPES.join(","));
    if kind.is_empty() {
        causes.push(FieldCause::required(field("type"), &why));
    } else if !TYPES.contains(&kind) {
        causes.push(FieldCause::invalid(field("type"), &json!(kind), &why));
    }
    let format = text(column, "/format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let why = format!("must be one of {}", FORMATS.join(","));
        causes.push(FieldCause::invalid(field("format"), &json!(format), &why));
    }
    let path = text(column, "/jsonPath");
    if path.is_empty() {
        causes.push(FieldCause::required(field("JSONPath"), ""));
    } else if !path.starts_with('.') {
        let why = "must be a simple json path starting with .";
        causes.push(FieldCause::invalid(field("JSONPath"), &json!(path), why));
    }
}
