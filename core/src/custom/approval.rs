//! Groups of the Kubernetes community need an annotation that names an approval or says that there
//! is none.
//! Source: `apiextensions-apiserver/pkg/apihelpers`, and `calculateCondition` of its `controller/apiapproval`.

use super::text;
use crate::go::{quoted, url};
use crate::rejection::FieldCause;
use serde_json::{Value, json};

const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation of a definition says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Missing,
    Unapproved,
    Approved,
    Invalid,
}

/// The causes against a definition whose group is of the community. What an update leaves as it is may stay.
pub(super) fn check(definition: &Value, old: Option<&Value>) -> Option<FieldCause> {
    let said = annotation(definition);
    let verdict = verdict(said);
    let is_new = old.is_none_or(|old| self::verdict(annotation(old)) != verdict);
    if !is_new || !is_protected(text(definition, "/spec/group")) {
        return None;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    match verdict {
        Verdict::Missing => Some(FieldCause::required(field, &reason(verdict, said))),
        Verdict::Invalid => {
            let why = reason(verdict, said);
            Some(FieldCause::invalid(field, &json!(said), &why))
        }
        Verdict::Unapproved | Verdict::Approved => None,
    }
}

/// Whether a definition whose group is of the community is approved, as its condition tells.
pub(crate) struct Conformance {
    pub(crate) is_approved: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

pub(crate) fn conformance(definition: &Value) -> Option<Conformance> {
    let said = annotation(definition);
    let verdict = verdict(said);
    is_protected(text(definition, "/spec/group")).then(|| Conformance {
        is_approved: verdict == Verdict::Approved,
        reason: match verdict {
            Verdict::Missing => "MissingAnnotation",
            Verdict::Unapproved => "UnapprovedAnnotation",
            Verdict::Approved => "ApprovedAnnotation",
            Verdict::Invalid => "InvalidAnnotation",
        },
        message: reason(verdict, said),
    })
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|suffix| {
        let rest = group.strip_suffix(suffix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn annotation(definition: &Value) -> &str {
    let annotations = definition.pointer("/metadata/annotations");
    let found = annotations.and_then(|all| all.get(ANNOTATION));
    found.and_then(Value::as_str).unwrap_or_default()
}

fn verdict(said: &str) -> Verdict {
    match said {
        "" => Verdict::Missing,
        said if said.starts_with("unapproved") => Verdict::Unapproved,
        said if is_url(said) => Verdict::Approved,
        _ => Verdict::Invalid,
    }
}

fn reason(verdict: Verdict, said: &str) -> String {
    let must = format!("protected groups must have approval annotation \"{ANNOTATION}\"");
    match verdict {
        Verdict::Missing => format!("{must}, {SEE}"),
        Verdict::Invalid => {
            format!("{must} with either a URL or a reason starting with \"unapproved\", {SEE}")
        }
        Verdict::Unapproved => format!("not approved: {}", quoted(said)),
        Verdict::Approved => format!("approved in {said}"),
    }
}

fn is_url(text: &str) -> bool {
    url::parse(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier release may have stored one.
    #[test]
    fn an_update_may_leave_a_bad_approval_as_it_is_and_make_none() {
        let definition = |said: &str| json!({"metadata": {"annotations": {ANNOTATION: said}}, "spec": {"group": "x.k8s.io"}});
        for (old, new, is_refused) in [
            (Some("what"), "whatever", false),
            (Some(""), "", false),
            (Some("https://e.com/1"), "what", true),
            (Some("what"), "", true),
            (Some("what"), "unapproved", false),
            (None, "what", true),
        ] {
            let refused = check(&definition(new), old.map(definition).as_ref());
            assert_eq!(refused.is_some(), is_refused, "{old:?} {new}");
        }
    }
}
