//! `AdmissionReview`: the question as JSON, and what is read from the answer. Source: `admission.k8s.io/v1` and
//! upstream's `VerifyAdmissionResponse`.

use super::hooks::Stage;
use super::subject::Subject;
use crate::fragments;
use crate::status::Failure;
use base64::prelude::{BASE64_STANDARD, Engine};
use hindsight_core::Kind;
use hindsight_core::webhook::Webhook;
use serde_json::{Map, Value, json};

const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const KIND: &str = "AdmissionReview";

/// A question about an object, in the kind and version that the webhook wants to see.
pub(super) struct AdmissionRequest<'a> {
    pub(super) subject: &'a Subject,
    pub(super) kind: &'a Kind,
    pub(super) version: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
}

/// A readable answer of a webhook, which allows or refuses the write.
#[derive(Debug, Default)]
pub(super) struct AdmissionResponse {
    pub(super) allowed: bool,
    /// A JSON patch, as [`operations`] reads it.
    pub(super) patch: Option<Vec<u8>>,
    pub(super) warnings: Vec<String>,
    /// The status that comes with a refusal.
    pub(super) status: Value,
}

/// The first version of `AdmissionReview` that the webhook lists and this server knows.
pub(super) fn version(webhook: &Webhook) -> Result<&'static str, String> {
    let mut spoken = webhook.review_versions.iter();
    let known = spoken.find_map(|one| VERSIONS.into_iter().find(|known| *known == &**one));
    known.ok_or_else(|| {
        "webhook does not accept known AdmissionReview versions (v1, v1beta1)".into()
    })
}

impl AdmissionRequest<'_> {
    /// The document that is sent.
    pub(super) fn document(&self, version: &str) -> Value {
        let subject = self.subject;
        let mut request = json!({
            "uid": self.uid,
            "kind": self.kind(self.kind, self.version),
            "resource": resource(self.kind, self.version),
            "requestKind": self.kind(&subject.kind, &subject.version),
            "requestResource": resource(&subject.kind, &subject.version),
            "operation": subject.operation.name(),
            "object": self.object,
            "oldObject": self.old,
            "dryRun": subject.dry_run,
            "options": subject.options,
            "userInfo": fragments::user_info(&subject.actor),
        });
        let namespace = match subject.namespace() {
            "" if subject.is_namespace() => self.name,
            namespace => namespace,
        };
        put(&mut request, "name", self.name);
        put(&mut request, "namespace", namespace);
        put(&mut request, "subResource", subject.subresource_name());
        put(
            &mut request,
            "requestSubResource",
            subject.subresource_name(),
        );
        json!({"apiVersion": format!("admission.k8s.io/{version}"), "kind": "AdmissionReview",
            "request": request})
    }

    fn kind(&self, kind: &Kind, version: &str) -> Value {
        fragments::gvk(&kind.document_gvk(version, self.subject.subresource))
    }
}

fn resource(kind: &Kind, version: &str) -> Value {
    let resource = &kind.resource;
    json!({"group": &*resource.group, "version": version, "resource": &*resource.resource})
}

fn put(document: &mut Value, member: &str, text: &str) {
    if let Some(members) = document.as_object_mut().filter(|_| !text.is_empty()) {
        members.insert(member.into(), text.into());
    }
}

/// Reads the answer to the question with this UID, asked in this version. The error says why it is not a valid
/// answer.
pub(super) fn read(
    body: &[u8],
    version: &str,
    uid: &str,
    stage: Stage,
) -> Result<AdmissionResponse, String> {
    let not_called = |why: String| format!("failed to call webhook: {why}");
    let invalid = |why: String| format!("received invalid webhook response: {why}");
    let review: Value = serde_json::from_slice(body).map_err(|error| {
        not_called(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    is_review(&review, version).map_err(not_called)?;
    are_typed(&review).map_err(not_called)?;
    let response = verified(&review, version, uid).map_err(invalid)?;
    let patch = if version == "v1" {
        patch(response, stage).map_err(invalid)?
    } else {
        // In `v1beta1` only the stage is checked: a patch of a validating webhook is ignored.
        text(response, "patch").filter(|_| stage == Stage::Mutating)
    };
    let allowed = response.get("allowed") == Some(&Value::Bool(true));
    let patch = patch.filter(|_| allowed).map(sent).transpose();
    Ok(AdmissionResponse {
        allowed,
        patch: patch.map_err(undecodable)?,
        warnings: warnings(response),
        status: response.get("status").cloned().unwrap_or_default(),
    })
}

/// Checks that the answer is the review that was asked for. A missing `apiVersion` or `kind` passes here.
fn is_review(review: &Value, version: &str) -> Result<(), String> {
    let stated = |member: &str| {
        let text = review.get(member).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let expected = format!("admission.k8s.io/{version}");
    let found = stated("apiVersion").unwrap_or(&expected);
    let kind = stated("kind").unwrap_or(KIND);
    let spoken = found.strip_prefix("admission.k8s.io/");
    let spoken = spoken.filter(|spoken| VERSIONS.contains(spoken) && kind == KIND);
    match spoken {
        None => Err(format!(
            "no kind {kind:?} is registered for version {found:?}"
        )),
        Some(spoken) if spoken != version => Err(format!(
            "converting ({spoken}.{KIND}) to ({version}.{KIND}): unknown conversion"
        )),
        Some(_) => Ok(()),
    }
}

/// What a member of an answer has to be, if it is there and not null.
type IsTyped = fn(&Value) -> bool;

const TYPES: [(&str, &str, IsTyped); 12] = [
    ("/response", "an object", Value::is_object),
    ("/response/uid", "a string", Value::is_string),
    ("/response/allowed", "a boolean", Value::is_boolean),
    ("/response/patch", "a string", Value::is_string),
    ("/response/patchType", "a string", Value::is_string),
    ("/response/warnings", "a list of strings", is_of_strings),
    (
        "/response/auditAnnotations",
        "a map of strings",
        maps_strings,
    ),
    ("/response/status", "an object", Value::is_object),
    ("/response/status/code", "a number", Value::is_i64),
    ("/response/status/message", "a string", Value::is_string),
    ("/response/status/reason", "a string", Value::is_string),
    ("/response/status/details", "an object", Value::is_object),
];

fn is_of_strings(value: &Value) -> bool {
    let is_text = |one: &Value| one.is_string() || one.is_null();
    value
        .as_array()
        .is_some_and(|items| items.iter().all(is_text))
}

fn maps_strings(value: &Value) -> bool {
    let is_text = |one: &Value| one.is_string() || one.is_null();
    value
        .as_object()
        .is_some_and(|members| members.values().all(is_text))
}

/// Checks that the members that are read can be decoded.
fn are_typed(review: &Value) -> Result<(), String> {
    for (pointer, wanted, is_typed) in TYPES {
        let found = review.pointer(pointer).filter(|found| !found.is_null());
        if found.is_some_and(|found| !is_typed(found)) {
            let member = pointer.trim_start_matches('/').replace('/', ".");
            return Err(format!(
                "couldn't decode the answer: {member} is not {wanted}"
            ));
        }
    }
    Ok(())
}

/// The response. In `v1` the UID and the type are verified too.
fn verified<'a>(
    review: &'a Value,
    version: &str,
    uid: &str,
) -> Result<&'a Map<String, Value>, String> {
    let response = review.get("response").and_then(Value::as_object);
    let response = response.ok_or("webhook response was absent")?;
    if version != "v1" {
        return Ok(response);
    }
    let answered = text(response, "uid").unwrap_or_default();
    if answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    let stated = |member: &str| review.get(member).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (stated("apiVersion"), stated("kind"));
    if api_version.is_empty() || kind.is_empty() {
        let group_version = if api_version.is_empty() {
            "/"
        } else {
            api_version
        };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind={KIND}, got {group_version}, \
             Kind={kind}"
        ));
    }
    Ok(response)
}

