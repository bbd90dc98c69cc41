//! `fieldSelector`: equality on a few fields of a kind. Source: apimachinery's
//! `fields/selector.go`.

mod labels;

use super::check_length;
use crate::kind::Kind;
use labels::Source;
use serde_json::Value;

/// A parsed field selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    source: Source,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses a selector, and checks that the kind supports its fields.
    pub fn parse(text: &str, kind: &Kind, version: &str) -> Result<Self, String> {
        let mut parts = split(text);
        parts.retain(|part| !part.is_empty());
        check_length(parts.len())?;
        parts.sort_unstable();
        let mut read = Vec::with_capacity(parts.len());
        for part in parts {
            let (label, value, equal) = term(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            // A term without label and value matches everything. Source: `hasTerm.Transform`.
            if !(label.is_empty() && value.is_empty()) {
                read.push((label, unescape(value)?, equal));
            }
        }
        let terms = read.into_iter().map(|(label, value, equal)| {
            Ok(Term {
                source: labels::source(label, kind, version)?,
                value,
                equal,
            })
        });
        let terms = terms.collect::<Result<_, String>>()?;
        Ok(Self { terms })
    }

    /// A selector that matches the objects with this name.
    pub fn of_name(name: &str) -> Self {
        let term = Term {
            source: Source::Name,
            value: name.to_owned(),
            equal: true,
        };
        Self { terms: vec![term] }
    }

    /// Returns the name that the selector requires, if it requires one.
    pub fn name(&self) -> Option<&str> {
        let mut terms = self.terms.iter();
        let term = terms.find(|term| term.equal && matches!(term.source, Source::Name))?;
        Some(&term.value)
    }

    /// The number of requirements.
    pub fn requirements(&self) -> usize {
        self.terms.len()
    }

    /// Whether name and namespace of an object are not enough to evaluate the selector.
    pub fn needs_body(&self) -> bool {
        let in_body = |term: &Term| matches!(term.source, Source::Body(_));
        self.terms.iter().any(in_body)
    }

    /// Whether an object matches. Its fields are looked at only if [`Self::needs_body`] is true; they must be those
    /// of the kind and version that the selector was parsed for.
    pub fn matches(&self, namespace: &str, name: &str, fields: &SelectableFields) -> bool {
        self.terms.iter().all(|term| {
            let same = match &term.source {
                Source::Name => term.value == name,
                Source::Namespace => term.value == namespace,
                Source::Body(place) => fields.is(*place, &term.value),
            };
            same == term.equal
        })
    }
}

/// All that field selectors look at in the body of an object: the values of the fields that one version of its kind
/// lets them select by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectableFields(Vec<Box<str>>);

impl SelectableFields {
    /// Reads them from a document, as [`crate::Form::document_for_selection`] makes it.
    pub(crate) fn read(kind: &Kind, version: &str, document: &Value) -> Self {
        Self(labels::values(kind, version, document))
    }

    fn is(&self, place: usize, value: &str) -> bool {
        self.0.get(place).is_some_and(|found| **found == *value)
    }

