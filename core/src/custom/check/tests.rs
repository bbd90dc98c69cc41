//! Definitions with one thing wrong, and what is reported about it.

mod patterns;
mod shared;

use super::*;

/// A valid definition.
fn good() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}],
        },
    })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

fn told(causes: &[FieldCause]) -> String {
    let told = causes.iter().map(|cause| {
        let reason = cause.reason.trim_start_matches("FieldValue");
        format!("{reason} {}: {}", cause.field, cause.message)
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Sets the value at a pointer; the value `absent` removes it.
fn put(document: &mut Value, pointer: &str, value: &str) {
    let (parent, member) = pointer.rsplit_once('/').expect("a pointer");
    let parent = document.pointer_mut(parent).expect(pointer);
    if member == "-" {
        parent.as_array_mut().expect(pointer).push(read(value));
    } else if value == "absent" {
        parent.as_object_mut().expect(pointer).remove(member);
    } else {
        parent[member] = read(value);
    }
}

/// Checks rows of a pointer, the value that is set there, and what is reported.
fn check_table(prefix: &str, table: &str) {
    assert_eq!(told(&check(&good(), None)), "");
    for row in table.lines().filter(|row| !row.is_empty()) {
        let columns: Vec<&str> = row.split(" | ").collect();
        let [pointer, value, expected] = columns[..] else {
            panic!("a row has three columns: {row}");
        };
        let mut document = good();
        put(&mut document, &format!("{prefix}{pointer}"), value);
        let found = told(&check(&document, None));
        let at = "spec.validation.openAPIV3Schema";
        let found = found
            .replace(at, "^")
            .replace("spec.versions[0]", "%")
            .replace("\n | ", "~");
        let found = if found.is_empty() { "fits" } else { &found };
        assert_eq!(found, expected, "{row}");
    }
}

const SPEC: &str = r#"
/metadata/name | "gadgets.example.com" | Invalid metadata.name: Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group
/spec/scope | absent | Required spec.scope: Required value
/spec/scope | "Galaxy" | NotSupported spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"
/spec/names/kind | absent | Required spec.names.kind: Required value
/spec/names/listKind | "Widget" | Invalid spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same
/spec/names/shortNames | ["w", "w2"] | fits
/spec/preserveUnknownFields | true | Invalid spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead
/spec/preserveUnknownFields | false | fits
/spec/conversion | {"strategy": "None"} | fits
/spec/conversion | {} | Required spec.conversion.strategy: Required value
/spec/conversion | {"strategy": "Webhook"} | Required spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook; Required spec.conversion.conversionReviewVersions: Required value
/spec/conversion | {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://h/"}, "conversionReviewVersions": ["v2", "v1beta1"]}} | fits
/spec/conversion | {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "n", "namespace": "m"}}, "conversionReviewVersions": ["v1"]}} | fits
/spec/conversion | {"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1", "v2", "v2"]}} | Required spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required; Invalid spec.conversion.conversionReviewVersions[2]: Invalid value: "v2": duplicate version
/spec/conversion | {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://h/"}, "conversionReviewVersions": ["v2"]}} | Invalid spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1
/spec/conversion | {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://h/"}, "conversionReviewVersions": ["v1"]}} | Invalid spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]
/spec/conversion | {"strategy": "Magic"} | NotSupported spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"
/spec/conversion | {"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}} | Forbidden spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook; Forbidden spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook
/spec/versions | [] | Invalid spec.versions: Invalid value: []: must have exactly one version marked as storage version
/spec/versions/0/storage | false | Invalid spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version
/spec/versions/- | {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}} | Invalid spec.versions: Invalid value: ["v1","v1"]: must contain unique version names
/spec/versions/- | {"name": "v2", "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}} | Invalid spec.versions: Invalid value: ["v1","v2"]: must have exactly one version marked as storage version
/spec/versions/- | {"name": "v2", "schema": {"openAPIV3Schema": {"type": "object"}}} | fits
"#;

const VERSION: &str = r#"
/schema | absent | Required %.schema.openAPIV3Schema: Required value: schemas are required
/deprecationWarning | "old" | Invalid %.deprecationWarning: Invalid value: "old": can only be set for deprecated versions
/subresources | {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".spec.s"}} | fits
/subresources | {"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n", "labelSelectorPath": ".s"}} | Invalid spec.subresources.scale.specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .; Invalid spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status; Invalid spec.subresources.scale.labelSelectorPath: Invalid value: ".s": should be a json path under either .spec or .status
/subresources | {"scale": {}} | Required spec.subresources.scale.specReplicasPath: Required value; Required spec.subresources.scale.statusReplicasPath: Required value
/additionalPrinterColumns | [{"name": "A", "type": "string", "jsonPath": ".a", "format": "int32"}] | fits
/additionalPrinterColumns | [{"name": "A", "type": "text", "jsonPath": ".a"}] | Invalid spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string
/additionalPrinterColumns | [{"type": "date", "jsonPath": "a", "format": "x"}] | Required spec.additionalPrinterColumns[0].name: Required value; Invalid spec.additionalPrinterColumns[0].format: Invalid value: "x": must be one of byte,date,date-time,double,float,int32,int64,password; Invalid spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .
/selectableFields | [{"jsonPath": ".spec"}] | Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.
/selectableFields | [{"jsonPath": ".spec.color"}] | Invalid spec.selectableFields[0].jsonPath: Invalid value: ".spec.color": is an invalid path: does not refer to a valid field
/selectableFields | [{}] | Required spec.selectableFields[0].jsonPath: Required value
"#;

/// Pointers below `properties` of the root schema.
const SCHEMAS: &str = r#"
/a | {"type": "string"} | fits
/a | {} | Required ^.properties[a].type: Required value: must not be empty for specified object fields
/a | {"type": "array"} | Required ^.properties[a].items: Required value: must be specified
/a | {"type": "array", "items": {}} | Required ^.properties[a].items.type: Required value: must not be empty for specified array items
/a | {"type": "array", "items": [{"type": "string"}]} | Forbidden ^.properties[a].items: Forbidden: items must be a schema object and not an array
/a | {"type": "text"} | NotSupported ^.properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"
/a | {"type": "string", "$ref": "a"} | Forbidden ^.properties[a].$ref: Forbidden: $ref is not supported
/a | {"type": "string", "pattern": "("} | Invalid ^.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: unclosed group
/a | {"type": "array", "items": {"type": "string"}, "uniqueItems": true} | Forbidden ^.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic
/a | {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}} | Forbidden ^.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive
/a | {"type": "object", "x-kubernetes-preserve-unknown-fields": false} | Invalid ^.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined
/a | {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]} | fits
/a | {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]} | fits
/a | {"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true} | Invalid ^.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true
/a | {"type": "object", "x-kubernetes-embedded-resource": true} | Required ^.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields
/a | {"type": "string", "allOf": [{"type": "string", "description": "x"}]} | Forbidden ^.properties[a].allOf[0].description: Forbidden: must be empty to be structural; Forbidden ^.properties[a].allOf[0].type: Forbidden: must be empty to be structural
/a | {"type": "string", "anyOf": [{"externalDocs": {"url": "http://x"}}]} | Forbidden ^.properties[a].anyOf[0].externalDocs: Forbidden: must be undefined to be structural
/a | {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "additionalProperties": false} | Forbidden ^.properties[a].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set
/a | {"type": "object", "oneOf": [{"required": ["b"]}]} | fits
/a | {"type": "object", "not": {"properties": {"b": {"minimum": 1}}}} | Required ^.properties[a].properties[b]: Required value: because it is defined in ^.properties[a].not.properties[b]
/metadata | {"type": "object"} | fits
/metadata | {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}} | fits
/metadata | {"type": "object", "properties": {"labels": {"type": "object"}}} | Forbidden ^.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified
/kind | {"type": "integer"} | Invalid ^.properties[kind].type: Invalid value: "integer": must be string
/a | {"type": "string", "default": "x", "maxLength": 3} | fits
/a | {"type": "string", "default": 5} | TypeInvalid ^.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"
/a | {"type": "object", "default": {"b": 1}} | Invalid ^.properties[a].default: Invalid value: {"b":1}: must not have unknown fields
/a | {"type": "object", "default": {"b": 1}, "properties": {"b": {"type": "string"}}} | TypeInvalid ^.properties[a].default.b: Invalid value: "integer": b in body must be of type string: "integer"
/kind | {"type": "string", "default": "x"} | Forbidden ^.properties[kind].default: Forbidden: must not be set in top-level kind
"#;