/// The patch as it was sent, after a check of its type.
fn patch(response: &Map<String, Value>, stage: Stage) -> Result<Option<&str>, String> {
    let patch = text(response, "patch");
    let patch_type = response.get("patchType").filter(|one| !one.is_null());
    if stage == Stage::Validating && patch.is_some() {
        return Err("validating webhook may not return response.patch".into());
    }
    if stage == Stage::Validating && patch_type.is_some() {
        return Err("validating webhook may not return response.patchType".into());
    }
    match (patch, patch_type) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (Some(_), None) => Err("webhook returned response.patch but not response.patchType".into()),
        (Some(_), Some(kind)) if kind == "" => {
            Err("webhook returned invalid response.patchType of \"\"".into())
        }
        (Some(_), Some(kind)) if kind != "JSONPatch" => {
            Err(format!("unsupported patch type {kind}"))
        }
        (Some(patch), Some(_)) => Ok(Some(patch)),
    }
}

/// The text of a patch.
fn sent(patch: &str) -> Result<Vec<u8>, String> {
    // As Go's decoder, which passes over the ends of lines.
    let patch = patch.replace(['\r', '\n'], "");
    let text = BASE64_STANDARD.decode(patch);
    text.map_err(|error| error.to_string())
}

/// Why an answer cannot be used whose patch cannot be read.
pub(super) fn undecodable(why: String) -> String {
    format!("received undecodable patch in webhook response: {why}")
}

/// The operations of a patch; `None` for an empty list.
pub(super) fn operations(patch: &[u8]) -> Result<Option<Value>, String> {
    let operations: Value = serde_json::from_slice(patch).map_err(|error| error.to_string())?;
    let list = match &operations {
        Value::Null => &[],
        Value::Array(list) => list.as_slice(),
        _ => return Err("it is not a list".into()),
    };
    if !list.iter().all(|one| one.is_object() || one.is_null()) {
        return Err("an operation is not an object".into());
    }
    let is_empty = list.is_empty();
    Ok(Some(operations).filter(|_| !is_empty))
}

/// The text of a member; `None` if it is missing or empty.
fn text<'a>(response: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    let text = response.get(member).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}

fn warnings(response: &Map<String, Value>) -> Vec<String> {
    let warnings = response.get("warnings").and_then(Value::as_array);
    let warnings = warnings.into_iter().flatten().filter_map(Value::as_str);
    warnings.map(str::to_owned).collect()
}

/// The refusal as the client sees it. Source: upstream's `ToStatusErr`.
pub(super) fn refusal(webhook: &str, status: &Value) -> Failure {
    let text = |member: &str| status.get(member).and_then(Value::as_str).unwrap_or("");
    let denied = format!("admission webhook \"{webhook}\" denied the request");
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let code = status.get("code").and_then(Value::as_u64).unwrap_or(0);
    let code = u16::try_from(code).unwrap_or(0);
    let code = if (400..600).contains(&code) {
        code
    } else {
        400
    };
    let details = status.get("details").filter(|one| one.is_object());
    Failure::refused(code, text("reason").to_owned(), message, details.cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_may_be_written_on_several_lines() {
        let one = json!([{"op": "add", "path": "/a", "value": "b"}]);
        let encoded = BASE64_STANDARD.encode(one.to_string());
        let (begin, end) = encoded.split_at(encoded.len() / 2);
        let text = sent(&format!("{begin}\r\n{end}\n")).expect("base64");
        assert_eq!(operations(&text), Ok(Some(one)));
        assert!(sent(&format!("{begin} {end}")).is_err());
    }
}
