//! The count of the pod templates that a daemon set has had, which is the server's. Source:
//! `daemonSetStrategy.PrepareForUpdate` of upstream's `pkg/registry/apps/daemonset`, which keeps it in a field
//! that `pkg/apis/apps/v1/conversion.go` writes as an annotation.

use crate::decide::prepare;
use crate::defaults::TEMPLATE_GENERATION;
use crate::document::object_or_insert;
use serde_json::Value;

const TEMPLATE: &str = "/spec/template";

/// Puts the stored count in place of what was sent.
pub(super) fn keep_count(old: &Value, next: &mut Value) {
    write(next, count(old));
}

/// Adds one if the template changes; both documents are complete.
pub(super) fn count_change(old: &Value, next: &mut Value) {
    if old.pointer(TEMPLATE) != next.pointer(TEMPLATE) {
        write(next, count(old).saturating_add(1));
    }
}

fn count(document: &Value) -> i64 {
    let annotations = document.pointer("/metadata/annotations");
    let count = annotations.and_then(|all| all.get(TEMPLATE_GENERATION)?.as_str()?.parse().ok());
    count.unwrap_or(1)
}

fn write(document: &mut Value, count: i64) {
    let Ok(metadata) = prepare::metadata(document) else {
        return;
    };
    if let Some(annotations) = object_or_insert(metadata, "annotations") {
        annotations.insert(TEMPLATE_GENERATION.into(), count.to_string().into());
    }
}
