//! `create`, `update`, `patch`.

use super::apply::apply;
use super::unknown_fields::Known;
use super::{pod, show_written};
use crate::admission::WriteRequest;
use crate::api::Api;
use crate::body::{self, ApiBody, BodyWarnings, PatchReading, Reading, Received};
use crate::offload::offload;
use crate::params::WriteOptions;
use crate::patches::PatchMedia;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use hindsight_core::command::{Create, Intent, Patch, PatchObject, Update};
use hindsight_core::kind::{GroupVersionKind, KindRef, Subresource};
use hindsight_core::object::ObjectKey;
use hindsight_core::{Command, Decision, Outcome, Rejection};
use http::Response;
use serde_json::{Map, Value};

pub(crate) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

pub(crate) async fn create(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    match request.subresource {
        Some(Subresource::Binding) => return pod::bind(api, request, body).await,
        Some(Subresource::Eviction) => return pod::evict(api, request, body).await,
        _ => {}
    }
    if request.route.name.is_some() {
        return Err(Failure::method_not_allowed());
    }
    let options = request.params.create_options()?;
    let mut body_warnings = BodyWarnings::new(options.validation());
    let bytes = body.decoded_bytes(request.media.syntax()?);
    let object = document(request, body, &mut body_warnings).await?;
    let key = match namespaced(request, &object) {
        Ok(key) => key,
        Err(failure) => {
            let known = Known::of(request);
            let unknown = offload(bytes, move || known.unknown(&object)).await?;
            return Err(failure.with_warnings(body_warnings.with_unknown(&unknown)));
        }
    };
    let intent = Intent::Create(Create {
        key,
        version: request.version_named(),
        object,
        validation: options.validation(),
    });
    carry_out_intent(api, request, intent, body_warnings, options).await
}

pub(crate) async fn update(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let options = request.params.update_options()?;
    let mut body_warnings = BodyWarnings::new(options.validation());
    let object = document(request, body, &mut body_warnings).await?;
    let intent = Intent::Update(Update {
        key: request.key(),
        version: request.version_named(),
        subresource: request.subresource,
        object,
        validation: options.validation(),
    });
    carry_out_intent(api, request, intent, body_warnings, options).await
}

pub(crate) async fn patch(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let media = media(request)?;
    let read = match media {
        PatchMedia::Json => Patch::Json,
        PatchMedia::Merge => Patch::Merge,
        PatchMedia::Strategic => Patch::Strategic,
        PatchMedia::Apply => return apply(api, request, body).await,
    };
    let options = request.params.patch_options()?;
    let mut body_warnings = BodyWarnings::new(options.validation());
    let known = Known::of(request);
    let reading = PatchReading {
        of_operations: media == PatchMedia::Json,
        patched_bytes: request.stored_bytes(),
    };
    let unknown = move |patch: &Value| known.unknown_after(&read(patch.clone()));
    let patch = body::decode_patch(body, reading, &mut body_warnings, unknown);
    let patch = read(
        patch
            .await
            .map_err(|unreadable| missing_or(request, unreadable))?,
    );
    let intent = Intent::Patch(PatchObject {
        key: request.key(),
        version: request.version_named(),
        subresource: request.subresource,
        patch,
        validation: options.validation(),
    });
    carry_out_intent(api, request, intent, body_warnings, options).await
}

/// The failure of an unreadable patch. If the object does not exist, that is the failure instead. Source:
/// upstream's `patchResource`.
fn missing_or(request: &ResourceRequest, unreadable: Failure) -> Failure {
    let key = request.key();
    if request.state.get(&key).is_some() {
        return unreadable;
    }
    Rejection::not_found(&key).into()
}

/// The media type of the patch, which is checked before the options.
fn media(request: &ResourceRequest) -> Result<PatchMedia, Failure> {
    let known = PatchMedia::of(&request.kind);
    let sent = request.media.name();
    let found = known.iter().find(|one| one.name() == sent);
    found
        .copied()
        .ok_or_else(|| Failure::unsupported(&PatchMedia::names(known)))
}

/// Carries out the intent of a request, and answers with the object.
pub(super) async fn carry_out_intent(
    api: &Api,
    request: &ResourceRequest,
    intent: Intent,
    body_warnings: BodyWarnings,
    options: WriteOptions,
) -> Result<Response<ApiBody>, Failure> {
    let command = request.command(api, intent);
    let command = Command {
        warnings: body_warnings.into_warnings(),
        ..command
    };
    let decision = api
        .submit(request, WriteRequest::new(command, options))
        .await?;
    answer(request, &decision)
}

