//! `patch` with a configuration (server-side apply): everything that one field manager wants to say about an
//! object.

use super::write::carry_out_intent;
use crate::api::Api;
use crate::body::{self, ApiBody, BodyWarnings, Received};
use crate::request::ResourceRequest;
use crate::status::Failure;
use hindsight_core::command::{Intent, Patch, PatchObject};
use http::Response;
use serde_json::Value;

pub(super) async fn apply(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let options = request.params.apply_options()?;
    let mut body_warnings = BodyWarnings::new(options.validation());
    let (config, complaint) = body::decode_config(body, &mut body_warnings).await?;
    check(request, &config)?;
    let force = request.params.flag("force").unwrap_or_default();
    let intent = Intent::Patch(PatchObject {
        key: request.key(),
        version: request.version_named(),
        subresource: request.subresource,
        patch: Patch::Apply {
            config,
            force,
            complaint,
        },
        validation: options.validation(),
    });
    carry_out_intent(api, request, intent, body_warnings, options).await
}

/// A configuration must state its version and kind, which nothing else does, and must not contain
/// `managedFields`.
fn check(request: &ResourceRequest, config: &Value) -> Result<(), Failure> {
    let text = |member: &str| config.get(member).and_then(Value::as_str);
    let (version, kind) = (text("apiVersion"), text("kind"));
    let (version, kind) = (version.unwrap_or_default(), kind.unwrap_or_default());
    let spoken = request.spoken();
    if kind != &*spoken.kind || version != spoken.api_version() {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={kind}"
        )));
    }
    let managed = config.pointer("/metadata/managedFields");
    if managed.is_some_and(|managed| !managed.is_null()) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}
