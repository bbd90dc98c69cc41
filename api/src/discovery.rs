//! Discovery: which groups, versions and resources there are, in the older form and in the aggregated one.

#[cfg(test)]
mod tests;

use crate::accept::{accept_object, wants_aggregate};
use crate::body::{ApiBody, Syntax};
use crate::documents::{self, Documents};
use crate::etag::{is_known, tagged};
use crate::status::Failure;
use crate::subresources::{self, Told};
use crate::{fragments, health, openapi, respond};
use bytes::Bytes;
use hindsight_core::State;
use hindsight_core::builtin;
use hindsight_core::kind::{Kind, KindRef, Preference};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, header};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

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

/// One of the documents of discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Document {
    /// All paths; those about the server itself only of the present.
    Paths { is_past: bool },
    /// The versions of the core group.
    Core,
    /// All other groups, each with its versions.
    Groups,
    /// One of them.
    Group(String),
    /// The resources of a version.
    Resources { group: String, version: String },
    /// The aggregated form of the core group.
    AggregatedCore,
    /// The same of all others.
    AggregatedGroups,
}

/// A discovery document, if the path names one.
pub(crate) async fn respond(
    documents: &Documents,
    path: &str,
    is_past: bool,
    Parts {
        method, headers, ..
    }: &Parts,
    state: &Arc<State>,
) -> Result<Option<Response<ApiBody>>, Failure> {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    if segments == ["version"] {
        // Of the present it is answered before anybody logs in.
        return health::version(method).map(Some);
    }
    let Some(document) = Document::at(&segments, is_past, headers, state) else {
        return Ok(None);
    };
    if method != Method::GET && document.is_routed(state) {
        return Err(Failure::method_not_allowed());
    }
    let is_aggregated = document.is_aggregated();
    let syntax = match document {
        // Upstream's list of paths knows no other form either.
        Document::Paths { .. } => Syntax::Json,
        _ if is_aggregated => Syntax::Json,
        _ => accept_object(headers)?.syntax,
    };
    let tag = openapi::tag_of_all(documents.restored(), state);
    let bytes = if is_aggregated && is_known(headers, &tag) {
        Bytes::new()
    } else {
        let (asked, state) = (document.clone(), Arc::clone(state));
        let build = move || respond::bytes(&asked.build(&state), syntax);
        let document = documents::Document::Discovery(document, syntax);
        documents.get(document, &tag, build).await?
    };
    let answer = || respond::written(ApiBody::full(bytes), syntax);
    Ok(Some(if is_aggregated {
        tagged(headers, &tag, || {
            let mut response = answer();
            let media = HeaderValue::from_static(AGGREGATED);
            response.headers_mut().insert(header::CONTENT_TYPE, media);
            response
        })
    } else {
        answer()
    }))
}

impl Document {
    fn at(segments: &[&str], is_past: bool, headers: &HeaderMap, state: &State) -> Option<Self> {
        let is_served = |group: &str, version: &str| {
            kinds(state, group).any(|kind| kind.served(version).is_some())
        };
        let resources = |group: &str, version: &str| {
            is_served(group, version).then(|| Self::Resources {
                group: group.to_owned(),
                version: version.to_owned(),
            })
        };
        match segments {
            [] => Some(Self::Paths { is_past }),
            ["api"] if wants_aggregate(headers) => Some(Self::AggregatedCore),
            ["apis"] if wants_aggregate(headers) => Some(Self::AggregatedGroups),
            ["api"] => Some(Self::Core),
            ["apis"] => Some(Self::Groups),
            ["apis", group] if versions(state, group).is_empty() => None,
            ["apis", group] => Some(Self::Group((*group).to_owned())),
            ["api", version] => resources("", version),
            ["apis", group, version] => resources(group, version),
            _ => None,
        }
    }

