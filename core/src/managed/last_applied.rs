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
    // In kubectl's format.
    let text = format!("{applied}\n");
    let annotations = document.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.into(), text.into());
        if !validate::annotations_fit(annotations) {
            annotations.insert(ANNOTATION.into(), "".into());
        }
    }
}

fn annotation(document: &Value) -> Option<&str> {
    let annotations = document.pointer("/metadata/annotations")?;
    annotations.get(ANNOTATION)?.as_str()
}