const LISTS: &str = r#"
/a | {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"} | NotSupported ^.properties[a].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"
/a | {"type": "string", "x-kubernetes-list-type": "set"} | Invalid ^.properties[a].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified
/a | {"type": "object", "x-kubernetes-map-type": "odd"} | NotSupported ^.properties[a].x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular"
/a | {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"} | Invalid ^.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set
/a | {"type": "array", "items": {"type": "string", "nullable": true}, "x-kubernetes-list-type": "set"} | Forbidden ^.properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set
/a | {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"} | Required ^.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map
/a | {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | Required ^.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property
/a | {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | fits
/a | {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]} | Invalid ^.properties[a].x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties
/a | {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]} | Required ^.properties[a].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "message": "m"}]} | fits
/a | {"type": "object", "properties": {"b-c": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.b__dash__c == 'x'", "fieldPath": "['b-c']"}]} | fits
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "self == 1"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].rule: Invalid value: {"rule":"self == 1"}: compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(string, int)'~self == 1~.....^
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "self"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].rule: Invalid value: {"rule":"self"}: cel expression must evaluate to a bool
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "1"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].messageExpression: Invalid value: {"messageExpression":"1","rule":"true"}: messageExpression must evaluate to a string
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "a"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].messageExpression: Invalid value: {"messageExpression":"a","rule":"true"}: messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')~a~^
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".b"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": fieldPath must be a valid path: does not refer to a valid field
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "true", "fieldPath": "b"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].fieldPath: Invalid value: "b": fieldPath must be a valid path: expected [ or . but got: b
/a | {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"v": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}} | fits
/a | {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}} | Invalid ^.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ^.properties[a]
/a | {"type": "string", "default": "x", "x-kubernetes-validations": [{"rule": "self == 'y'"}]} | Invalid ^.properties[a].default: Invalid value: "x": failed rule: self == 'y'
/a | {"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "self == 'y'"}]} | Invalid ^.properties[a].x-kubernetes-validations[0].rule: Invalid value: {"rule":"self == 'y'"}: rule declared on schema that does not support validation rules type: '' x-kubernetes-preserve-unknown-fields: 'true'
/a | {"type": "string", "x-kubernetes-validations": [{"message": "m"}]} | Required ^.properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "a\nb"}]} | Required ^.properties[a].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks
/a | {"type": "string", "x-kubernetes-validations": [{"rule": "a", "reason": "Odd"}]} | NotSupported ^.properties[a].x-kubernetes-validations[0].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"
"#;

