//! Decodes schemas in definitions (`JSONSchemaProps`), and what they hold: wrong types are refused, unknown
//! members are dropped. The type is recursive, so the schemas of built-in kinds do not describe it.

use super::zeros;
use crate::document::write_whole_numbers;
use crate::schema::{Path, Removed};
use serde_json::{Map, Value, json};

/// The type of a member. Where Go has a pointer to it, an empty one is another value than none.
#[derive(Clone, Copy)]
enum Holds {
    Anything,
    Text,
    OptionalText,
    Flag,
    OptionalFlag,
    Number,
    Count,
    Texts,
    List,
    Object,
    Documentation,
    Rules,
    Schema,
    SchemaOrFlag,
    SchemaOrList,
    Schemas,
    SchemaMap,
}

const MEMBERS: [(&str, Holds); 44] = [
    ("id", Holds::Text),
    ("$schema", Holds::Text),
    ("$ref", Holds::OptionalText),
    ("description", Holds::Text),
    ("type", Holds::Text),
    ("format", Holds::Text),
    ("title", Holds::Text),
    ("default", Holds::Anything),
    ("example", Holds::Anything),
    ("maximum", Holds::Number),
    ("minimum", Holds::Number),
    ("multipleOf", Holds::Number),
    ("exclusiveMaximum", Holds::Flag),
    ("exclusiveMinimum", Holds::Flag),
    ("maxLength", Holds::Count),
    ("minLength", Holds::Count),
    ("maxItems", Holds::Count),
    ("minItems", Holds::Count),
    ("maxProperties", Holds::Count),
    ("minProperties", Holds::Count),
    ("uniqueItems", Holds::Flag),
    ("nullable", Holds::Flag),
    ("pattern", Holds::Text),
    ("enum", Holds::List),
    ("required", Holds::Texts),
    ("items", Holds::SchemaOrList),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("not", Holds::Schema),
    ("properties", Holds::SchemaMap),
    ("patternProperties", Holds::SchemaMap),
    ("definitions", Holds::SchemaMap),
    ("additionalProperties", Holds::SchemaOrFlag),
    ("additionalItems", Holds::SchemaOrFlag),
    ("dependencies", Holds::Object),
    ("externalDocs", Holds::Documentation),
    ("x-kubernetes-preserve-unknown-fields", Holds::OptionalFlag),
    ("x-kubernetes-embedded-resource", Holds::Flag),
    ("x-kubernetes-int-or-string", Holds::Flag),
    ("x-kubernetes-list-map-keys", Holds::Texts),
    ("x-kubernetes-list-type", Holds::OptionalText),
    ("x-kubernetes-map-type", Holds::OptionalText),
    ("x-kubernetes-validations", Holds::Rules),
];

/// The members of `ExternalDocumentation`.
const DOCUMENTATION: [(&str, Holds); 2] = [("description", Holds::Text), ("url", Holds::Text)];

/// The members of `ValidationRule`.
const RULE: [(&str, Holds); 6] = [
    ("rule", Holds::OptionalText),
    ("message", Holds::Text),
    ("messageExpression", Holds::Text),
    ("reason", Holds::OptionalText),
    ("fieldPath", Holds::Text),
    ("optionalOldSelf", Holds::OptionalFlag),
];

/// Decodes a definition in place, as far as the schema of its kind does not say how. Returns the paths that
/// were dropped, as far as they are reported, or why decoding failed.
pub(crate) fn decode_definition(document: &mut Value) -> Result<Vec<String>, String> {
    let decoder = decoded(document)?;
    zeros::settle(document);
    Ok(decoder.dropped.into_sorted())
}

/// The members of schemas that an applied definition may not have, since its OpenAPI document does not declare
/// them. What cannot be decoded has none here: it is refused when it is decoded.
pub(crate) fn undeclared_in_schemas(definition: &Value) -> Vec<String> {
    let versions = definition.pointer("/spec/versions");
    let mut copy = json!({"spec": {"versions": versions}});
    let decoder = decoded(&mut copy);
    decoder.map_or_else(|_| Vec::new(), |decoder| decoder.undeclared.into_sorted())
}

