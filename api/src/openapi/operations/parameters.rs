//! What can be said in the path and in the query.

const WRITES: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const DELETES: [&str; 4] = [
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
];
/// What is selected, of lists and of deletions.
const SELECTS: [&str; 7] = [
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
];
const WATCHES: [&str; 3] = ["allowWatchBookmarks", "sendInitialEvents", "watch"];
/// Source: `PodLogOptions`.
pub(super) const LOGS: [&str; 9] = [
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
];

/// A parameter of a path or of an operation.
pub(in crate::openapi) struct Parameter {
    pub(in crate::openapi) name: &'static str,
    /// `path` or `query`. What is in the path is required.
    pub(in crate::openapi) place: &'static str,
    pub(in crate::openapi) type_name: &'static str,
}

impl Parameter {
    pub(super) fn query(name: &'static str) -> Self {
        let type_name = match name {
            "allowWatchBookmarks"
            | "follow"
            | "force"
            | "insecureSkipTLSVerifyBackend"
            | "orphanDependents"
            | "previous"
            | "sendInitialEvents"
            | "timestamps"
            | "watch" => "boolean",
            "gracePeriodSeconds" | "limit" | "limitBytes" | "sinceSeconds" | "tailLines"
            | "timeoutSeconds" => "integer",
            _ => "string",
        };
        Self {
            name,
            place: "query",
            type_name,
        }
    }

    /// What all operations of a path have in common.
    pub(super) fn of_path(path: &str) -> impl Iterator<Item = Self> {
        let names = ["namespace", "name"].into_iter();
        let names = names.filter(move |name| path.contains(&format!("{{{name}}}")));
        let in_path = names.map(|name| Self {
            name,
            place: "path",
            type_name: "string",
        });
        in_path.chain([Self::query("pretty")])
    }

    pub(in crate::openapi) fn is_required(&self) -> bool {
        self.place == "path"
    }
}

/// The names of what can be said in the query of an operation, beside what all operations of its path have.
pub(super) fn of(action: &str) -> Vec<&'static str> {
    let lists: &[&[&str]] = match action {
        "list" => &[&SELECTS, &WATCHES],
        "post" | "put" => &[&WRITES],
        "patch" => &[&WRITES, &["force"]],
        "delete" => &[&DELETES],
        "deletecollection" => &[&DELETES, &SELECTS],
        _ => &[],
    };
    lists.concat()
}
