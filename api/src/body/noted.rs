//! What was found in a body that is read all the same, and whether the client wants to hear of it.

use super::Syntax;
use super::document::Decoded;
use hindsight_core::command::FieldValidation;
use serde_json::Value;

/// The findings of one request.
#[derive(Debug)]
pub(crate) struct Noted {
    validation: FieldValidation,
    warnings: Vec<String>,
}

impl Noted {
    pub(crate) const fn new(validation: FieldValidation) -> Self {
        let warnings = Vec::new();
        Self {
            validation,
            warnings,
        }
    }

    /// The document, unless a strict client must hear why not.
    pub(super) fn take(&mut self, decoded: Decoded, syntax: Syntax) -> Result<Value, String> {
        match self.validation {
            FieldValidation::Strict if !decoded.repeats.is_empty() => {
                return Err(complaint(&decoded.repeats, syntax));
            }
            FieldValidation::Warn => self.warnings.extend(decoded.repeats),
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        Ok(decoded.document)
    }

    /// What is applied, and what a strict client must hear of it later, in the words of a decoder of
    /// its own.
    pub(super) fn take_config(&mut self, decoded: Decoded) -> (Value, Option<String>) {
        let strict = self.validation == FieldValidation::Strict && !decoded.repeats.is_empty();
        let complaint = strict.then(|| {
            let found = yaml_errors(&decoded.repeats);
            format!("error strict decoding YAML: error converting YAML to JSON: {found}")
        });
        if self.validation == FieldValidation::Warn {
            self.warnings.extend(decoded.repeats);
        }
        (decoded.document, complaint)
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// YAML's findings are those of a decoder of its own, and worded as its.
fn complaint(repeats: &[String], syntax: Syntax) -> String {
    let found = if syntax == Syntax::Yaml {
        yaml_errors(repeats)
    } else {
        repeats.join(", ")
    };
    format!("strict decoding error: {found}")
}

fn yaml_errors(repeats: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", repeats.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::decode_object;
    use crate::body::decode_patch;

    #[test]
    fn each_client_hears_what_it_asked_for() {
        let json = br#"{"data": {"k": 1, "k": 2}}"#;
        let yaml = b"data:\n  k: 1\n  k: 2\n";
        let in_json = "duplicate field \"data.k\"";
        let in_yaml = "line 3: key \"k\" already set in map";
        for (body, syntax, warning, refusal) in [
            (
                &json[..],
                Syntax::Json,
                in_json,
                format!("strict decoding error: {in_json}"),
            ),
            (
                &yaml[..],
                Syntax::Yaml,
                in_yaml,
                format!("strict decoding error: yaml: unmarshal errors:\n  {in_yaml}"),
            ),
        ] {
            for (validation, warnings) in [
                (FieldValidation::Warn, vec![warning]),
                (FieldValidation::Ignore, vec![]),
            ] {
                let mut noted = Noted::new(validation);
                let document = decode_object(body, syntax, &mut noted).expect("a document");
                assert_eq!(document["data"]["k"], 2);
                assert_eq!(noted.warnings(), warnings);
            }
            let mut noted = Noted::new(FieldValidation::Strict);
            let failure = decode_object(body, syntax, &mut noted).expect_err("a refusal");
            let status = failure.to_json();
            assert_eq!(
                (&status["code"], &status["message"]),
                (&400.into(), &refusal.into())
            );
        }
    }

    #[test]
    fn a_patch_is_refused_as_a_field() {
        let mut noted = Noted::new(FieldValidation::Strict);
        let failure =
            decode_patch(br#"{"a": 1, "a": 2}"#, false, &mut noted).expect_err("a refusal");
        let status = failure.to_json();
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&422.into(), &"Invalid".into())
        );
        assert_eq!(status["details"]["causes"][0]["field"], "patch");
    }

    #[test]
    fn members_that_no_operation_has_are_told() {
        let patch = br#"[{"op": "test", "path": "/a", "why": 1, "path": "/a"}]"#;
        let mut noted = Noted::new(FieldValidation::Warn);
        decode_patch(patch, true, &mut noted).expect("a patch");
        let told = [
            r#"json patch duplicate field "[0].path""#,
            r#"json patch unknown field "[0].why""#,
        ];
        assert_eq!(noted.warnings(), told);
        let mut noted = Noted::new(FieldValidation::Strict);
        decode_patch(patch, true, &mut noted).expect_err("a refusal");
        let mut noted = Noted::new(FieldValidation::Ignore);
        decode_patch(patch, true, &mut noted).expect("a patch");
        assert!(noted.warnings().is_empty());
    }
}
