//! What is posted to a pod: its eviction, and its binding to a node.

use super::delete::Options;
use super::write::OTHER_NAMESPACE;
use crate::admission::{Addressed, WriteRequest};
use crate::api::Api;
use crate::body::{self, ApiBody, BodyWarnings, Reading, Received};
use crate::fragments;
use crate::params::WriteOptions;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use hindsight_core::command::{Intent, Update};
use hindsight_core::document::text_at;
use hindsight_core::kind::Subresource;
use hindsight_core::{Command, Decision, GroupResource, ObjectKey, Rule, prune_posted};
use http::Response;
use serde_json::Value;
use std::sync::Arc;

/// `pods/eviction`: a deletion that a disruption budget may refuse.
pub(super) async fn evict(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let asks = request.params.create_options()?;
    let mut body_warnings = BodyWarnings::new(asks.validation());
    let eviction = document(request, body, &mut body_warnings, Subresource::Eviction);
    let mut eviction = eviction.await?;
    let kinds = &request.state.kinds;
    let unknown = prune_posted(
        kinds,
        Subresource::Eviction,
        asks.validation(),
        &mut eviction,
    )?;
    let mut warnings = body_warnings.into_warnings();
    warnings.extend(unknown);
    match evict_as(api, request, eviction, asks).await {
        Ok(decision) => {
            warnings.extend(decision.warnings);
            Ok(done(request, &warnings))
        }
        Err(failure) => Err(failure.with_warnings(warnings)),
    }
}

async fn evict_as(
    api: &Api,
    request: &ResourceRequest,
    eviction: Value,
    asks: WriteOptions,
) -> Result<Decision, Failure> {
    let key = request.key();
    let namespace = text_at(&eviction, "/metadata/namespace");
    if !namespace.is_empty() && namespace != &*key.namespace {
        return Err(Failure::bad_request(OTHER_NAMESPACE));
    }
    let options = options_of(&eviction, &key.name)?;
    let asks = WriteOptions {
        dry_run: asks.dry_run || options.dry_run,
        ..asks
    };
    let delete = options.deletion(request, key, None, Rule::Requested);
    let command = request.command(api, Intent::Evict(delete));
    let write_request = WriteRequest {
        addressed: Addressed::Eviction(eviction),
        ..WriteRequest::new(command, asks)
    };
    api.submit(request, write_request).await
}

/// The options of the deletion in an `Eviction` of the pod with this name.
pub(crate) fn options_of(eviction: &Value, pod: &str) -> Result<Options, Failure> {
    if text_at(eviction, "/metadata/name") != pod {
        return Err(Failure::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    Options::from_member(eviction.get("deleteOptions").unwrap_or(&Value::Null))
}

/// `pods/binding`, and `bindings`, whose bodies name the pod.
pub(crate) async fn bind(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let asks = request.params.create_options()?;
    let mut body_warnings = BodyWarnings::new(asks.validation());
    let binding = document(request, body, &mut body_warnings, Subresource::Binding).await?;
    let namespace = request.route.namespace.as_deref().unwrap_or_default();
    let pod = request
        .route
        .name
        .as_deref()
        .unwrap_or_else(|| text_at(&binding, "/metadata/name"));
    let intent = Intent::Update(Update {
        key: ObjectKey::new(GroupResource::new("", "pods"), namespace, pod),
        version: "v1".into(),
        subresource: Some(Subresource::Binding),
        object: binding,
        validation: asks.validation(),
    });
    let command = Command {
        warnings: body_warnings.into_warnings(),
        ..request.command(api, intent)
    };
    let addressed = match request.subresource {
        Some(_) => Addressed::Object,
        None => Addressed::Collection(Arc::clone(&request.kind)),
    };
    let write_request = WriteRequest {
        addressed,
        ..WriteRequest::new(command, asks)
    };
    let decision = api.submit(request, write_request).await?;
    Ok(done(request, &decision.warnings))
}

/// A body of the kind that is posted to the subresource; that kind is assumed if the body states none. The
/// older version of evictions is the same.
async fn document(
    request: &ResourceRequest,
    body: Received,
    body_warnings: &mut BodyWarnings,
    to: Subresource,
) -> Result<Value, Failure> {
    let (versions, kind): (&[&str], _) = match to {
        Subresource::Eviction => (&["policy/v1", "policy/v1beta1"], "Eviction"),
        _ => (&["v1"], "Binding"),
    };
    let syntax = request.media.syntax()?;
    let reading = Reading::new(syntax, versions.first().copied().unwrap_or_default(), kind);
    let schema = request.state.kinds.posted_schema(to).cloned();
    let unknown = move |document: &Value| {
        schema.map_or_else(Vec::new, |schema| schema.prune(&mut document.clone()))
    };
    let document = body::decode_object(&body, reading, body_warnings, unknown).await?;
    let text = |member: &str| document.get(member).map(Value::as_str);
    let fits = |member: &str, known: &[&str]| {
        text(member).is_none_or(|text| text.is_some_and(|text| known.contains(&text)))
    };
    if document.is_object() && fits("kind", &[kind]) && fits("apiVersion", versions) {
        return Ok(document);
    }
    Err(Failure::bad_request(format!(
        "the body is not a {kind} of {}",
        versions.join(" or ")
    )))
}

fn done(request: &ResourceRequest, warnings: &[String]) -> Response<ApiBody> {
    let status = fragments::success("code", 201.into());
    let mut response = respond::json(201, &status, request.accept.syntax);
    respond::warn(&mut response, warnings);
    response
}