fn answer(request: &ResourceRequest, decision: &Decision) -> Result<Response<ApiBody>, Failure> {
    let object = decision.outcome.object();
    let code = if matches!(decision.outcome, Outcome::Created(_)) {
        201
    } else {
        200
    };
    let mut response = show_written(request, code, object)?;
    respond::warn(&mut response, &decision.warnings);
    Ok(response)
}

/// Decodes the body as a document of the endpoint's kind. What was received is freed: it is not kept while the write
/// waits.
pub(crate) async fn document(
    request: &ResourceRequest,
    body: Received,
    body_warnings: &mut BodyWarnings,
) -> Result<Value, Failure> {
    let syntax = request.media.syntax()?;
    let known = Known::of(request);
    let unknown = move |document: &Value| known.unknown(document);
    let is_custom = request.kind.is_custom() && !request.is_scale();
    let spoken = request.spoken();
    let (version, kind) = (spoken.api_version(), &*spoken.kind);
    let reading = Reading::new(syntax, &version, kind);
    let mut document = body::decode_object(&body, reading, body_warnings, unknown).await?;
    if document.is_null() && !is_custom {
        document = Value::Object(Map::new());
    }
    let root = document
        .as_object_mut()
        .ok_or_else(|| Failure::bad_request("the body is not an object"))?;
    let sent_version = stated_type(root, "apiVersion")?.unwrap_or_else(|| version.clone());
    let sent_kind = stated_type(root, "kind")?.unwrap_or_else(|| kind.to_owned());
    if is_custom && sent_version != version {
        return Err(other_version(&sent_version, &version));
    }
    if is_custom && sent_kind != kind {
        return Err(Rejection::other_kind(root, &spoken, true).into());
    }
    if (&*sent_version, &*sent_kind) != (&*version, kind) {
        return Err(other_type(request, &spoken, &sent_version, &sent_kind));
    }
    root.insert("apiVersion".into(), version.into());
    root.insert("kind".into(), Value::from(kind));
    Ok(document)
}

/// The version or the kind that a body states; `None` if it states none.
fn stated_type(object: &Map<String, Value>, member: &str) -> Result<Option<String>, Failure> {
    match object.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => {
            let message =
                format!("couldn't get version/kind; json parse error: {member} is not a string");
            Err(Failure::bad_request(message))
        }
    }
}

fn other_version(sent: &str, expected: &str) -> Failure {
    Failure::bad_request(format!(
        "the API version in the data ({sent}) does not match the expected API version ({expected})"
    ))
}

/// The failure for a body that states another type than the built-in one of the endpoint. Source: upstream's
/// `transformDecodeError`: another version of the same kind can be read, but is not expected.
fn other_type(
    request: &ResourceRequest,
    spoken: &GroupVersionKind,
    version: &str,
    kind: &str,
) -> Failure {
    let sent = GroupVersionKind::parse(version, kind);
    let found = sent.and_then(|sent| request.state.kinds.by_gvk(&sent));
    let found = found.filter(|found| !found.is_custom());
    let is_same = |found: &KindRef| {
        *found.kind == *spoken.kind && found.stored_under() == request.kind.stored_under()
    };
    if found.is_some_and(is_same) {
        return other_version(version, &spoken.api_version());
    }
    let why = match found {
        Some(_) => format!(
            "{version} {kind} cannot be converted to {} {}",
            spoken.api_version(),
            spoken.kind
        ),
        None => format!("no kind {kind:?} is registered for version {version:?}"),
    };
    let (_, short) = version.rsplit_once('/').unwrap_or(("", version));
    Failure::bad_request(format!(
        "{kind} in version {short:?} cannot be handled as a {}: {why}",
        spoken.kind
    ))
}

/// The key of a create, whose namespace the body may not contradict.
fn namespaced(request: &ResourceRequest, object: &Value) -> Result<ObjectKey, Failure> {
    let key = request.key();
    let sent = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if request.kind.is_namespaced() && key.namespace.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    if request.kind.is_namespaced() && !sent.is_empty() && sent != &*key.namespace {
        return Err(Failure::bad_request(OTHER_NAMESPACE));
    }
    Ok(key)
}
