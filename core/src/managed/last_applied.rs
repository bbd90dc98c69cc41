//! `kubectl apply` on the client side keeps what it applied in an annotation. When kubectl changes
//! over to server-side apply, it may change the fields that it wrote that way, and the annotation
//! is kept up to date for those who still read it. Source: `lastappliedmanager.go` and
//! `lastappliedupdater.go`.

use super::Writer;
use crate::fields::{FieldSet, compare, set_of};
use crate::object::Name;
use crate::validate;
use serde_json::Value;

const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What Go's encoder escapes besides what JSON wants escaped.
const ESCAPED: [(char, &str); 5] = [
    ('<', "\\u003c"),
    ('>', "\\u003e"),
    ('&', "\\u0026"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

/// Returns the fields that kubectl wrote, according to the annotation, and that have not changed
/// since.
pub(super) fn of(writer: &Writer<'_>, live: &Value) -> Option<FieldSet> {
    if &**writer.manager != KUBECTL {
        return None;
    }
    let text = annotation(live).filter(|text| !text.is_empty())?;
    let applied: Value = serde_json::from_str(text).ok()?;
    if applied.get("apiVersion").and_then(Value::as_str) != Some(writer.api_version) {
        return None;
    }
    let schema = writer.versions.version(writer.api_version)?.schema;
    let change = compare(&applied, live, schema);
    let fields = set_of(&applied, schema)
        .difference(&change.modified)
        .difference(&change.added)
        .difference(&change.removed);
    Some(fields)
}

/// Updates the annotation, if the object has one.
pub(super) fn note(manager: &Name, document: &mut Value, config: &Value) {
    if &**manager != KUBECTL || annotation(document).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = config.clone();
    let annotations = applied.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let annotations = document.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.into(), as_kubectl_writes(&applied).into());
        if !validate::annotations_fit(annotations) {
            annotations.remove(ANNOTATION);
        }
    }
}

/// The text that kubectl would write: Go's encoder ends it with a line break.
fn as_kubectl_writes(applied: &Value) -> String {
    let mut text = applied.to_string();
    for (character, escaped) in ESCAPED {
        text = text.replace(character, escaped);
    }
    text + "\n"
}

fn annotation(document: &Value) -> Option<&str> {
    let annotations = document.pointer("/metadata/annotations")?;
    annotations.get(ANNOTATION)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn noted(config: &Value) -> Value {
        let mut document = json!({"metadata": {"annotations": {ANNOTATION: "{}", "a": "b"}}});
        note(&Name::from(KUBECTL), &mut document, config);
        document["metadata"]["annotations"].take()
    }

    #[test]
    fn what_was_applied_is_noted_as_kubectl_notes_it() {
        let config = json!({"data": {"k": "<a> & b"},
            "metadata": {"annotations": {ANNOTATION: "before", "c": "d"}}});
        let text =
            r#"{"data":{"k":"\u003ca\u003e \u0026 b"},"metadata":{"annotations":{"c":"d"}}}"#;
        let annotations = json!({ANNOTATION: format!("{text}\n"), "a": "b"});
        assert_eq!(noted(&config), annotations);
    }

    /// Source: `SetLastApplied`.
    #[test]
    fn what_is_too_long_to_be_noted_takes_the_note_away() {
        let config = json!({"data": {"k": "v".repeat(262_144)}});
        assert_eq!(noted(&config), json!({"a": "b"}));
    }
}
