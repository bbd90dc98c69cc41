//! OpenAPI documents, from which clients learn operations and schemas. Version 3 has one document for each
//! group and version, version 2 one for everything.

mod definitions;
mod operations;
mod parts;
mod protobuf;
mod v2;
mod v3;

use crate::accept::{OpenApi, accept_openapi};
use crate::body::{ApiBody, Syntax};
use crate::discovery::{groups, kinds, versions};
use crate::documents::{self, Documents};
use crate::etag::{is_known, tagged};
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use hindsight_core::kind::KindRef;
use hindsight_core::{ObjectKey, Revision, State};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The subtypes by which it is asked for; the first is that of older clients.
const PROTOBUF_SUBTYPES: &[&str] = &[
    "com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// One of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Document {
    /// Version 2.
    Whole,
    /// The same in its binary form.
    WholeInProtobuf,
    /// Which documents of version 3 there are.
    Index,
    /// Version 3 of a group and version.
    Of { group: String, version: String },
}

/// An OpenAPI document, if the path names one.
pub(crate) async fn respond(
    documents: &Documents,
    path: &str,
    headers: &HeaderMap,
    state: &Arc<State>,
) -> Result<Option<Response<ApiBody>>, Failure> {
    let Some(document) = Document::at(path, state) else {
        return Ok(None);
    };
    let Some(document) = document.wanted(headers) else {
        return Ok(Some(not_acceptable()));
    };
    let life = documents.restored();
    let tag = document.tag(life, state);
    let bytes = if is_known(headers, &tag) {
        Bytes::new()
    } else {
        let (asked, state) = (document.clone(), Arc::clone(state));
        let build = move || Ok(asked.build(life, &state));
        let document = documents::Document::OpenApi(document.clone());
        documents.get(document, &tag, build).await?
    };
    Ok(Some(tagged(headers, &tag, || {
        let mut response = respond::json_bytes(200, bytes, Syntax::Json);
        if document == Document::WholeInProtobuf {
            let media = HeaderValue::from_static(PROTOBUF);
            response.headers_mut().insert(header::CONTENT_TYPE, media);
        }
        response
    })))
}

/// 406 as upstream gives it here: without a body.
fn not_acceptable() -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_ACCEPTABLE;
    let vary = HeaderValue::from_static("Accept");
    response.headers_mut().insert(header::VARY, vary);
    response
}

impl Document {
    /// The document at a path, as JSON.
    fn at(path: &str, state: &State) -> Option<Self> {
        let rest = path.strip_prefix("/openapi/")?;
        let segments: Vec<&str> = rest.split('/').filter(|one| !one.is_empty()).collect();
        let (group, version) = match segments.as_slice() {
            ["v2"] => return Some(Self::Whole),
            ["v3"] => return Some(Self::Index),
            ["v3", "api", "v1"] => ("", "v1"),
            ["v3", "apis", group, version] => (*group, *version),
            _ => return None,
        };
        let is_served = kinds(state, group).any(|kind| kind.served(version).is_some());
        is_served.then(|| Self::Of {
            group: group.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The document in the form that is wanted most, if it has one that is acceptable. About the index nobody is
    /// asked.
    fn wanted(self, headers: &HeaderMap) -> Option<Self> {
        match self {
            Self::Index => Some(self),
            Self::Of { .. } => accept_openapi(headers, &[]).map(|_| self),
            Self::Whole | Self::WholeInProtobuf => {
                Some(match accept_openapi(headers, PROTOBUF_SUBTYPES)? {
                    OpenApi::Json => Self::Whole,
                    OpenApi::Binary => Self::WholeInProtobuf,
                })
            }
        }
    }

    /// A tag that changes when the document does.
    fn tag(&self, life: Revision, state: &State) -> String {
        match self {
            Self::Of { group, version } => tag(custom_in(life, state, group), group, version),
            Self::Whole | Self::WholeInProtobuf | Self::Index => tag_of_all(life, state),
        }
    }

    fn build(&self, life: Revision, state: &State) -> Vec<u8> {
        match self {
            Self::Whole => v2::document(state),
            Self::WholeInProtobuf => v2::in_protobuf(state),
            Self::Index => parts::json(&index(life, state)),
            Self::Of { group, version } => v3::document(state, group, version),
        }
    }
}

fn index(life: Revision, state: &State) -> Value {
    let mut paths = Map::new();
    let mut add = |path: String, custom: u64, group: &str, version: &str| {
        let hash = tag(custom, group, version);
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    add("api/v1".into(), custom_in(life, state, ""), "", "v1");
    for group in groups(state) {
        let custom = custom_in(life, state, &group);
        for version in versions(state, &group) {
            add(format!("apis/{group}/{version}"), custom, &group, &version);
        }
    }
    json!({"paths": paths})
}

/// A tag that changes with the program, with the life of the log, and with the definition of any kind.
pub(crate) fn tag_of_all(life: Revision, state: &State) -> String {
    tag(hash_of(life, state, state.kinds.iter()), "", "")
}

/// A tag that changes with the program, and with the definitions of custom kinds, of which this is the hash.
fn tag(custom: u64, group: &str, version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), custom, group, version).hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}

fn custom_in(life: Revision, state: &State, group: &str) -> u64 {
    hash_of(life, state, kinds(state, group))
}

/// A hash of those of the kinds that are custom: of what is defined, and of the names that were accepted. What else is
/// written to a definition, such as an annotation, changes no document. The life of the log is part of it, since after
/// a restore a definition may have had the same generation before, with another schema.
fn hash_of<'a>(life: Revision, state: &State, kinds: impl Iterator<Item = &'a KindRef>) -> u64 {
    let mut hasher = DefaultHasher::new();
    life.hash(&mut hasher);
    for kind in kinds {
        if let Some(definition) = kind.definition() {
            let stored = state.get(&ObjectKey::defining(&kind.resource));
            let spec = stored.map(|stored| (stored.meta.generation, stored.is_deleting()));
            (definition.as_str(), spec).hash(&mut hasher);
            let names = [&kind.kind, &kind.list_kind, &kind.singular];
            (names, &kind.short_names, &kind.categories).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
