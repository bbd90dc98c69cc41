//! The checks of one entry of `spec.versions` in a definition.

use super::{Limits, column, schema, selectable};
use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use crate::validate;
use serde_json::{Value, json};

const WARNING_BYTES_MAX: usize = 256;

pub(super) fn check(version: &Value, at: &Path<'_>, limits: &mut Limits, causes: &mut CauseList) {
    let name = text(version, "/name");
    if let Err(why) = validate::label_1035(name) {
        let field = at.member("name").to_string();
        causes.push(FieldCause::invalid(field, &json!(name), &why));
    }
    deprecation(version, at, causes);
    let status = version
        .pointer("/subresources/status")
        .is_some_and(|status| !status.is_null());
    let at_schema = at.member("schema");
    let at_root = at_schema.member("openAPIV3Schema");
    match version.pointer("/schema/openAPIV3Schema") {
        Some(root @ Value::Object(_)) => {
            let schema = schema::Root {
                document: root,
                status,
                at: &at_root,
            };
            schema.check(limits, causes);
            selectable::check(version, root, at, causes);
        }
        _ => causes.push(FieldCause::required(
            at_root.to_string(),
            "schemas are required",
        )),
    }
    scale(version, at, causes);
    column::check(version, at, causes);
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
    if let Some((index, _)) = warning.char_indices().find(|(_, one)| one.is_control()) {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index \
             {index}"
        ));
    }
}

fn scale(version: &Value, at: &Path<'_>, causes: &mut CauseList) {
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
