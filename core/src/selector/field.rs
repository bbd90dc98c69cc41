//! `fieldSelector`: equality on a few paths of a kind.

use crate::kind::Kind;
use serde_json::Value;

/// Paths that built-in kinds allow beside name and namespace. Source: the conversion functions
/// and `SelectableFields` of upstream's types.
const BUILTIN: &[(&str, &[&str])] = &[
    (
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    ),
    ("nodes", &["spec.unschedulable"]),
    ("secrets", &["type"]),
    ("namespaces", &["status.phase"]),
    ("jobs", &["status.successful"]),
    ("replicasets", &["status.replicas"]),
    ("replicationcontrollers", &["status.replicas"]),
    ("certificatesigningrequests", &["spec.signerName"]),
    ("services", &["spec.clusterIP", "spec.type"]),
    (
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
];

/// A parsed field selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    path: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Reads a selector and checks that the kind knows its fields.
    pub fn parse(text: &str, kind: &Kind, version: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split(text).iter().filter(|part| !part.is_empty()) {
            let term = term(part)
                .ok_or_else(|| format!("invalid selector: '{part}'; can't understand '{part}'"))?;
            if !is_known(&term.path, kind, version) {
                return Err(format!("field label not supported: {}", term.path));
            }
            terms.push(term);
        }
        Ok(Self { terms })
    }

    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The one name that it allows, if it asks for one.
    pub fn exact_name(&self) -> Option<&str> {
        let named = |term: &&Term| term.equal && term.path == "metadata.name";
        self.terms
            .iter()
            .find(named)
            .map(|term| term.value.as_str())
    }

    /// Whether it can be answered from name and namespace alone.
    pub fn needs_body(&self) -> bool {
        self.terms
            .iter()
            .any(|term| !term.path.starts_with("metadata."))
    }

    /// Whether an object matches. The body is read only where [`Self::needs_body`] says so.
    pub fn matches(&self, namespace: &str, name: &str, body: &Value) -> bool {
        self.terms.iter().all(|term| {
            let found = match term.path.as_str() {
                "metadata.name" => name.to_owned(),
                "metadata.namespace" => namespace.to_owned(),
                path => value_at(body, path),
            };
            (found == term.value) == term.equal
        })
    }
}

fn is_known(path: &str, kind: &Kind, version: &str) -> bool {
    let custom = || {
        let version = kind.served(version);
        version.is_some_and(|version| {
            version
                .selectable_fields
                .iter()
                .any(|field| field.trim_start_matches('.') == path)
        })
    };
    let builtin = || {
        let row = BUILTIN
            .iter()
            .find(|(resource, _)| *resource == &*kind.resource.resource);
        !kind.is_custom() && row.is_some_and(|(_, paths)| paths.contains(&path))
    };
    path == "metadata.name" || path == "metadata.namespace" || builtin() || custom()
}

/// The text of a value; an absent one is empty, an absent boolean of a pod is false.
fn value_at(body: &Value, path: &str) -> String {
    if path == "source" {
        return value_at(body, "source.component");
    }
    let pointer = format!("/{}", path.replace('.', "/"));
    match body.pointer(&pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if matches!(path, "spec.unschedulable" | "spec.hostNetwork") => {
            "false".into()
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for one in text.chars() {
        if one == ',' && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = one == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(one);
        }
    }
    parts
}

fn term(part: &str) -> Option<Term> {
    let (path, value, equal) = if let Some((path, value)) = part.split_once("!=") {
        (path, value, false)
    } else if let Some((path, value)) = part.split_once("==") {
        (path, value, true)
    } else {
        let (path, value) = part.split_once('=')?;
        (path, value, true)
    };
    Some(Term {
        path: path.into(),
        value: value.replace('\\', ""),
        equal,
    })
}
