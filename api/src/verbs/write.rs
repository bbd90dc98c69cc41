//! `create`, `update`, `patch`.

use super::apply::apply;
use super::{pod, show, unknown};
use crate::admission::Wish;
use crate::body::{self, ApiBody, Noted};
use crate::handler::{Api, Routed};
use crate::params::WriteOptions;
use crate::patches::PatchMedia;
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use hindsight_core::command::{Create, Intent, Patch, PatchObject, Update};
use hindsight_core::kind::{GroupVersionKind, KindRef, Subresource};
use hindsight_core::object::ObjectKey;
use hindsight_core::{Command, Decision, Object, Outcome, Rejection};
use http::Response;
use serde_json::{Map, Value};

pub(crate) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

pub(crate) async fn create(
    api: &Api,
    asked: &Routed,
    body: Bytes,
) -> Result<Response<ApiBody>, Failure> {
    match asked.subresource {
        Some(Subresource::Binding) => return pod::bind(api, asked, body).await,
        Some(Subresource::Eviction) => return pod::evict(api, asked, body).await,
        _ => {}
    }
    if asked.route.name.is_some() {
        return Err(Failure::method_not_allowed());
    }
    let options = asked.params.write_options("CreateOptions")?;
    let mut noted = Noted::new(options.validation());
    let object = document(asked, &body, &mut noted)?;
    // Not kept while the write waits.
    drop(body);
    let key = match namespaced(asked, &object) {
        Ok(key) => key,
        Err(failure) => return Err(failure.after(noted.with_unknown(&unknown::of(asked, &object)))),
    };
    let intent = Intent::Create(Create {
        key,
        version: asked.version_named(),
        object,
        validation: options.validation(),
    });
    write(api, asked, ("create", intent), (noted, options)).await
}

pub(crate) async fn update(
    api: &Api,
    asked: &Routed,
    body: Bytes,
) -> Result<Response<ApiBody>, Failure> {
    let options = asked.params.write_options("UpdateOptions")?;
    let mut noted = Noted::new(options.validation());
    let object = document(asked, &body, &mut noted)?;
    // Not kept while the write waits.
    drop(body);
    let intent = Intent::Update(Update {
        key: asked.key(),
        version: asked.version_named(),
        subresource: asked.subresource,
        object,
        validation: options.validation(),
    });
    write(api, asked, ("update", intent), (noted, options)).await
}

pub(crate) async fn patch(
    api: &Api,
    asked: &Routed,
    body: Bytes,
) -> Result<Response<ApiBody>, Failure> {
    let media = media(asked)?;
    let read = match media {
        PatchMedia::Json => Patch::Json,
        PatchMedia::Merge => Patch::Merge,
        PatchMedia::Strategic => Patch::Strategic,
        PatchMedia::Apply => return apply(api, asked, body).await,
    };
    let options = asked.params.write_options("PatchOptions")?;
    let mut noted = Noted::new(options.validation());
    let unknown = |patch: &Value| unknown::after(asked, &read(patch.clone()));
    let patch = body::decode_patch(&body, media == PatchMedia::Json, &mut noted, unknown);
    let patch = read(patch.map_err(|unreadable| missing_or(asked, unreadable))?);
    // Not kept while the write waits.
    drop(body);
    let intent = Intent::Patch(PatchObject {
        key: asked.key(),
        version: asked.version_named(),
        subresource: asked.subresource,
        patch,
        validation: options.validation(),
    });
    write(api, asked, ("patch", intent), (noted, options)).await
}

/// The failure of an unreadable patch. If the object does not exist, that is the failure instead. Source:
/// upstream's `patchResource`.
fn missing_or(asked: &Routed, unreadable: Failure) -> Failure {
    let key = asked.key();
    if asked.state.get(&key).is_some() {
        return unreadable;
    }
    let missing = Rejection::NotFound {
        resource: key.resource,
        name: key.name,
    };
    missing.into()
}

