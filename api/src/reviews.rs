//! Reviews: questions that are answered at once and never stored. The authorizer answers who may do what; it is
//! not asked about paths, here or elsewhere, since every known user may reach them, except for one that the program
//! around this API may restrict. What is refused to everybody, or to some, is refused here too. An invalid question is
//! refused as upstream does.

#[cfg(test)]
mod tests;
mod tokens;

use crate::accept::{Answer, View};
use crate::admission::ReviewAdmission;
use crate::api::Api;
use crate::authorizer::{Access, Verdict, judge};
use crate::body::{ApiBody, BodyWarnings, Received};
use crate::fragments;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use crate::{table, verbs};
use hindsight_core::document::text;
use hindsight_core::rejection::FieldCause;
use hindsight_core::{Actor, GroupResource, Rejection, prune_review};
use http::{Method, Response};
use serde_json::{Map, Value, json};

/// The member of a spec that asks about a resource, and the one that asks about a path.
const RESOURCE: &str = "resourceAttributes";
const PATH: &str = "nonResourceAttributes";
/// The verbs that a request about a resource can have. `*` would include `impersonate`, which nobody may.
const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];
/// All that is answered here and is no resource, or is of the past.
const PATHS: [&str; 14] = [
    "/",
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/as-of/*",
    "/healthz",
    "/healthz/*",
    "/livez",
    "/livez/*",
    "/openapi/*",
    "/readyz",
    "/readyz/*",
    "/version",
];

pub(crate) async fn answer(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    if request.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let accept = request.accept_of_review;
    let accept = accept.map_err(|refused| refused.of(&request.kind))?;
    accept.check(Answer::One, &request.kind)?;
    let options = request.params.create_options()?;
    let mut body_warnings = BodyWarnings::new(options.validation());
    let bytes = body.decoded_bytes(request.media.syntax()?);
    let mut review = verbs::document(request, body, &mut body_warnings).await?;
    let unknown = prune_review(
        &request.state.kinds,
        &request.kind,
        &request.version.name,
        options.validation(),
        &mut review,
    )?;
    let mut warnings = body_warnings.into_warnings();
    warnings.extend(unknown);
    let admission = ReviewAdmission::new(api, request, &options, bytes);
    let review = match settle(api, request, &admission, review, &mut warnings).await {
        Ok(review) => review,
        Err(failure) => return Err(failure.with_warnings(warnings)),
    };
    let shown = match accept.view {
        View::Metadata => table::partial(accept.meta, &review),
        View::Object | View::Table => review,
    };
    let mut response = respond::json(201, &shown, accept.syntax);
    respond::warn(&mut response, &warnings);
    Ok(response)
}

/// Puts the answer into a review, after all webhooks were asked.
async fn settle(
    api: &Api,
    request: &ResourceRequest,
    admission: &ReviewAdmission<'_>,
    mut review: Value,
    warnings: &mut Vec<String>,
) -> Result<Value, Failure> {
    settle_metadata(request, &mut review)?;
    let review = admission.mutate(review, warnings).await?;
    check(request, &review)?;
    let mut review = admission.validate(review, warnings).await?;
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let status = match &*request.kind.resource.resource {
        "selfsubjectreviews" => json!({"userInfo": fragments::user_info(&request.actor)}),
        "tokenreviews" => tokens::status(api.authenticator.as_deref(), spec),
        "selfsubjectrulesreviews" => rules(api, &request.actor),
        _ => access(api, request, spec),
    };
    let root = review
        .as_object_mut()
        .ok_or_else(|| Failure::bad_request("the review is not an object"))?;
    forget_question(request, root);
    root.insert("status".into(), status);
    Ok(review)
}

/// Empties a review whose answer does not repeat what was asked. Source: `Create` of upstream's
/// `selfsubjectreview` and `selfsubjectrulesreview`.
fn forget_question(request: &ResourceRequest, review: &mut Map<String, Value>) {
    match &*request.kind.resource.resource {
        "selfsubjectreviews" => {
            let metadata = json!({"creationTimestamp": request.now().to_rfc3339()});
            review.insert("metadata".into(), metadata);
        }
        "selfsubjectrulesreviews" => {
            review.insert("metadata".into(), json!({}));
            review.insert("spec".into(), json!({}));
        }
        _ => {}
    }
}

/// Refuses a review that is not a valid question.
fn check(request: &ResourceRequest, review: &Value) -> Result<(), Failure> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    match &*request.kind.resource.resource {
        "tokenreviews" if text(spec, "token").is_empty() => Err(Failure::bad_request(
            "token is required for TokenReview in authentication",
        )),
        "selfsubjectrulesreviews" if text(spec, "namespace").is_empty() => {
            Err(Failure::bad_request("no namespace on request"))
        }
        "selfsubjectreviews" | "tokenreviews" | "selfsubjectrulesreviews" => Ok(()),
        "subjectaccessreviews" | "localsubjectaccessreviews" | "selfsubjectaccessreviews" => {
            check_access(request, review)
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

/// The rules of the asking user. An authorizer answers single questions, and cannot list everything that it
/// would allow.
fn rules(api: &Api, actor: &Actor) -> Value {
    let paths = json!([{"verbs": ["*"], "nonResourceURLs": reachable(api, actor)}]);
    if api.admission.authorizer.allows_everything() {
        let all = json!([{"verbs": VERBS, "apiGroups": ["*"], "resources": ["*"]}]);
        return json!({"incomplete": false, "nonResourceRules": paths, "resourceRules": all});
    }
    let why = "the authorizer does not support user rule resolution";
    json!({"incomplete": true, "evaluationError": why, "nonResourceRules": paths,
        "resourceRules": []})
}

/// The paths that this user may reach: all, or those that are not restricted.
fn reachable(api: &Api, actor: &Actor) -> Vec<String> {
    match &api.restricted {
        Some(restricted) if restricted.refusal(actor, "*").is_some() => {
            let ours = PATHS.into_iter().map(str::to_owned);
            ours.chain(restricted.others.iter().cloned()).collect()
        }
        Some(_) | None => vec!["*".into()],
    }
}

fn access(api: &Api, request: &ResourceRequest, spec: &Value) -> Value {
    let subject = match &*request.kind.resource.resource {
        "selfsubjectaccessreviews" => (*request.actor).clone(),
        _ => subject(spec),
    };
    let Some(attributes) = non_null(spec, RESOURCE) else {
        return access_to_path(api, &subject, non_null(spec, PATH));
    };
    let resource = GroupResource::new(text(attributes, "group"), text(attributes, "resource"));
    let access = Access {
        verb: text(attributes, "verb"),
        resource: &resource,
        subresource: text(attributes, "subresource"),
        namespace: text(attributes, "namespace"),
        name: text(attributes, "name"),
    };
    let authorizer = &*api.admission.authorizer;
    match judge(authorizer, &subject, &access) {
        Verdict::Allowed if authorizer.allows_everything() => {
            json!({"allowed": true, "reason": "every authenticated user may do this"})
        }
        Verdict::Allowed => json!({"allowed": true}),
        Verdict::Denied(why) if why.is_empty() => json!({"allowed": false}),
        Verdict::Denied(why) => json!({"allowed": false, "reason": why}),
    }
}

fn access_to_path(api: &Api, subject: &Actor, attributes: Option<&Value>) -> Value {
    let path = attributes.map_or("", |attributes| text(attributes, "path"));
    let restricted = api.restricted.as_ref();
    match restricted.and_then(|restricted| restricted.refusal(subject, path)) {
        Some(why) => json!({"allowed": false, "reason": why}),
        None => json!({"allowed": true, "reason": "this user may reach this path"}),
    }
}

/// The user that a review is about.
fn subject(spec: &Value) -> Actor {
    let groups = spec.get("groups").and_then(Value::as_array);
    let groups = groups.into_iter().flatten().filter_map(Value::as_str);
    Actor {
        user: text(spec, "user").into(),
        uid: text(spec, "uid").into(),
        groups: groups.map(Into::into).collect(),
    }
}

/// Removes what only the server may set, and requires the namespace to be that of the path. Source: upstream's
/// `WipeObjectMetaSystemFields` and `EnsureObjectNamespaceMatchesRequestNamespace`.
fn settle_metadata(request: &ResourceRequest, review: &mut Value) -> Result<(), Failure> {
    const SYSTEM: [&str; 5] = [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "selfLink",
        "uid",
    ];
    let sent = review.get_mut("metadata").map(Value::take);
    let mut metadata = match sent {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    metadata.retain(|member, _| !SYSTEM.contains(&member.as_str()));
    let sent = metadata.remove("namespace");
    let sent = sent.as_ref().and_then(Value::as_str).unwrap_or_default();
    if let Some(namespace) = request.route.namespace.as_deref() {
        if !sent.is_empty() && sent != namespace {
            return Err(Failure::bad_request(verbs::OTHER_NAMESPACE));
        }
        metadata.insert("namespace".into(), namespace.into());
    }
    if let Some(root) = review.as_object_mut() {
        root.insert("metadata".into(), metadata.into());
    }
    Ok(())
}

/// Validates an access review. Source: upstream's `pkg/apis/authorization/validation`.
fn check_access(request: &ResourceRequest, review: &Value) -> Result<(), Failure> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let resource = &*request.kind.resource.resource;
    let invalid = |field: &str, why: &str| FieldCause::invalid(field, &Value::Null, why);
    let mut causes = Vec::new();
    match (non_null(spec, RESOURCE), non_null(spec, PATH)) {
        (Some(_), Some(_)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(invalid("spec.nonResourceAttributes", why));
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(invalid("spec.resourceAttributes", why));
        }
        _ => {}
    }
    let groups = spec.get("groups").and_then(Value::as_array);
    let nobody = text(spec, "user").is_empty() && groups.is_none_or(Vec::is_empty);
    if resource != "selfsubjectaccessreviews" && nobody {
        let why = "at least one of user or group must be specified";
        causes.push(FieldCause::invalid("spec.user", &json!(""), why));
    }
    let is_local = resource == "localsubjectaccessreviews";
    let metadata = review.get("metadata").unwrap_or(&Value::Null);
    let of_kind = |name: &str| name == "managedFields" || is_local && name == "namespace";
    let mut members = metadata.as_object().into_iter().flatten();
    if members.any(|(name, value)| !of_kind(name) && !is_zero(value)) {
        let why = if is_local {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        causes.push(FieldCause::invalid("metadata", metadata, why));
    }
    if is_local {
        causes.extend(of_its_namespace(spec, text(metadata, "namespace")));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::from(Rejection::Invalid {
        group: "authorization.k8s.io".into(),
        kind: "".into(),
        name: "".into(),
        causes,
    }))
}

/// A local review may only ask about its own namespace.
fn of_its_namespace(spec: &Value, namespace: &str) -> Vec<FieldCause> {
    let mut causes = Vec::new();
    let other = non_null(spec, RESOURCE).map(|attributes| text(attributes, "namespace"));
    if let Some(other) = other.filter(|other| *other != namespace) {
        let field = "spec.resourceAttributes.namespace";
        let why = "must match metadata.namespace";
        causes.push(FieldCause::invalid(field, &other.into(), why));
    }
    if let Some(of_path) = non_null(spec, PATH) {
        let why = "disallowed on this kind of request";
        causes.push(FieldCause::invalid(
            "spec.nonResourceAttributes",
            of_path,
            why,
        ));
    }
    causes
}

fn non_null<'a>(spec: &'a Value, member: &str) -> Option<&'a Value> {
    spec.get(member).filter(|found| !found.is_null())
}

/// Whether the value is the zero that Go has for an absent member.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
