//! The counts and the selector that the `Scale` of a custom kind shows. Source: `ValidateScaleSpec` and
//! `ValidateScaleStatus` in `apiextensions-apiserver/pkg/registry/customresource`.

use crate::kind::{ScalePaths, ScaleSelector};
use crate::patch::{go, type_of};
use crate::rejection::FieldCause;
use serde_json::{Value, json};

/// What is wrong with them. A write of the status does not set the desired count.
pub(crate) fn wrong_counts(
    paths: &ScalePaths,
    document: &Value,
    is_status: bool,
) -> Vec<FieldCause> {
    let wanted = (!is_status).then(|| count(document, &paths.wanted));
    let observed = count(document, &paths.observed);
    let selector = match &paths.selector {
        ScaleSelector::Text(path) => selector(document, path),
        ScaleSelector::None | ScaleSelector::Spec => None,
    };
    [wanted.flatten(), observed, selector]
        .into_iter()
        .flatten()
        .collect()
}

fn count(document: &Value, path: &str) -> Option<FieldCause> {
    let found = match found(document, path) {
        Ok(found) => found?,
        Err(why) => return Some(FieldCause::invalid(path, &json!(0), &why)),
    };
    let Some(number) = found.as_i64() else {
        let why = mismatch(path, found, "int64");
        return Some(FieldCause::invalid(path, &json!(0), &why));
    };
    let why = if number < 0 {
        "should be a non-negative integer"
    } else if number > i64::from(i32::MAX) {
        "should be less than or equal to 2147483647"
    } else {
        return None;
    };
    Some(FieldCause::invalid(path, found, why))
}

fn selector(document: &Value, path: &str) -> Option<FieldCause> {
    let why = match found(document, path) {
        Ok(found) if found?.is_string() => return None,
        Ok(found) => mismatch(path, found?, "string"),
        Err(why) => why,
    };
    Some(FieldCause::invalid(path, &json!(""), &why))
}

/// The value at a path like `.spec.replicas`, if there is one. Source: apimachinery's `NestedFieldNoCopy`.
fn found<'a>(document: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = document;
    let mut at = String::new();
    for name in path.trim_start_matches('.').split('.') {
        at.push('.');
        at.push_str(name);
        if value.is_null() {
            return Ok(None);
        }
        let Some(members) = value.as_object() else {
            return Err(mismatch(&at, value, "map[string]interface{}"));
        };
        let Some(member) = members.get(name) else {
            return Ok(None);
        };
        value = member;
    }
    Ok(Some(value))
}

fn mismatch(path: &str, value: &Value, expected: &str) -> String {
    let found = if value.is_null() {
        "<nil>"
    } else {
        type_of(value)
    };
    let value = go(value);
    format!("{path} accessor error: {value} is of the type {found}, expected {expected}")
}