/// The media type of the patch, which is checked before the options.
fn media(asked: &Routed) -> Result<PatchMedia, Failure> {
    let sent = respond::media_type(&asked.parts.headers);
    let known = PatchMedia::of(&asked.kind);
    let found = known.iter().find(|one| one.name() == sent);
    found
        .copied()
        .ok_or_else(|| Failure::unsupported(&PatchMedia::names(known)))
}

/// Carries out the intent of this verb, and answers with the object.
pub(super) async fn write(
    api: &Api,
    asked: &Routed,
    (verb, intent): (&str, Intent),
    (noted, options): (Noted, WriteOptions),
) -> Result<Response<ApiBody>, Failure> {
    let dry_run = options.dry_run;
    let command = api.command(asked, verb, intent);
    let command = Command {
        noted: noted.into_warnings(),
        ..command
    };
    let decision = api.decide(asked, Wish::new(command, options)).await?;
    answer(asked, &decision, dry_run)
}

fn answer(
    asked: &Routed,
    decision: &Decision,
    dry_run: bool,
) -> Result<Response<ApiBody>, Failure> {
    let object = decision.outcome.object();
    let code = if matches!(decision.outcome, Outcome::Created(_)) {
        201
    } else {
        200
    };
    let mut response = if dry_run && !decision.commits.is_empty() {
        show(asked, code, &as_stored(asked, object))?
    } else {
        show(asked, code, object)?
    };
    respond::warn(&mut response, &decision.warnings);
    Ok(response)
}

/// A dry run moves no revision: the answer keeps the stored one, and a new object has none.
pub(super) fn as_stored(asked: &Routed, object: &Object) -> Object {
    let stored = asked.state.get(&object.key);
    object.shown_at(stored.map(|stored| stored.revision))
}

/// Decodes the body as a document of the endpoint's kind.
pub(crate) fn document(asked: &Routed, body: &[u8], noted: &mut Noted) -> Result<Value, Failure> {
    let syntax = respond::syntax(&asked.parts.headers)?;
    let unknown = |document: &Value| unknown::of(asked, document);
    let is_custom = asked.kind.is_custom() && !asked.is_scale();
    let spoken = asked.spoken();
    let (version, kind) = (spoken.api_version(), &*spoken.kind);
    let mut document = body::decode_object(body, syntax.of(&version, kind), noted, unknown)?;
    if document.is_null() && !is_custom {
        document = Value::Object(Map::new());
    }
    let root = document
        .as_object_mut()
        .ok_or_else(|| Failure::bad_request("the body is not an object"))?;
    let sent_version = said(root, "apiVersion")?.unwrap_or_else(|| version.clone());
    let sent_kind = said(root, "kind")?.unwrap_or_else(|| kind.to_owned());
    if is_custom && sent_version != version {
        return Err(other_version(&sent_version, &version));
    }
    if is_custom && sent_kind != kind {
        return Err(Rejection::other_kind(root, &spoken, true).into());
    }
    if (&*sent_version, &*sent_kind) != (&*version, kind) {
        return Err(other_type(asked, &spoken, &sent_version, &sent_kind));
    }
    root.insert("apiVersion".into(), version.into());
    root.insert("kind".into(), Value::from(kind));
    Ok(document)
}

/// The version or the kind that a body states; `None` if it states none.
fn said(object: &Map<String, Value>, member: &str) -> Result<Option<String>, Failure> {
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
fn other_type(asked: &Routed, spoken: &GroupVersionKind, version: &str, kind: &str) -> Failure {
    let sent = GroupVersionKind::parse(version, kind);
    let found = sent.and_then(|sent| asked.state.kinds.by_gvk(&sent));
    let found = found.filter(|found| !found.is_custom());
    let is_same = |found: &KindRef| {
        *found.kind == *spoken.kind && found.stored_under() == asked.kind.stored_under()
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
fn namespaced(asked: &Routed, object: &Value) -> Result<ObjectKey, Failure> {
    let key = asked.key();
    let sent = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if asked.kind.is_namespaced() && key.namespace.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    if asked.kind.is_namespaced() && !sent.is_empty() && sent != &*key.namespace {
        return Err(Failure::bad_request(OTHER_NAMESPACE));
    }
    Ok(key)
}
