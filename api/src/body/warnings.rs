//! Findings about a body that can be read nevertheless, such as repeated members, and whether the client wants
//! to be told of them (`fieldValidation`).

use super::Syntax;
use super::document::{self, Decoded};
use hindsight_core::command::FieldValidation;
use hindsight_core::strict_decoding_error;
use serde_json::Value;
use std::collections::BTreeSet;
use std::iter;

/// The most unknown members that are reported together with repeated ones.
const UNKNOWN_MAX: usize = 100;

/// The findings of one request.
#[derive(Debug)]
pub(crate) struct BodyWarnings {
    validation: FieldValidation,
    warnings: Vec<String>,
}

impl BodyWarnings {
    pub(crate) const fn new(validation: FieldValidation) -> Self {
        let warnings = Vec::new();
        Self {
            validation,
            warnings,
        }
    }

    /// Whether the body must be refused: it repeats members, and the client asked for strict validation.
    pub(super) fn refuses(&self, decoded: &Decoded) -> bool {
        self.validation == FieldValidation::Strict && !decoded.repeats.is_empty()
    }

    /// The configuration to apply, and what a strict client must be told later, in the words of upstream's
    /// decoder of configurations.
    pub(super) fn take_config(&mut self, decoded: Decoded) -> (Value, Option<String>) {
        let complaint = self.refuses(&decoded).then(|| {
            let found = yaml_lines(&decoded.repeats);
            format!("error strict decoding YAML: error converting YAML to JSON: {found}")
        });
        (self.take(decoded), complaint)
    }

    /// The document of a body that is not refused.
    pub(super) fn take(&mut self, decoded: Decoded) -> Value {
        if self.validation == FieldValidation::Warn {
            self.warnings.extend(decoded.repeats);
        }
        decoded.document
    }

    /// The client's warnings, whatever the outcome of the request.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    /// The same with warnings about unknown members, given their paths.
    pub(crate) fn with_unknown(mut self, unknown: &[String]) -> Vec<String> {
        if self.validation == FieldValidation::Warn {
            let unknown = unknown.iter().map(|path| unknown_field(path));
            self.warnings.extend(unknown);
        }
        self.warnings
    }
}

pub(super) fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

/// Upstream finds repeated keys of YAML with a separate decoder, which words them in this way.
pub(super) fn yaml_lines(repeats: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", repeats.join("\n  "))
}

/// All findings about an object, for a strict client. In JSON they follow the order of the document, and an
/// unknown member is reported once, and nothing below it; in YAML the findings of one decoder follow those of
/// another.
pub(super) fn complaint(
    bytes: &[u8],
    decoded: &Decoded,
    syntax: Syntax,
    unknown: &[String],
) -> String {
    if syntax == Syntax::Json {
        let unknown = unknown.get(..UNKNOWN_MAX).unwrap_or(unknown);
        let mut findings = in_order(&document::paths(bytes), unknown);
        if findings.is_empty() {
            // The repeated members lie beyond those that `paths` covers.
            findings.clone_from(&decoded.repeats);
        }
        return strict_decoding_error(&findings);
    }
    let unknown = unknown.iter().map(|path| unknown_field(path));
    let findings: Vec<String> = iter::once(yaml_lines(&decoded.repeats))
        .chain(unknown)
        .collect();
    strict_decoding_error(&findings)
}