fn decoded(document: &mut Value) -> Result<Decoder, String> {
    let mut decoder = Decoder::default();
    let spec = Path::Root.member("spec");
    let at = spec.member("versions");
    let versions = document.pointer_mut("/spec/versions");
    let versions = versions.and_then(Value::as_array_mut);
    for (index, version) in versions.into_iter().flatten().enumerate() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            let at = at.item(index);
            let at = at.member("schema");
            decoder.schema(schema, &at.member("openAPIV3Schema"))?;
        }
    }
    Ok(decoder)
}

impl Holds {
    /// Whether Go does not write such a member. Source: `omitempty`.
    fn omits(self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) | (Self::Flag, Value::Bool(false)) => true,
            (Self::Text, Value::String(text)) => text.is_empty(),
            (Self::Texts | Self::List | Self::Rules | Self::Schemas, Value::Array(items)) => {
                items.is_empty()
            }
            (Self::Object | Self::SchemaMap, Value::Object(members)) => members.is_empty(),
            _ => false,
        }
    }
}

#[derive(Default)]
struct Decoder {
    dropped: Removed,
    /// Those of them that its OpenAPI document does not declare: it says nothing of a schema that may also
    /// be something else.
    undeclared: Removed,
    /// How many members that may be something else contain this place.
    open: usize,
}

impl Decoder {
    fn schema(&mut self, schema: &mut Value, at: &Path<'_>) -> Result<(), String> {
        self.object(schema, (&MEMBERS, "v1.JSONSchemaProps"), at)
    }

    /// Decodes a value of the type that has these members and this name.
    fn object(
        &mut self,
        value: &mut Value,
        (table, wanted): (&[(&str, Holds)], &str),
        at: &Path<'_>,
    ) -> Result<(), String> {
        let Value::Object(members) = value else {
            return if value.is_null() {
                Ok(())
            } else {
                Err(mismatch(value, wanted, at))
            };
        };
        self.known(members, table, at);
        for (name, value) in members.iter_mut() {
            let holds = table.iter().find(|(known, _)| known == name);
            if let Some((_, holds)) = holds {
                self.member(*holds, value, &at.member(name))?;
            }
        }
        Ok(())
    }

    fn note(&mut self, at: &Path<'_>) {
        self.dropped.note(at);
        if self.open == 0 {
            self.undeclared.note(at);
        }
    }

    /// Keeps the members that Go writes. Nulls inside defaults and other arbitrary values stay.
    fn known(&mut self, members: &mut Map<String, Value>, table: &[(&str, Holds)], at: &Path<'_>) {
        members.retain(|name, value| {
            let known = table.iter().find(|(known, _)| known == name);
            if known.is_none() {
                self.note(&at.member(name));
            }
            known.is_some_and(|(_, holds)| !holds.omits(value))
        });
    }

    fn member(&mut self, holds: Holds, value: &mut Value, at: &Path<'_>) -> Result<(), String> {
        let wanted = match holds {
            Holds::Anything => return Ok(()),
            Holds::SchemaOrFlag if value.is_boolean() => return Ok(()),
            Holds::SchemaOrFlag => return self.opened(|inside| inside.schema(value, at)),
            Holds::SchemaOrList if value.is_object() => {
                return self.opened(|inside| inside.schema(value, at));
            }
            Holds::SchemaOrList => return self.opened(|inside| inside.list(value, at)),
            Holds::Schema => return self.schema(value, at),
            Holds::Schemas => return self.list(value, at),
            Holds::SchemaMap => return self.map(value, at),
            Holds::Rules => return self.rules(value, at),
            Holds::Documentation => {
                return self.object(value, (&DOCUMENTATION, "v1.ExternalDocumentation"), at);
            }
            Holds::Number if value.is_number() => {
                write_whole_numbers(value);
                return Ok(());
            }
            Holds::Text | Holds::OptionalText => (value.is_string(), "string"),
            Holds::Flag | Holds::OptionalFlag => (value.is_boolean(), "bool"),
            Holds::Number => (false, "float64"),
            Holds::Count => (value.is_i64() || value.is_u64(), "int64"),
            Holds::List => (value.is_array(), "[]v1.JSON"),
            Holds::Object => (value.is_object(), "map"),
            Holds::Texts => (are_texts(value), "[]string"),
        };
        match wanted {
            (true, _) => Ok(()),
            (false, wanted) => Err(mismatch(value, wanted, at)),
        }
    }

