//! The form that Go gives a definition outside of its schemas, as far as the schema of its kind does not say
//! it: which zeros are not written, and which always are. Source: `omitempty` in upstream's apiextensions v1.

use serde_json::{Value, json};

/// Flags of a version that are written also where they are not set.
const ALWAYS: [&str; 2] = ["served", "storage"];

pub(super) fn settle(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec") else {
        return;
    };
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        of_version(version);
    }
    omit(Some(spec), &[("preserveUnknownFields", json!(false))]);
    let client = spec.pointer_mut("/conversion/webhook/clientConfig");
    omit(client, &[("caBundle", json!(""))]);
}

fn of_version(version: &mut Value) {
    omit(Some(version), &[("deprecated", json!(false))]);
    let columns = version.get_mut("additionalPrinterColumns");
    for column in columns.and_then(Value::as_array_mut).into_iter().flatten() {
        let zeros = [
            ("priority", json!(0)),
            ("format", json!("")),
            ("description", json!("")),
        ];
        omit(Some(column), &zeros);
    }
    if let Some(members) = version.as_object_mut() {
        for name in ALWAYS {
            let flag = members.entry(name).or_insert(Value::Null);
            if flag.is_null() {
                *flag = json!(false);
            }
        }
    }
}

fn omit(members: Option<&mut Value>, zeros: &[(&str, Value)]) {
    let Some(members) = members.and_then(Value::as_object_mut) else {
        return;
    };
    members.retain(|name, value| {
        !zeros
            .iter()
            .any(|(zero, empty)| zero == name && empty == value)
    });
}
