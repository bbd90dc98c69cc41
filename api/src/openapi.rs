//! OpenAPI documents, from which clients learn operations and schemas. Version 3 has one document for each
//! group and version, version 2 one for everything.

mod definitions;
mod operations;
mod protobuf;
mod v2;
mod v3;

use crate::body::{ApiBody, Syntax};
use crate::discovery::{groups, kinds, versions};
use crate::respond;
use crate::tag::tagged;
use hindsight_core::State;
use hindsight_core::kind::Origin;
use http::{HeaderMap, HeaderValue, Response, header};
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// An OpenAPI document, if the path names one.
pub(crate) fn respond(path: &str, headers: &HeaderMap, state: &State) -> Option<Response<ApiBody>> {
    let rest = path.strip_prefix("/openapi/")?;
    let segments: Vec<&str> = rest.split('/').filter(|one| !one.is_empty()).collect();
    match segments.as_slice() {
        ["v2"] => Some(tagged(headers, &tag_of_all(state), || {
            whole(headers, state)
        })),
        ["v3"] => Some(respond::json(200, &index(state), Syntax::Json)),
        ["v3", "api", "v1"] => of_group_version(headers, state, "", "v1"),
        ["v3", "apis", group, version] => of_group_version(headers, state, group, version),
        _ => None,
    }
}

fn whole(headers: &HeaderMap, state: &State) -> Response<ApiBody> {
    let document = v2::document(state);
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|one| one.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("proto-openapi")) {
        let body = ApiBody::full(protobuf::encode(&document));
        let mut response = Response::new(body);
        let media = HeaderValue::from_static(PROTOBUF);
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        return response;
    }
    respond::json(200, &document, Syntax::Json)
}

fn of_group_version(
    headers: &HeaderMap,
    state: &State,
    group: &str,
    version: &str,
) -> Option<Response<ApiBody>> {
    if !versions(state, group).iter().any(|one| one == version) {
        return None;
    }
    let make = || respond::json(200, &v3::document(state, group, version), Syntax::Json);
    Some(tagged(headers, &tag(state, group, version), make))
}

fn index(state: &State) -> Value {
    let mut paths = Map::new();
    let mut add = |path: String, group: &str, version: &str| {
        let hash = tag(state, group, version);
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    add("api/v1".into(), "", "v1");
    for group in groups(state) {
        for version in versions(state, &group) {
            add(format!("apis/{group}/{version}"), &group, &version);
        }
    }
    json!({"paths": paths})
}

/// A tag that changes when the document does: with the program, and with the definitions of custom kinds.
fn tag(state: &State, group: &str, version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), group, version).hash(&mut hasher);
    for kind in kinds(state, group) {
        if let Origin::Custom { definition, .. } = &kind.origin {
            let key = definitions::key_of(kind);
            let revision = state.get(&key).map(|object| object.revision);
            (definition.as_str(), revision.map(|one| one.0)).hash(&mut hasher);
        }
    }
    format!("{:016X}", hasher.finish())
}

fn tag_of_all(state: &State) -> String {
    let mut hasher = DefaultHasher::new();
    for group in std::iter::once(String::new()).chain(groups(state)) {
        for version in versions(state, &group) {
            tag(state, &group, &version).hash(&mut hasher);
        }
    }
    format!("{:016X}", hasher.finish())
}

#[cfg(test)]
mod tests;