    /// Whether upstream has a route for it, which is for `GET` alone, not even for `HEAD`: go-restful compares the
    /// methods. The others come from plain handlers, which answer every method: those of the aggregator, of the
    /// custom kinds and of the paths.
    fn is_routed(&self, state: &State) -> bool {
        match self {
            Self::Core | Self::AggregatedCore => true,
            Self::Resources { group, version } => {
                kinds(state, group).any(|kind| !kind.is_custom() && kind.served(version).is_some())
            }
            Self::Paths { .. } | Self::Groups | Self::AggregatedGroups | Self::Group(_) => false,
        }
    }

    fn is_aggregated(&self) -> bool {
        matches!(self, Self::AggregatedCore | Self::AggregatedGroups)
    }

    fn build(&self, state: &State) -> Value {
        match self {
            Self::Paths { is_past } => json!({"paths": paths(state, *is_past)}),
            Self::Core => json!({"kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": []}),
            Self::Groups => {
                let groups = groups(state);
                let groups = groups.iter().filter_map(|group| group_of(state, group));
                let groups: Vec<Value> = groups.collect();
                json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
            }
            Self::Group(group) => with_type(group_of(state, group).unwrap_or_default(), "APIGroup"),
            Self::Resources { group, version } => resources(state, group, version),
            Self::AggregatedCore => aggregate(state, &[String::new()]),
            Self::AggregatedGroups => aggregate(state, &groups(state)),
        }
    }
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

/// A group, if any of its versions is served.
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

fn resources(state: &State, group: &str, version: &str) -> Value {
    let mut list = Vec::new();
    for kind in kinds(state, group) {
        let Some(served) = kind.served(version) else {
            continue;
        };
        list.push(without_empty_lists(json!({
            "name": &*kind.resource.resource,
            "singularName": &*kind.singular,
            "namespaced": kind.is_namespaced(),
            "kind": &*kind.kind,
            "verbs": verbs(kind),
            "shortNames": names(&kind.short_names),
            "categories": names(&kind.categories),
        })));
        for Told {
            name,
            gvk: spoken,
            verbs,
        } in subresources::of(kind, served)
        {
            list.push(json!({
                "name": format!("{}/{name}", kind.resource.resource),
                "singularName": "",
                "namespaced": kind.is_namespaced(),
                "group": &*spoken.group,
                "version": &*spoken.version,
                "kind": &*spoken.kind,
                "verbs": verbs,
            }));
        }
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
        "resources": list})
}

fn aggregate(state: &State, groups: &[String]) -> Value {
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
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items})
}

fn aggregated_resources(state: &State, group: &str, version: &str) -> Vec<Value> {
    let one = |kind: &KindRef| {
        let served = kind.served(version)?;
        let subresources = subresources::of(kind, served).map(|told| {
            json!({"subresource": told.name, "responseKind": fragments::gvk(&told.gvk),
                "verbs": told.verbs})
        });
        let subresources: Vec<Value> = subresources.collect();
        Some(without_empty_lists(json!({
            "resource": &*kind.resource.resource,
            "responseKind": fragments::gvk(&kind.document_gvk(version, None)),
            "scope": if kind.is_namespaced() { "Namespaced" } else { "Cluster" },
            "singularResource": &*kind.singular,
            "verbs": verbs(kind),
            "shortNames": names(&kind.short_names),
            "categories": names(&kind.categories),
            "subresources": subresources,
        })))
    };
    kinds(state, group).filter_map(one).collect()
}

/// A resource without the lists that it has nothing for.
///
/// Source: the types of both documents upstream.
fn without_empty_lists(mut resource: Value) -> Value {
    if let Some(members) = resource.as_object_mut() {
        members.retain(|_, value| *value != json!([]));
    }
    resource
}

fn names(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

/// Source: for a kind that is going away, upstream's controller of the discovery of custom resources.
fn verbs(kind: &Kind) -> Vec<&'static str> {
    if kind.strategy.review {
        return vec!["create"];
    }
    let is_allowed = |verb: &&str| match *verb {
        "create" | "patch" | "update" => !kind.is_terminating(),
        "deletecollection" => kind.strategy.collection_deletes,
        _ => true,
    };
    VERBS.into_iter().filter(is_allowed).collect()
}
