//! Where it is told what is wrong with all versions of a definition.

use super::super::*;
use super::{good, put, told};

/// A definition with two versions, made of these parts.
fn two(first: &Value, second: &Value) -> Value {
    let version = |name: &str, parts: &Value| {
        let mut version = json!({"name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}});
        let parts = parts.as_object().expect("parts").clone();
        version.as_object_mut().expect("a version").extend(parts);
        version
    };
    let mut document = good();
    let versions = json!([version("v1", first), version("v2", second)]);
    put(&mut document, "/spec/versions", &versions.to_string());
    document
}

fn fields(causes: &[FieldCause]) -> String {
    let fields: Vec<&str> = causes.iter().map(|cause| &*cause.field).collect();
    fields.join(" ")
}

/// The part of the first version, that of the second, and what is refused.
const PARTS: &str = r#"
{"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}} | same | spec.validation.openAPIV3Schema.properties[a].type
{"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}} | {} | spec.versions[0].schema.openAPIV3Schema.properties[a].type
{"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}} | {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"b": {}}}}} | spec.versions[0].schema.openAPIV3Schema.properties[a].type spec.versions[1].schema.openAPIV3Schema.properties[b].type
{"schema": null} | {} | spec.versions[0].schema.openAPIV3Schema
{"schema": null} | same | spec.versions[0].schema.openAPIV3Schema spec.versions[1].schema.openAPIV3Schema
{"subresources": {"scale": {"specReplicasPath": ".spec.n"}}} | same | spec.subresources.scale.statusReplicasPath
{"subresources": {"scale": {"specReplicasPath": ".spec.n"}}} | {} | spec.versions[0].subresources.scale.statusReplicasPath
{"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]} | same | spec.additionalPrinterColumns[0].type
{"additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}]} | {"additionalPrinterColumns": []} | spec.versions[0].additionalPrinterColumns[0].type
{"additionalPrinterColumns": []} | {} |
{"selectableFields": [{"jsonPath": ".spec.b"}]} | same | spec.selectableFields[0].jsonPath
{"selectableFields": [{"jsonPath": ".spec.b"}]} | {"selectableFields": [{"jsonPath": ".spec.b"}], "schema": {"openAPIV3Schema": {"type": "object"}}} | spec.versions[0].selectableFields[0].jsonPath spec.versions[1].selectableFields[0].jsonPath
{"selectableFields": [{"jsonPath": ".kind"}], "schema": {"openAPIV3Schema": {"type": "object", "properties": {"kind": {"type": "string"}}}}} | {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"kind": {"type": "string"}}}}} |
{"selectableFields": [{"jsonPath": ".spec.b"}]} | {} | spec.versions[0].selectableFields[0].jsonPath
"#;

#[test]
fn what_all_versions_have_in_common_is_told_once() {
    for row in PARTS.lines().filter(|row| !row.is_empty()) {
        let [first, second, expected] = row.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            panic!("a row has three columns: {row}");
        };
        let second = if second == "same" { first } else { second };
        let [first, second] = [first, second].map(|one| serde_json::from_str(one).expect(row));
        let causes = check(&two(&first, &second), None);
        assert_eq!(fields(&causes), expected, "{row}");
    }
}

#[test]
fn one_version_with_a_status_restricts_the_schema_of_all() {
    let schema = json!({"openAPIV3Schema": {"type": "object", "oneOf": [{"required": ["spec"]}]}});
    let with_status = json!({"schema": schema, "subresources": {"status": {}}});
    let without = json!({"schema": schema});
    for (first, second, expected) in [
        (&with_status, &without, "spec.validation.openAPIV3Schema"),
        (&without, &with_status, "spec.validation.openAPIV3Schema"),
        (&without, &without, ""),
        (&without, &json!({"subresources": {"status": {}}}), ""),
        (
            &with_status,
            &json!({}),
            "spec.versions[0].schema.openAPIV3Schema",
        ),
    ] {
        let causes = check(&two(first, second), None);
        assert_eq!(fields(&causes), expected, "{}", told(&causes));
    }
}

#[test]
fn what_was_wrong_already_may_be_told_elsewhere_now() {
    let wrong = json!({"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}},
        "subresources": {"scale": {"specReplicasPath": ".spec.n"}},
        "additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": ".a"}],
        "selectableFields": [{"jsonPath": ".spec.b"}]});
    let (same, other) = (two(&wrong, &wrong), two(&wrong, &json!({})));
    for (old, new) in [(&same, &other), (&other, &same), (&same, &same)] {
        let mut new = new.clone();
        put(&mut new, "/spec/names/categories", "[\"all\"]");
        assert_eq!(told(&check(&new, Some(old))), "");
        assert_ne!(told(&check(&new, None)), "");
    }
}