/// Pointers below the root schema.
const ROOT: &str = r#"
/type | "string" | Invalid ^.type: Invalid value: "string": must be object at the root
/type | absent | Required ^.type: Required value: must not be empty at the root
/nullable | true | Forbidden ^.nullable: Forbidden: nullable cannot be true at the root
/properties | absent | fits
"#;

#[test]
fn what_is_wrong_with_a_definition_is_told_as_kubernetes_tells_it() {
    check_table("", SPEC);
    check_table("/spec/versions/0", VERSION);
}

#[test]
fn schemas_are_structural_and_their_defaults_fit() {
    let root = "/spec/versions/0/schema/openAPIV3Schema";
    check_table(&format!("{root}/properties"), SCHEMAS);
    check_table(&format!("{root}/properties"), LISTS);
    check_table(root, ROOT);
}

#[test]
fn names_of_a_definition_are_dns_names() {
    for (pointer, value, expected) in [
        ("/spec/group", "", "spec.group: Required value"),
        (
            "/spec/group",
            "example",
            "spec.group: Invalid value: \"example\": should be a domain",
        ),
        (
            "/spec/group",
            "-.b",
            "spec.group: Invalid value: \"-.b\": a lowercase RFC 1123 subdomain",
        ),
        (
            "/spec/names/plural",
            "Widgets",
            "spec.names.plural: Invalid value: \"Widgets\": a DNS-1035 label",
        ),
        (
            "/spec/names/kind",
            "a_b",
            "spec.names.kind: Invalid value: \"a_b\": may have mixed case, but should otherwise match: a DNS-1035 label",
        ),
        (
            "/spec/versions/0/name",
            "1",
            "spec.versions[0].name: Invalid value: \"1\": a DNS-1035 label",
        ),
    ] {
        let mut document = good();
        put(&mut document, pointer, &json!(value).to_string());
        let found = told(&check(&document, None));
        assert!(found.contains(expected), "{pointer} {value}: {found}");
    }
}

