//! The operations of a kind and their paths: the same for both versions of OpenAPI.

use super::definitions::{Served, list_name};
use crate::fragments;
use crate::patches::PatchMedia;
use hindsight_core::kind::Subresource;
use serde_json::{Map, Value, json};

const WRITES: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const PATCHES: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETES: [&str; 3] = ["dryRun", "gracePeriodSeconds", "propagationPolicy"];
const LISTS: [&str; 9] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "watch",
];
const BODIES: &[&str] = &["application/json", "application/yaml"];

/// One method of one path.
pub(super) struct Operation {
    pub(super) path: String,
    pub(super) method: &'static str,
    pub(super) action: &'static str,
    pub(super) id: String,
    pub(super) gvk: Value,
    /// Names of query parameters.
    pub(super) query: &'static [&'static str],
    /// Names of parameters in the path.
    pub(super) place: Vec<&'static str>,
    /// The media types of the body; empty where there is no body.
    pub(super) consumes: Vec<&'static str>,
    /// The name of the body's definition; a patch has none.
    pub(super) body: Option<String>,
    /// The name of the answer's definition.
    pub(super) answer: Option<String>,
}

impl Operation {
    /// The type of a query parameter.
    pub(super) fn type_of(parameter: &str) -> &'static str {
        match parameter {
            "allowWatchBookmarks" | "force" | "watch" => "boolean",
            "limit" | "timeoutSeconds" | "gracePeriodSeconds" => "integer",
            _ => "string",
        }
    }
}

/// The paths of a kind in a version, with their operations as a version of OpenAPI writes them.
pub(super) fn paths(served: &Served<'_>, render: fn(&Operation) -> Value) -> Map<String, Value> {
    let mut paths = Map::new();
    for operation in of_kind(served) {
        let item = paths
            .entry(operation.path.clone())
            .or_insert_with(|| json!({}));
        if let Some(methods) = item.as_object_mut() {
            methods.insert(operation.method.into(), render(&operation));
        }
    }
    paths
}

/// All operations of a kind in a version.
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
    let version_of = kind.served(version);
    for subresource in version_of.map_or(&[][..], |version| version.subresources.as_slice()) {
        if matches!(subresource, Subresource::Status | Subresource::Scale) {
            all.extend(of_subresource(served, &item, *subresource));
        }
    }
    all
}

fn of_subresource(served: &Served<'_>, item: &str, subresource: Subresource) -> Vec<Operation> {
    let path = format!("{item}/{}", subresource.name());
    let methods = [("get", "get"), ("put", "update"), ("patch", "patch")];
    let methods = methods
        .into_iter()
        .filter(|(_, verb)| subresource.verbs().contains(verb));
    let gvk = fragments::gvk(&served.kind.document_gvk(served.version, Some(subresource)));
    let is_own = gvk == served.gvk();
    methods
        .map(|(method, _)| {
            let whole = operation(served, &path, (method, method));
            Operation {
                gvk: gvk.clone(),
                body: whole.body.filter(|_| is_own),
                answer: whole.answer.filter(|_| is_own),
                ..whole
            }
        })
        .collect()
}

fn operation(
    served: &Served<'_>,
    path: &str,
    (method, action): (&'static str, &'static str),
) -> Operation {
    let object = Some(served.name.clone());
    let (query, consumes): (&[&str], _) = match action {
        "list" => (&LISTS, Vec::new()),
        "post" | "put" => (&WRITES, BODIES.to_vec()),
        "patch" => (&PATCHES, PatchMedia::names(PatchMedia::of(served.kind))),
        "delete" | "deletecollection" => (&DELETES, Vec::new()),
        _ => (&[], Vec::new()),
    };
    let place = ["namespace", "name"];
    let place = place
        .into_iter()
        .filter(|name| path.contains(&format!("{{{name}}}")));
    Operation {
        path: path.to_owned(),
        method,
        action,
        id: id(served, path, action),
        gvk: served.gvk(),
        query,
        place: place.collect(),
        consumes,
        body: object.clone().filter(|_| matches!(action, "post" | "put")),
        answer: match action {
            "list" => object.map(|name| list_name(&name)),
            "delete" | "deletecollection" => None,
            _ => object,
        },
    }
}

/// The operation's ID, as in `readAppsV1NamespacedDeploymentScale` and `listAppsV1DeploymentForAllNamespaces`.
fn id(served: &Served<'_>, path: &str, action: &str) -> String {
    let verb = match action {
        "get" => "read",
        "post" => "create",
        "put" => "replace",
        "deletecollection" => "deleteCollection",
        other => other,
    };
    let group = served
        .kind
        .resource
        .group
        .split('.')
        .next()
        .unwrap_or_default();
    let group = if group.is_empty() { "core" } else { group };
    let in_one = path.contains("{namespace}");
    let (scope, everywhere) = match served.kind.is_namespaced() {
        true if in_one => ("Namespaced", ""),
        true => ("", "ForAllNamespaces"),
        false => ("", ""),
    };
    let below = path.split("{name}/").nth(1).unwrap_or_default();
    let kind = &served.kind.kind;
    format!(
        "{verb}{}{}{scope}{kind}{}{everywhere}",
        capital(group),
        capital(served.version),
        capital(below)
    )
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|one| one.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
