//! The checks of `spec.names` in a definition.

use crate::custom::text;
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Value, json};

pub(super) fn check(document: &Value, causes: &mut CauseList) {
    let names = document.pointer("/spec/names").unwrap_or(&Value::Null);
    let held = |member: &str| {
        names
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    for member in ["plural", "singular", "kind", "listKind"] {
        let field = format!("spec.names.{member}");
        let name = held(member);
        if name.is_empty() {
            causes.push(FieldCause::required(field, ""));
            continue;
        }
        let wrong = match member {
            "kind" | "listKind" => validate::mixed_case_name(name),
            _ => validate::label_1035(name),
        };
        if let Err(why) = wrong {
            causes.push(FieldCause::invalid(field, &json!(name), &why));
        }
    }
    if !held("kind").is_empty() && held("kind") == held("listKind") {
        let field = "spec.names.listKind";
        let why = "kind and listKind may not be the same";
        causes.push(FieldCause::invalid(field, &json!(held("kind")), why));
    }
    for member in ["shortNames", "categories"] {
        let list = names.get(member).and_then(Value::as_array);
        for (index, name) in list.into_iter().flatten().enumerate() {
            if let Err(why) = validate::label_1035(text(name, "")) {
                let field = format!("spec.names.{member}[{index}]");
                causes.push(FieldCause::invalid(field, name, &why));
            }
        }
    }
}