#[test]
fn a_warning_of_deprecation_is_printable() {
    let not_printable = |index| {
        format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        )
    };
    for (warning, wrong) in [
        ("old", None),
        (
            "\u{e4}lt, \u{65e7}, \u{1f600}, e\u{301}, 5 \u{20ac}: see below",
            None,
        ),
        ("", Some("must not be an empty string".into())),
        ("old\n", Some(not_printable(3))),
        ("old\u{a0}thing\u{200b}", Some(not_printable(3))),
        ("\u{e4}\u{2028}", Some(not_printable(2))),
        ("\u{ad}", Some(not_printable(0))),
        ("\u{3000}", Some(not_printable(0))),
        ("\u{e000}", Some(not_printable(0))),
        ("\u{378}", Some(not_printable(0))),
        ("\u{10ffff}", Some(not_printable(0))),
    ] {
        let mut document = good();
        let version = &mut document["spec"]["versions"][0];
        version["deprecated"] = json!(true);
        version["deprecationWarning"] = json!(warning);
        let expected = wrong.map_or_else(String::new, |why: String| {
            let shown = json!(warning);
            format!("Invalid spec.versions[0].deprecationWarning: Invalid value: {shown}: {why}")
        });
        assert_eq!(told(&check(&document, None)), expected);
    }
}

