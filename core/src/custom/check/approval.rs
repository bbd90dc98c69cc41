//! Groups of the Kubernetes community need an annotation that names an approval or says that there
//! is none.
//! Source: `apiextensions-apiserver/pkg/apihelpers`.

use crate::custom::text;
use crate::go::url;
use crate::rejection::FieldCause;
use serde_json::{Value, json};

const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

pub(super) fn check(document: &Value, old: Option<&Value>) -> Option<FieldCause> {
    let group = text(document, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|suffix| {
        let rest = group.strip_suffix(suffix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let approval = approval_of(document);
    if !protected || old.is_some_and(|old| approval_of(old) == approval) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    let must = format!("protected groups must have approval annotation \"{ANNOTATION}\"");
    match approval {
        "" => Some(FieldCause::required(field, &format!("{must}, {SEE}"))),
        text if text.starts_with("unapproved") || is_url(text) => None,
        text => {
            let why =
                format!("{must} with either a URL or a reason starting with \"unapproved\", {SEE}");
            Some(FieldCause::invalid(field, &json!(text), &why))
        }
    }
}

fn approval_of(document: &Value) -> &str {
    let annotations = document.pointer("/metadata/annotations");
    let found = annotations.and_then(|all| all.get(ANNOTATION));
    found.and_then(Value::as_str).unwrap_or_default()
}

fn is_url(text: &str) -> bool {
    url::parse(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}
