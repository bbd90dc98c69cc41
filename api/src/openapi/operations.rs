//! The operations of a kind and their paths: the same for both versions of OpenAPI. Source: upstream's `APIInstaller`.

mod names;
mod parameters;

pub(super) use parameters::Parameter;

use super::definitions::{Served, list_name, name_of, name_of_meta};
use super::parts::Writing;
use crate::fragments;
use crate::patches::PatchMedia;
use crate::subresources::{self, Told};
use serde_json::{Map, Value, json};

const BODIES: &[&str] = &["application/json", "application/yaml"];

/// One method of one path.
pub(super) struct Operation {
    path: String,
    method: &'static str,
    pub(super) action: &'static str,
    pub(super) id: String,
    pub(super) gvk: Value,
    /// Names of query parameters, beside those of the path.
    query: Vec<&'static str>,
    /// The media types of the body; empty where there is no body.
    pub(super) consumes: Vec<&'static str>,
    /// The body may be left out.
    pub(super) is_optional: bool,
    pub(super) body: Content,
    pub(super) produces: [&'static str; 1],
    pub(super) answer: Content,
    /// The codes of an answer that is no error, with their names.
    pub(super) codes: &'static [(&'static str, &'static str)],
}

/// What a body consists of.
#[derive(Clone)]
pub(super) enum Content {
    /// Something with members.
    Object,
    Text,
    /// What the definition of this name describes.
    Defined(String),
}

impl Content {
    /// As a schema of a document that has its definitions there.
    pub(super) fn schema(&self, definitions: &str) -> Value {
        match self {
            Self::Object => json!({"type": "object"}),
            Self::Text => json!({"type": "string"}),
            Self::Defined(name) => json!({"$ref": format!("{definitions}{name}")}),
        }
    }
}

impl Operation {
    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter> {
        self.query.iter().copied().map(Parameter::query)
    }
}

/// The paths of a kind in a version, with their operations as a version of OpenAPI writes them.
pub(super) fn paths(served: &Served<'_>, writing: Writing) -> Map<String, Value> {
    let mut paths = Map::new();
    for operation in of_kind(served) {
        let item = paths.entry(operation.path.clone()).or_insert_with(|| {
            let all = Parameter::of_path(&operation.path);
            let all: Vec<Value> = all.map(writing.parameter).collect();
            json!({"parameters": all})
        });
        if let Some(methods) = item.as_object_mut() {
            methods.insert(operation.method.into(), (writing.operation)(&operation));
        }
    }
    paths
}

/// All operations of a kind in a version. The deprecated paths of watches are not described: they would make each document
/// longer by an eighth, for what lists do as well.
fn of_kind(served: &Served<'_>) -> Vec<Operation> {
    let (kind, version) = (served.kind, served.version);
    let base = match &*kind.resource.group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let scope = if kind.is_namespaced() {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{base}{scope}/{}", kind.resource.resource);
    let actions: &[_] = if kind.strategy.review {
        &[("post", "post")]
    } else {
        &[
            ("get", "list"),
            ("post", "post"),
            ("delete", "deletecollection"),
        ]
    };
    let is_served = |action: &str| action != "deletecollection" || kind.strategy.collection_deletes;
    let mut all: Vec<Operation> = actions
        .iter()
        .filter(|(_, action)| is_served(action))
        .map(|(method, action)| operation(served, &collection, (method, action)))
        .collect();
    if kind.strategy.review {
        return all;
    }
    if kind.is_namespaced() {
        let everywhere = format!("{base}/{}", kind.resource.resource);
        all.push(operation(served, &everywhere, ("get", "list")));
    }
    let item = format!("{collection}/{{name}}");
    for method in ["get", "put", "patch", "delete"] {
        all.push(operation(served, &item, (method, method)));
    }
    for told in kind
        .served(version)
        .into_iter()
        .flat_map(|version| subresources::of(kind, version))
    {
        all.extend(of_subresource(served, &item, told));
    }
    all
}

fn of_subresource(served: &Served<'_>, item: &str, told: Told) -> Vec<Operation> {
    let path = format!("{item}/{}", told.name);
    let methods = [
        ("create", "post"),
        ("get", "get"),
        ("update", "put"),
        ("patch", "patch"),
    ];
    let methods = methods
        .into_iter()
        .filter(|(verb, _)| told.verbs.contains(verb));
    let gvk = fragments::gvk(&told.gvk);
    let all = methods.map(|(_, method)| {
        let whole = operation(served, &path, (method, method));
        if gvk == served.gvk() {
            return whole;
        }
        let own = Content::Defined(name_of(&told.gvk));
        let has_type = matches!(whole.body, Content::Defined(_));
        Operation {
            gvk: gvk.clone(),
            body: if has_type { own.clone() } else { whole.body },
            answer: own,
            ..whole
        }
    });
    if told.name == subresources::LOG {
        return all.map(of_log).collect();
    }
    all.collect()
}

fn of_log(whole: Operation) -> Operation {
    Operation {
        query: parameters::LOGS.to_vec(),
        produces: ["text/plain"],
        answer: Content::Text,
        ..whole
    }
}

fn operation(
    served: &Served<'_>,
    path: &str,
    (method, action): (&'static str, &'static str),
) -> Operation {
    let object = || Content::Defined(served.name.clone());
    let is_deletion = method == "delete";
    let consumes = match action {
        "post" | "put" | "delete" | "deletecollection" => BODIES.to_vec(),
        "patch" => PatchMedia::names(PatchMedia::of(served.kind)),
        _ => Vec::new(),
    };
    Operation {
        path: path.to_owned(),
        method,
        action,
        id: names::id(served, path, action),
        gvk: served.gvk(),
        query: parameters::of(action),
        consumes,
        is_optional: is_deletion,
        body: match action {
            "post" | "put" => object(),
            _ if is_deletion => Content::Defined(name_of_meta("DeleteOptions")),
            _ => Content::Object,
        },
        produces: ["application/json"],
        answer: match action {
            "list" => Content::Defined(list_name(&served.name)),
            "delete" if served.kind.strategy.returns_object => object(),
            _ if is_deletion => Content::Defined(name_of_meta("Status")),
            _ => object(),
        },
        codes: match action {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            // An apply creates, too.
            "put" | "patch" => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        },
    }
}
