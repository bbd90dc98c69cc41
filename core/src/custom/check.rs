//! What a `CustomResourceDefinition` may say.
//! Source: `apiextensions-apiserver/pkg/apis/apiextensions/validation`.

use crate::rejection::FieldCause;
use serde_json::{Value, json};

/// Everything that is wrong with a definition.
pub(crate) fn check(document: &Value) -> Vec<FieldCause> {
    let mut causes = Vec::new();
    for pointer in [
        "/spec/group",
        "/spec/scope",
        "/spec/names/plural",
        "/spec/names/kind",
    ] {
        if super::text(document, pointer).is_empty() {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            causes.push(FieldCause::required(field, ""));
        }
    }
    let expected = format!(
        "{}.{}",
        super::text(document, "/spec/names/plural"),
        super::text(document, "/spec/group")
    );
    let name = super::text(document, "/metadata/name");
    if name != expected {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(FieldCause::invalid("metadata.name", &json!(name), why));
    }
    if super::text(document, "/spec/conversion/strategy") == "Webhook" {
        let supported = &["None"];
        let field = "spec.conversion.strategy";
        causes.push(FieldCause::not_supported(field, "Webhook", supported));
    }
    causes
}