fn in_order(paths: &[String], unknown: &[String]) -> Vec<String> {
    let is_below = |path: &str, known: &String| {
        let rest = path.strip_prefix(known.as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    let (mut seen, mut reported) = (BTreeSet::new(), BTreeSet::new());
    let mut findings = Vec::new();
    for path in paths {
        let is_first = seen.insert(path);
        if unknown.iter().any(|known| is_below(path, known)) {
            continue;
        }
        let is_unknown = unknown.contains(path);
        if is_first == is_unknown && reported.insert(path) {
            findings.push(if is_unknown {
                unknown_field(path)
            } else {
                format!("duplicate field {path:?}")
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{PatchReading, Reading, Received};
    use crate::status::Failure;
    use crate::testing::runtime;
    use bytes::Bytes;

    type Unknown = fn(&Value) -> Vec<String>;

    fn received(bytes: &[u8]) -> Received {
        Received {
            bytes: Bytes::copy_from_slice(bytes),
            room: None,
        }
    }

    fn decode_object(
        bytes: &[u8],
        reading: Reading<'_>,
        body_warnings: &mut BodyWarnings,
        unknown: Unknown,
    ) -> Result<Value, Failure> {
        let body = received(bytes);
        let decoded = crate::body::decode_object(&body, reading, body_warnings, unknown);
        runtime().block_on(decoded)
    }

    fn decode_patch(
        bytes: &[u8],
        of_operations: bool,
        body_warnings: &mut BodyWarnings,
        unknown: Unknown,
    ) -> Result<Value, Failure> {
        let body = received(bytes);
        let reading = PatchReading {
            of_operations,
            patched_bytes: 0,
        };
        let decoded = crate::body::decode_patch(body, reading, body_warnings, unknown);
        runtime().block_on(decoded)
    }

    fn nothing(_document: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Source: upstream's e2e `field_validation.go`, in its format.
    #[test]
    fn unknown_and_repeated_members_are_told_together() {
        let json = br#"{"spec": {"unknown1": 1, "unknownDupe": {"a": 1, "a": 2}, "unknownDupe": 2,
            "paused": true, "paused": false, "list": [{"more": 1, "more": 2, "name": 1, "name": 2}]}}"#;
        let yaml = b"spec:\n  paused: true\n  paused: false\n  unknown1: 1\n";
        let unknown = |_: &Value| {
            ["spec.list[0].more", "spec.unknown1", "spec.unknownDupe"]
                .map(String::from)
                .to_vec()
        };
        let message = |failure: Failure| failure.to_json()["message"].clone();
        let mut body_warnings = BodyWarnings::new(FieldValidation::Strict);
        let refused = decode_object(
            json,
            Reading::new(Syntax::Json, "apps/v1", "Deployment"),
            &mut body_warnings,
            unknown,
        )
        .expect_err("strict");
        let told = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding \
            error: unknown field \"spec.unknown1\", unknown field \
            \"spec.unknownDupe\", duplicate field \"spec.paused\", unknown field \
            \"spec.list[0].more\", duplicate field \"spec.list[0].name\"";
        assert_eq!(message(refused), told);
        let one = |_: &Value| vec!["spec.unknown1".to_owned()];
        let refused = decode_object(
            yaml,
            Reading::new(Syntax::Yaml, "apps/v1", "Deployment"),
            &mut body_warnings,
            one,
        )
        .expect_err("strict");
        let told = "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding \
            error: yaml: unmarshal errors:\n  line 3: key \"paused\" \
            already set in map, unknown field \"spec.unknown1\"";
        assert_eq!(message(refused), told);
        let refused = decode_patch(br#"{"a": 1, "a": 2}"#, false, &mut body_warnings, |_| {
            vec!["b".into()]
        });
        let text = message(refused.expect_err("strict"));
        let told = r#"strict decoding error: duplicate field "a", unknown field "b""#;
        assert!(
            text.as_str().is_some_and(|text| text.contains(told)),
            "{text}"
        );
    }

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
                let mut body_warnings = BodyWarnings::new(validation);
                let document = decode_object(
                    body,
                    Reading::new(syntax, "v1", "ConfigMap"),
                    &mut body_warnings,
                    nothing,
                )
                .expect("a document");
                assert_eq!(document["data"]["k"], 2);
                assert_eq!(body_warnings.warnings, warnings);
            }
            let mut body_warnings = BodyWarnings::new(FieldValidation::Strict);
            let failure = decode_object(
                body,
                Reading::new(syntax, "v1", "ConfigMap"),
                &mut body_warnings,
                nothing,
            )
            .expect_err("a refusal");
            let status = failure.to_json();
            let refusal =
                format!("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: {refusal}");
            assert_eq!(
                (&status["code"], &status["message"]),
                (&400.into(), &refusal.into())
            );
        }
    }

    #[test]
    fn a_patch_is_refused_as_a_field() {
        let mut body_warnings = BodyWarnings::new(FieldValidation::Strict);
        let failure = decode_patch(br#"{"a": 1, "a": 2}"#, false, &mut body_warnings, nothing)
            .expect_err("a refusal");
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
        let mut body_warnings = BodyWarnings::new(FieldValidation::Warn);
        decode_patch(patch, true, &mut body_warnings, nothing).expect("a patch");
        let told = [
            r#"json patch duplicate field "[0].path""#,
            r#"json patch unknown field "[0].why""#,
        ];
        assert_eq!(body_warnings.warnings, told);
        let mut body_warnings = BodyWarnings::new(FieldValidation::Strict);
        decode_patch(patch, true, &mut body_warnings, nothing).expect_err("a refusal");
        let mut body_warnings = BodyWarnings::new(FieldValidation::Ignore);
        decode_patch(patch, true, &mut body_warnings, nothing).expect("a patch");
        assert!(body_warnings.warnings.is_empty());
    }
}
