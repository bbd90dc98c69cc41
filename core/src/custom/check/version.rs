//! The checks of one entry of `spec.versions` in a definition.

use super::{Limits, printable, schema};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use crate::validate;
use serde_json::{Value, json};

const WARNING_BYTES_MAX: usize = 256;

/// What is told of each version, whatever the others have.
pub(super) fn check(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let name = text(version, "/name");
    if let Err(why) = validate::label_1035(name) {
        let field = at.member("name").to_string();
        causes.push(FieldCause::invalid(field, &json!(name), &why));
    }
    deprecation(version, at, causes);
    if root(version).is_none() {
        let at = at.member("schema");
        let field = at.member("openAPIV3Schema").to_string();
        causes.push(FieldCause::required(field, "schemas are required"));
    }
}

/// The schema of a version.
pub(super) fn root(version: &Value) -> Option<&Value> {
    let root = version.pointer("/schema/openAPIV3Schema");
    root.filter(|root| root.is_object())
}

/// Whether a version has a status subresource.
pub(super) fn has_status(version: &Value) -> bool {
    let status = version.pointer("/subresources/status");
    status.is_some_and(|status| !status.is_null())
}

pub(super) fn schema(
    version: &Value,
    status: bool,
    at: &Path<'_>,
    limits: &mut Limits,
    causes: &mut CauseList,
) {
    if let Some(document) = root(version) {
        let schema = schema::Root {
            document,
            status,
            at: &at.member("openAPIV3Schema"),
        };
        schema.check(limits, causes);
    }
}

fn deprecation(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let mut refuse = |why: &str| {
        let field = at.member("deprecationWarning").to_string();
        causes.push(FieldCause::invalid(field, &json!(warning), why));
    };
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        return refuse("can only be set for deprecated versions");
    }
    if warning.len() > WARNING_BYTES_MAX {
        refuse("must be <= 256 characters long");
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    if let Some(index) = printable::first_not(warning) {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index \
             {index}"
        ));
    }
}

pub(super) fn scale(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|scale| !scale.is_null())
    else {
        return;
    };
    let at = at.member("subresources");
    let mut path = |member: &str, optional: bool, under: &[&str], why: &str| {
        let found = scale.get(member).and_then(Value::as_str);
        let found = found.unwrap_or_default();
        let field = format!("{at}.scale.{member}");
        if found.is_empty() {
            if !optional {
                causes.push(FieldCause::required(field, ""));
            }
        } else if !found.starts_with('.') {
            let why = "must be a simple json path starting with .";
            causes.push(FieldCause::invalid(field, &json!(found), why));
        } else if !under.iter().any(|under| found.starts_with(under)) {
            causes.push(FieldCause::invalid(field, &json!(found), why));
        }
    };
    let spec = "should be a json path under .spec";
    path("specReplicasPath", false, &[".spec."], spec);
    let status = "should be a json path under .status";
    path("statusReplicasPath", false, &[".status."], status);
    let either = "should be a json path under either .spec or .status";
    path("labelSelectorPath", true, &[".spec.", ".status."], either);
}