    /// Decodes what may also be something else than a schema.
    fn opened(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.open += 1;
        let decoded = decode(self);
        self.open -= 1;
        decoded
    }

    fn list(&mut self, value: &mut Value, at: &Path<'_>) -> Result<(), String> {
        let Value::Array(items) = value else {
            return Err(mismatch(value, "[]v1.JSONSchemaProps", at));
        };
        let mut items = items.iter_mut().enumerate();
        items.try_for_each(|(index, item)| self.schema(item, &at.item(index)))
    }

    fn rules(&mut self, value: &mut Value, at: &Path<'_>) -> Result<(), String> {
        let Value::Array(items) = value else {
            return Err(mismatch(value, "v1.ValidationRules", at));
        };
        let mut items = items.iter_mut().enumerate();
        items.try_for_each(|(index, item)| {
            self.object(item, (&RULE, "v1.ValidationRule"), &at.item(index))
        })
    }

    fn map(&mut self, value: &mut Value, at: &Path<'_>) -> Result<(), String> {
        let Value::Object(members) = value else {
            return Err(mismatch(value, "map[string]v1.JSONSchemaProps", at));
        };
        let mut members = members.iter_mut();
        members.try_for_each(|(name, member)| self.schema(member, &at.member(name)))
    }
}

fn are_texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

fn mismatch(value: &Value, wanted: &str, at: &Path<'_>) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!(
        "json: cannot unmarshal {found} into Go struct field JSONSchemaProps.{at} of type {wanted}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(schema: Value) -> Value {
        json!({"spec": {"versions": [{"served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    #[test]
    fn unknown_members_of_a_schema_are_dropped_wherever_they_are() {
        let schema = json!({"type": "object", "typo": 1, "properties": {"a": {"typ": "string", "default": {"any": null}}},
            "allOf": [{"not": {"requird": []}}], "items": null});
        let mut document = definition(schema);
        let at = "spec.versions[0].schema.openAPIV3Schema";
        assert_eq!(
            decode_definition(&mut document).expect("a schema"),
            ["allOf[0].not.requird", "properties.a.typ", "typo"].map(|path| format!("{at}.{path}"))
        );
        let kept = json!({"type": "object", "properties": {"a": {"default": {"any": null}}}, "allOf": [{"not": {}}]});
        assert_eq!(document, definition(kept));
    }

    #[test]
    fn members_of_the_wrong_type_are_refused() {
        for (schema, expected) in [
            (
                json!({"maxLength": "5"}),
                "cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions[0].schema.openAPIV3Schema.maxLength of type int64",
            ),
            (
                json!({"properties": {"a": 5}}),
                "cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions[0].schema.openAPIV3Schema.properties.a of type v1.JSONSchemaProps",
            ),
            (
                json!({"required": [1]}),
                "cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions[0].schema.openAPIV3Schema.required of type []string",
            ),
            (
                json!({"nullable": "true"}),
                "cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions[0].schema.openAPIV3Schema.nullable of type bool",
            ),
        ] {
            let error =
                decode_definition(&mut definition(schema.clone())).expect_err("wrong types");
            assert_eq!(error, format!("json: {expected}"), "{schema}");
        }
    }
}