    /// How long all values are together, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|value| value.len()).sum()
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, one) in text.char_indices() {
        if one == ',' && !escaped {
            parts.push(text.get(start..index).unwrap_or_default());
            start = index + 1;
        }
        escaped = one == '\\' && !escaped;
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

/// Splits a term at its first operator: label, value, and whether they must be equal.
fn term(part: &str) -> Option<(&str, &str, bool)> {
    let at = |(index, _)| {
        let (label, rest) = part.split_at(index);
        let operators = [("!=", false), ("==", true), ("=", true)];
        let mut found = operators.iter();
        found.find_map(|(sign, equal)| Some((label, rest.strip_prefix(sign)?, *equal)))
    };
    part.char_indices().find_map(at)
}

fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(one) = rest.next() {
        match one {
            '\\' => match rest.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                other => {
                    let sequence = other.map_or_else(|| "\\".into(), |one| format!("\\{one}"));
                    let why = "invalid field selector: invalid escape sequence";
                    return Err(format!("{why}: {sequence}"));
                }
            },
            // Upstream prints the character as its number.
            ',' | '=' => {
                let why = "invalid field selector: unescaped character in value";
                return Err(format!("{why}: {}", u32::from(one)));
            }
            other => text.push(other),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::kind::{Conversion, Origin, Scope};
    use serde_json::json;
    use std::sync::Arc;

    fn kind(group: &str, resource: &str) -> Kind {
        let mut kinds = builtin::kinds().into_iter();
        let named =
            |kind: &Kind| (&*kind.resource.group, &*kind.resource.resource) == (group, resource);
        kinds.find(named).expect(resource)
    }

    fn custom(scope: Scope) -> Kind {
        let mut kind = kind("", "pods");
        kind.scope = scope;
        kind.origin = Origin::Custom {
            definition: "u".into(),
            terminating: false,
            conversion: Conversion::None,
        };
        let fields = vec![".spec.hostNetwork".into(), ".spec.n".into()];
        Arc::make_mut(&mut kind.versions[0]).selectable_fields = fields;
        kind
    }

    #[test]
    fn selectors_match_the_fields_of_their_kind() {
        let pod = json!({"spec": {"nodeName": "n"}, "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]}});
        let job = json!({"status": {"succeeded": 2}});
        let slice = json!({"spec": {"driver": "d", "nodeName": "n"}});
        let event = json!({"involvedObject": {"name": "p"}, "reportingComponent": "c"});
        let none = json!({});
        for (group, resource, body, selector, expected) in [
            (
                "",
                "pods",
                &pod,
                "metadata.name=a,metadata.namespace==b",
                true,
            ),
            ("", "pods", &pod, "metadata.name!=a", false),
            ("", "pods", &pod, "=,metadata.name=a,!=", true),
            (
                "",
                "pods",
                &pod,
                "status.phase=Running,spec.nodeName!=m,",
                true,
            ),
            ("", "pods", &pod, "spec.host=n", true),
            ("", "pods", &pod, "spec.hostNetwork=false", true),
            ("", "pods", &pod, "status.podIP=1.2.3.4", true),
            ("", "pods", &pod, "status.podIPs=1.2.3.4", false),
            ("", "nodes", &none, "spec.unschedulable=false", true),
            ("batch", "jobs", &job, "status.successful=2", true),
            (
                "resource.k8s.io",
                "resourceslices",
                &slice,
                "spec.nodeName=n,spec.driver=d",
                true,
            ),
            (
                "resource.k8s.io",
                "resourceslices",
                &none,
                "spec.nodeName=",
                true,
            ),
            ("batch", "jobs", &none, "status.successful=0", true),
            ("apps", "replicasets", &none, "status.replicas=0", true),
            (
                "",
                "events",
                &event,
                "involvedObject.name=p,source=c,reportingComponent=c",
                true,
            ),
            (
                "events.k8s.io",
                "events",
                &event,
                "regarding.name=p,reportingController=c",
                true,
            ),
            ("", "configmaps", &none, "metadata.name=a=", false),
        ] {
            match FieldSelector::parse(selector, &kind(group, resource), "v1") {
                Ok(parsed) => {
                    let fields = SelectableFields::read(&kind(group, resource), "v1", body);
                    assert_eq!(parsed.matches("b", "a", &fields), expected, "{selector}");
                }
                Err(why) => assert!(!expected, "{selector}: {why}"),
            }
        }
    }

    #[test]
    fn fields_of_a_custom_kind_have_no_defaults() {
        for (selector, body, expected) in [
            ("spec.hostNetwork=false", json!({}), false),
            ("spec.hostNetwork=", json!({}), true),
            (
                "spec.hostNetwork=true",
                json!({"spec": {"hostNetwork": true}}),
                true,
            ),
            ("spec.n=5", json!({"spec": {"n": 5}}), true),
        ] {
            let kind = custom(Scope::Namespaced);
            let parsed = FieldSelector::parse(selector, &kind, "v1").expect(selector);
            assert!(parsed.needs_body());
            let fields = SelectableFields::read(&kind, "v1", &body);
            assert_eq!(parsed.matches("b", "a", &fields), expected, "{selector}");
        }
    }

    #[test]
    fn what_a_kind_does_not_know_is_refused_as_kubernetes_refuses_it() {
        let default =
            "\"a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
        let plain = "field label not supported: ";
        for (kind, selector, expected) in [
            (kind("", "pods"), "a=b", format!("{plain}a")),
            (
                kind("", "pods"),
                "status.qosClass=b",
                format!("{plain}status.qosClass"),
            ),
            (kind("", "configmaps"), "a=b", default.into()),
            (
                kind("batch", "jobs"),
                "a=b",
                "field label \"a\" not supported for Job".into(),
            ),
            (
                kind("", "nodes"),
                "metadata.namespace=",
                format!("{plain}metadata.namespace"),
            ),
            (
                kind("", "namespaces"),
                "metadata.namespace=",
                format!("{plain}metadata.namespace"),
            ),
            (
                kind("resource.k8s.io", "resourceslices"),
                "metadata.namespace=",
                "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: \
                 metadata.namespace"
                    .into(),
            ),
            (
                kind("", "events"),
                "regarding.name=b",
                format!("{plain}regarding.name"),
            ),
            (
                custom(Scope::Namespaced),
                "spec.x=b",
                format!("{plain}spec.x"),
            ),
            (
                custom(Scope::Cluster),
                "metadata.namespace=",
                format!("{plain}metadata.namespace"),
            ),
            (
                kind("", "pods"),
                " metadata.name=a",
                format!("{plain} metadata.name"),
            ),
        ] {
            assert_eq!(
                FieldSelector::parse(selector, &kind, "v1"),
                Err(expected),
                "{selector}"
            );
        }
        let cluster_roles = kind("rbac.authorization.k8s.io", "clusterroles");
        assert!(FieldSelector::parse("metadata.namespace=", &cluster_roles, "v1").is_ok());
    }

    #[test]
    fn values_are_unescaped() {
        let pods = kind("", "pods");
        for (selector, name) in [
            (r"metadata.name=a\,b", "a,b"),
            (r"metadata.name=a\=b", "a=b"),
            (r"metadata.name==a\\", r"a\"),
            ("metadata.name=a ", "a "),
        ] {
            let parsed = FieldSelector::parse(selector, &pods, "v1").expect(selector);
            let [term] = &parsed.terms[..] else {
                panic!("{selector}");
            };
            assert!(term.equal && term.source == Source::Name, "{selector}");
            assert_eq!(term.value, name, "{selector}");
        }
        let unescaped = "invalid field selector: unescaped character in value: 61";
        for (selector, why) in [
            ("metadata.name=a=b", unescaped),
            ("metadata.name=a!=b", unescaped),
            (
                r"metadata.name=a\b",
                r"invalid field selector: invalid escape sequence: \b",
            ),
            (
                r"metadata.name=a\",
                r"invalid field selector: invalid escape sequence: \",
            ),
            (
                "x,metadata.name",
                "invalid selector: 'x,metadata.name'; can't understand 'metadata.name'",
            ),
        ] {
            assert_eq!(
                FieldSelector::parse(selector, &pods, "v1"),
                Err(why.into()),
                "{selector}"
            );
        }
    }
}
