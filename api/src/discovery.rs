//! Discovery: which groups, versions and resources there are, in the older form and in the aggregated one.

#[cfg(test)]
mod tests;

use crate::accept::{accept_object, wants_aggregate};
use crate::body::{ApiBody, Syntax};
use crate::etag::tagged;
use crate::status::Failure;
use crate::{health, respond};
use hindsight_core::State;
use hindsight_core::builtin;
use hindsight_core::kind::{Kind, KindRef, Preference};
use http::{HeaderMap, HeaderValue, Response, header};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

pub(crate) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// A discovery document, if the path names one.
pub(crate) fn respond(
    path: &str,
    is_past: bool,
    headers: &HeaderMap,
    state: &State,
) -> Option<Result<Response<ApiBody>, Failure>> {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let aggregated = || wants_aggregate(headers);
    let document = match segments.as_slice() {
        [] => {
            // Upstream's list of paths knows no other form either.
            let document = json!({"paths": paths(state, is_past)});
            return Some(Ok(respond::json(200, &document, Syntax::Json)));
        }
        // Of the present it is answered before anybody logs in.
        ["version"] => return Some(Ok(health::version())),
        ["api"] if aggregated() => return Some(Ok(aggregate(state, headers, &[String::new()]))),
        ["apis"] if aggregated() => return Some(Ok(aggregate(state, headers, &groups(state)))),
        ["api"] => json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": []}),
        ["apis"] => {
            let groups: Vec<Value> = groups(state)
                .iter()
                .filter_map(|group| group_of(state, group))
                .collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["apis", group] => with_type(group_of(state, group)?, "APIGroup"),
        ["api", version] => resources(state, "", version)?,
        ["apis", group, version] => resources(state, group, version)?,
        _ => return None,
    };
    let accept = accept_object(headers);
    Some(accept.map(|accept| respond::json(200, &document, accept.syntax)))
}

/// Paths that can be read beside those of the named groups. Source: upstream's `routes.Index`.
const PATHS: [&str; 6] = [
    "/api",
    "/api/v1",
    "/apis",
    "/openapi/v2",
    "/openapi/v3",
    "/version",
];
/// Those that are about the server as it is now.
const PROBES: [&str; 3] = ["/healthz", "/livez", "/readyz"];

fn paths(state: &State, is_past: bool) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = PATHS.map(str::to_owned).into();
    if !is_past {
        paths.extend(PROBES.map(str::to_owned));
    }
    for group in groups(state) {
        let versions = versions(state, &group);
        paths.extend(versions.iter().map(|one| format!("/apis/{group}/{one}")));
        paths.insert(format!("/apis/{group}"));
    }
    paths
}

/// Every group but the core one: built-in groups in their order, then custom ones.
pub(crate) fn groups(state: &State) -> Vec<String> {
    let mut groups: Vec<String> = builtin::groups().map(str::to_owned).collect();
    for kind in state.kinds.iter() {
        if !groups.iter().any(|group| **group == *kind.resource.group) {
            groups.push(kind.resource.group.to_string());
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Served versions of a group, preferred first.
pub(crate) fn versions(state: &State, group: &str) -> Vec<String> {
    let all = kinds(state, group).flat_map(|kind| kind.versions.iter());
    let served = all.filter(|version| version.served);
    // A set, since a kind may have thousands.
    let served: BTreeSet<&str> = served.map(|version| &*version.name).collect();
    let mut versions: Vec<String> = served.into_iter().map(str::to_owned).collect();
    versions.sort_by(|one, other| Preference::of(one).cmp(&Preference::of(other)));
    versions
}

pub(crate) fn kinds<'a>(state: &'a State, group: &'a str) -> impl Iterator<Item = &'a KindRef> {
    state
        .kinds
        .iter()
        .filter(move |kind| &*kind.resource.group == group)
}

fn group_of(state: &State, group: &str) -> Option<Value> {
    let one = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let versions: Vec<Value> = versions(state, group).iter().map(one).collect();
    let preferred = versions.first()?.clone();
    Some(json!({"name": group, "versions": versions, "preferredVersion": preferred}))
}

fn with_type(mut document: Value, kind: &str) -> Value {
    if let Some(members) = document.as_object_mut() {
        members.insert("kind".into(), kind.into());
        members.insert("apiVersion".into(), "v1".into());
    }
    document
}

fn resources(state: &State, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    for kind in kinds(state, group) {
        let Some(served) = kind.served(version) else {
            continue;
        };
        list.push(json!({
            "name": &*kind.resource.resource,
            "singularName": &*kind.singular,
            "namespaced": kind.is_namespaced(),
            "kind": &*kind.kind,
            "verbs": verbs(kind),
            "shortNames": names(&kind.short_names),
            "categories": names(&kind.categories),
        }));
        for subresource in &served.subresources {
            let spoken = kind.document_gvk(version, Some(*subresource));
            list.push(json!({
                "name": format!("{}/{}", kind.resource.resource, subresource.name()),
                "singularName": "",
                "namespaced": kind.is_namespaced(),
                "group": &*spoken.group,
                "version": &*spoken.version,
                "kind": &*spoken.kind,
                "verbs": subresource.verbs(),
            }));
        }
    }
    if list.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
        "resources": list}),
    )
}

fn aggregate(state: &State, headers: &HeaderMap, groups: &[String]) -> Response<ApiBody> {
    let items: Vec<Value> = groups
        .iter()
        .map(|group| {
            let versions: Vec<Value> = versions(state, group)
                .iter()
                .map(|version| {
                    json!({"version": version, "freshness": "Current",
                        "resources": aggregated_resources(state, group, version)})
                })
                .collect();
            json!({"metadata": {"name": group}, "versions": versions})
        })
        .collect();
    let document = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items});
    let text = document.to_string();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tag = format!("{:016X}", hasher.finish());
    tagged(headers, &tag, || {
        let mut response = respond::json_bytes(200, text.into(), Syntax::Json);
        let media = HeaderValue::from_static(AGGREGATED);
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        response
    })
}

fn aggregated_resources(state: &State, group: &str, version: &str) -> Vec<Value> {
    let one = |kind: &KindRef| {
        let served = kind.served(version)?;
        let subresources: Vec<Value> = served
            .subresources
            .iter()
            .map(|subresource| {
                json!({"subresource": subresource.name(),
                    "responseKind": respond::gvk(&kind.document_gvk(version, Some(*subresource))),
                    "verbs": subresource.verbs()})
            })
            .collect();
        Some(json!({
            "resource": &*kind.resource.resource,
            "responseKind": respond::gvk(&kind.document_gvk(version, None)),
            "scope": if kind.is_namespaced() { "Namespaced" } else { "Cluster" },
            "singularResource": &*kind.singular,
            "verbs": verbs(kind),
            "shortNames": names(&kind.short_names),
            "categories": names(&kind.categories),
            "subresources": subresources,
        }))
    };
    kinds(state, group).filter_map(one).collect()
}

fn names(names: &[std::sync::Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn verbs(kind: &Kind) -> Vec<&'static str> {
    if kind.strategy.review {
        vec!["create"]
    } else {
        let mut verbs = VERBS.to_vec();
        verbs.retain(|verb| *verb != "deletecollection" || kind.strategy.collection_deletes);
        verbs
    }
}
