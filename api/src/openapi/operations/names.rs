//! The IDs of operations, which generated clients call their functions by. Source: upstream's `GetOperationIDAndTags`.

use crate::openapi::definitions::Served;

/// The operation's ID, as in `readAppsV1NamespacedDeploymentScale` and `listAppsV1DeploymentForAllNamespaces`.
pub(super) fn id(served: &Served<'_>, path: &str, action: &str) -> String {
    let (verb, many) = match action {
        "get" => ("read", ""),
        "post" => ("create", ""),
        "put" => ("replace", ""),
        "deletecollection" => ("delete", "Collection"),
        other => (other, ""),
    };
    let group = match &*served.kind.resource.group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    };
    let in_one = path.contains("{namespace}");
    let (scope, everywhere) = match served.kind.is_namespaced() {
        true if in_one => ("Namespaced", ""),
        true => ("", "ForAllNamespaces"),
        false => ("", ""),
    };
    let below = path.split("{name}/").nth(1).unwrap_or_default();
    let kind = &served.kind.kind;
    format!(
        "{verb}{}{}{many}{scope}{kind}{}{everywhere}",
        capital(group),
        capital(served.version),
        capital(below)
    )
}

/// The words of a name in one: what is no part of a name in a program begins a word.
fn capital(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    words
        .flat_map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|one| one.to_ascii_uppercase());
            first.into_iter().chain(letters)
        })
        .collect()
}
