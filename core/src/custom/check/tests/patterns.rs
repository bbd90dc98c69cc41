//! What the regular expressions of a definition may be, and what it may take to match them with its defaults.

use super::super::*;
use super::{good, put, told, version};

/// A schema with a field for each of these numbers, whose pattern takes long to compile.
fn with_patterns(numbers: std::ops::Range<usize>) -> Value {
    let one = |number| {
        let pattern = format!(r"^(\pL\pN){{1}}{number}$");
        (
            format!("a{number}"),
            json!({"type": "string", "pattern": pattern}),
        )
    };
    let fields: serde_json::Map<String, Value> = numbers.map(one).collect();
    json!({"type": "object", "default": {}, "properties": fields})
}

/// Compiling all patterns again for each default or version would take many minutes.
#[test]
fn a_pattern_is_compiled_once_for_all_defaults_and_versions() {
    let mut nested = with_patterns(0..256);
    for _ in 0..60 {
        nested = json!({"type": "object", "default": {}, "properties": {"a": nested}});
    }
    let mut versions = vec![version(1, &nested)];
    let flat = with_patterns(0..256);
    versions.extend((2..100).map(|number| version(number, &flat)));
    let mut document = good();
    document["spec"]["versions"] = json!(versions);
    assert_eq!(told(&check(&document, None)), "");
    let (schemas, _) = crate::custom::schemas_of_definition(&document);
    assert_eq!(schemas.len(), 99);
}

#[test]
fn the_versions_of_a_definition_share_its_regular_expressions() {
    let literals = |count: usize| {
        let rule = json!({"rule": "self.matches('a')", "message": "m"});
        json!({"type": "string", "x-kubernetes-validations": vec![rule; count]})
    };
    let at = "spec.versions[1].schema.openAPIV3Schema: Too many:";
    for (first, second, said) in [
        (with_patterns(0..200), with_patterns(0..200), ""),
        (with_patterns(0..200), with_patterns(0..257), at),
        (with_patterns(0..200), with_patterns(200..257), at),
        (with_patterns(0..200), with_patterns(200..256), ""),
        (literals(200), literals(56), ""),
        (literals(200), literals(57), at),
    ] {
        let mut document = good();
        let versions = json!([version(1, &first), version(2, &second)]);
        put(&mut document, "/spec/versions", &versions.to_string());
        let found = told(&check(&document, None));
        let is_told = found.contains(said) && found.is_empty() == said.is_empty();
        assert!(is_told, "{said}: {found}");
    }
}

#[test]
fn the_rules_that_hold_for_defaults_share_the_same_number_of_regular_expressions() {
    let rule = json!({"rule": "self.matches('a')", "message": "m"});
    let field = json!({"type": "string", "default": "a", "x-kubernetes-validations": [rule]});
    for (count, said) in [(256, ""), (257, "more than 256 regular expressions")] {
        let fields = (0..count).map(|number| (format!("a{number:03}"), field.clone()));
        let fields: serde_json::Map<String, Value> = fields.collect();
        let mut document = good();
        let at = "/spec/versions/0/schema/openAPIV3Schema/properties";
        put(&mut document, at, &json!(fields).to_string());
        let found = told(&check(&document, None));
        let is_told = found.contains(said) && found.is_empty() == said.is_empty();
        assert!(is_told, "{said}: {found}");
    }
}

/// Otherwise each of a hundred thousand could take as long as an object may.
#[test]
fn to_validate_all_defaults_of_a_definition_has_one_budget() {
    let slow = json!({"type": "string", "pattern": "^(?:0|[a-z]{1000}b)"});
    let rule = format!("self.matches('^[{}]')", "0".repeat(8_000));
    let costly = json!({"type": "string", "x-kubernetes-validations": [{"rule": rule}]});
    for (schema, length, fits, told_of) in [
        (slow, 50_000, 5, "would take too long"),
        (costly, 9_000, 10, "running out of cost budget"),
    ] {
        let mut schema = schema;
        schema["default"] = json!(format!("0{}", "a".repeat(length)));
        let fields = |from: usize, count: usize| {
            let fields =
                (from..from + count).map(|number| (format!("a{number:02}"), schema.clone()));
            json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()})
        };
        for (count, is_refused) in [(fits, false), (fits + 4, true)] {
            // In two versions.
            let versions = [version(1, &fields(0, 3)), version(2, &fields(3, count - 3))];
            let mut document = good();
            document["spec"]["versions"] = json!(versions);
            let causes = check(&document, None);
            let told_of = causes.iter().filter(|one| one.message.contains(told_of));
            let is_told = (told_of.count(), causes.len());
            let expected = usize::from(is_refused);
            assert_eq!(
                is_told,
                (expected, expected),
                "{count}: {}",
                told(&causes).len()
            );
        }
    }
}