#[test]
fn a_status_of_its_own_restricts_the_root() {
    let mut document = good();
    put(
        &mut document,
        "/spec/versions/0/subresources",
        r#"{"status": {}}"#,
    );
    assert_eq!(told(&check(&document, None)), "");
    let root = "/spec/versions/0/schema/openAPIV3Schema/oneOf";
    put(&mut document, root, r#"[{"required": ["spec"]}]"#);
    let found = told(&check(&document, None));
    assert!(
        found.contains("fields are allowed at the root of the schema if the status"),
        "{found}"
    );
}

#[test]
fn what_a_definition_is_known_by_does_not_change() {
    let mut old = good();
    let established = json!({"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]});
    old["status"] = established;
    let immutable = "field is immutable";
    for (pointer, value, expected) in [
        ("/spec/scope", "\"Cluster\"", format!("Invalid spec.scope: Invalid value: \"Cluster\": {immutable}")),
        ("/spec/names/kind", "\"Gadget\"", format!("Invalid spec.names.kind: Invalid value: \"Gadget\": {immutable}")),
        ("/spec/names/categories", "[\"all\"]", String::new()),
        ("/spec/versions/0/name", "\"v2\"", "Invalid status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions".into()),
    ] {
        let mut new = old.clone();
        put(&mut new, pointer, value);
        assert_eq!(told(&check(&new, Some(&old))), expected, "{pointer}");
    }
}

#[test]
fn what_was_wrong_already_is_not_held_against_a_change() {
    let mut old = good();
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/a";
    put(&mut old, at, "{}");
    let mut new = old.clone();
    put(&mut new, "/spec/names/categories", "[\"all\"]");
    assert_eq!(told(&check(&new, Some(&old))), "");
    put(&mut new, &format!("{at}b"), "{}");
    assert!(told(&check(&new, Some(&old))).starts_with("Required"));
}

#[test]
fn groups_of_the_community_need_an_approval() {
    let annotation = "metadata.annotations[api-approved.kubernetes.io]";
    for (annotations, expected) in [
        (
            json!({}),
            format!("Required {annotation}: Required value: protected groups"),
        ),
        (
            json!({"api-approved.kubernetes.io": "maybe"}),
            format!("Invalid {annotation}: Invalid value: \"maybe\": protected groups"),
        ),
        (
            json!({"api-approved.kubernetes.io": "https://a.b/1"}),
            String::new(),
        ),
        (
            json!({"api-approved.kubernetes.io": "unapproved, a test"}),
            String::new(),
        ),
    ] {
        let mut document = good();
        document["spec"]["group"] = json!("x.k8s.io");
        document["metadata"] = json!({"name": "widgets.x.k8s.io", "annotations": annotations});
        let found = told(&check(&document, None));
        assert!(
            found.starts_with(&expected) && found.is_empty() == expected.is_empty(),
            "{found}"
        );
    }
}

#[test]
fn the_rules_of_a_schema_share_a_bound_of_regular_expressions() {
    let rule = json!({"rule": "self.matches('a')", "message": "m"});
    let too_many = "TooMany spec.validation.openAPIV3Schema: Too many: 257: must have at most 256 items \
         (regular expressions in rules, of which a large one counts as up to 16)";
    for (count, expected) in [(256, ""), (257, too_many)] {
        let property = json!({"type": "string", "x-kubernetes-validations": vec![&rule; count]});
        let mut document = good();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/a";
        put(&mut document, properties, &property.to_string());
        assert_eq!(told(&check(&document, None)), expected);
    }
}

#[test]
fn an_optional_old_value_is_for_rules_that_speak_of_it() {
    let refused = |value: bool| {
        format!(
            "Invalid spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].optionalOldSelf: \
             Invalid value: {value}: may not be set if oldSelf is not used in rule"
        )
    };
    for (rule, optional, said) in [
        ("self == oldSelf.orValue('')", json!(true), String::new()),
        ("self == oldSelf", json!(false), String::new()),
        ("self == ''", json!(null), String::new()),
        ("self == ''", json!(true), refused(true)),
        ("self == ''", json!(false), refused(false)),
    ] {
        let rule = json!({"rule": rule, "message": "m", "optionalOldSelf": optional});
        let property = json!({"type": "string", "x-kubernetes-validations": [rule]});
        let mut document = good();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/a";
        put(&mut document, properties, &property.to_string());
        assert_eq!(told(&check(&document, None)), said);
    }
}

#[test]
fn nothing_is_compiled_behind_what_are_too_many() {
    let wrong = |count: usize| {
        let patterns = (0..count).map(|one| {
            (
                format!("a{one}"),
                json!({"type": "string", "pattern": format!("({one}")}),
            )
        });
        let rule = json!({"rule": "self.matches('(')", "message": "m"});
        let rules = json!({"type": "string", "x-kubernetes-validations": vec![rule; count]});
        let patterns = json!(patterns.collect::<serde_json::Map<_, _>>());
        [patterns, json!({"a": rules})]
    };
    for properties in wrong(257) {
        let mut document = good();
        let at = "/spec/versions/0/schema/openAPIV3Schema/properties";
        put(&mut document, at, &properties.to_string());
        let found = told(&check(&document, None));
        assert!(found.contains("must have at most 256 items"), "{found}");
        assert!(!found.contains("error parsing regexp"), "{found}");
    }
}

/// A version of the definition with this schema of `spec`.
fn version(number: usize, spec: &Value) -> Value {
    json!({"name": format!("v{number}"), "served": true, "storage": number == 1,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
}

#[test]
fn formats_that_nothing_checks_are_warned_of() {
    let mut document = good();
    let properties = r#"{"a": {"type": "string", "format": "phone"}, "b": {"type": "integer", "format": "int32"}, "c": {"type": "string", "format": "uri"}}"#;
    put(
        &mut document,
        "/spec/versions/0/schema/openAPIV3Schema/properties",
        properties,
    );
    assert_eq!(warnings(&document), ["unrecognized format \"phone\""]);
}

#[test]
fn what_is_definable_is_what_the_check_of_a_definition_lets_pass() {
    let long = format!("example.{}com", "a.".repeat(120));
    for (plural, group, fits) in [
        ("widgets", "example.com", true),
        ("w-2", "v1.example.com", true),
        ("Widgets", "example.com", false),
        ("2widgets", "example.com", false),
        ("", "example.com", false),
        ("widgets", "Example.com", false),
        ("widgets", "example.com.", false),
        ("widgets", "example", false),
        ("widgets", "", false),
        ("widgets", long.as_str(), false),
    ] {
        let mut document = good();
        for (pointer, value) in [
            ("/spec/names/plural", json!(plural)),
            ("/spec/group", json!(group)),
            ("/metadata/name", json!(format!("{plural}.{group}"))),
        ] {
            put(&mut document, pointer, &value.to_string());
        }
        let name = validate::is_subdomain(&format!("{plural}.{group}"));
        let passes = name && told(&check(&document, None)).is_empty();
        let resource = GroupResource::new(group, plural);
        assert_eq!(
            (is_definable(&resource), passes),
            (fits, fits),
            "{resource}"
        );
    }
}
