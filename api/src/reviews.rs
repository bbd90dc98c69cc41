//! Reviews: questions that are answered at once and never stored. Who may do what is what the authorizer
//! says; of paths it is not asked, nor by anybody else. What cannot be asked is refused as upstream does.

#[cfg(test)]
mod tests;

use crate::accept::accept_object;
use crate::authorizer::{Access, Authorizer, Verdict};
use crate::body::{ApiBody, Noted};
use crate::handler::Routed;
use crate::respond;
use crate::status::Failure;
use crate::verbs;
use hindsight_core::rejection::FieldCause;
use hindsight_core::{Actor, GroupResource, Rejection};
use http::{Method, Response};
use serde_json::{Value, json};

pub(crate) fn answer(
    authorizer: &dyn Authorizer,
    asked: &Routed,
    body: &[u8],
) -> Result<Response<ApiBody>, Failure> {
    if asked.parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let accept = accept_object(&asked.parts.headers)?;
    let options = asked.params.write_options("CreateOptions")?;
    let mut noted = Noted::new(options.validation());
    let mut review = verbs::document(asked, body, &mut noted)?;
    let resource = &*asked.kind.resource.resource;
    let spec = review.get("spec").unwrap_or(&Value::Null);
    check_types(spec)?;
    let status = match resource {
        "selfsubjectreviews" => json!({"userInfo": user(asked)}),
        "tokenreviews" => token(spec)?,
        "selfsubjectrulesreviews" => rules(authorizer, spec)?,
        "subjectaccessreviews" | "localsubjectaccessreviews" | "selfsubjectaccessreviews" => {
            check(asked, spec)?;
            check_namespace(asked, spec)?;
            access(authorizer, asked, spec)
        }
        _ => return Err(Failure::method_not_allowed()),
    };
    let root = review
        .as_object_mut()
        .ok_or_else(|| Failure::bad_request("the review is not an object"))?;
    root.insert("status".into(), status);
    root.entry("metadata").or_insert_with(|| json!({}));
    let mut response = respond::json(201, &review, accept.syntax);
    respond::warn(&mut response, noted.warnings());
    Ok(response)
}

fn user(asked: &Routed) -> Value {
    let groups: Vec<&str> = asked.actor.groups.iter().map(|group| &**group).collect();
    json!({"username": &*asked.actor.user, "uid": &*asked.actor.uid, "groups": groups})
}

/// Tokens are known where connections come in, not here: no token is vouched for.
fn token(spec: &Value) -> Result<Value, Failure> {
    if text(spec, "token").is_empty() {
        return Err(Failure::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    Ok(json!({"authenticated": false, "error": "this server does not review tokens"}))
}

/// An authorizer answers what it is asked, and cannot list all that it would allow.
fn rules(authorizer: &dyn Authorizer, spec: &Value) -> Result<Value, Failure> {
    if text(spec, "namespace").is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let paths = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
    if authorizer.allows_everything() {
        let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
        return Ok(json!({"incomplete": false, "nonResourceRules": paths, "resourceRules": all}));
    }
    let why = "the authorizer does not support user rule resolution";
    Ok(
        json!({"incomplete": true, "evaluationError": why, "nonResourceRules": paths,
        "resourceRules": []}),
    )
}

fn access(authorizer: &dyn Authorizer, asked: &Routed, spec: &Value) -> Value {
    if authorizer.allows_everything() {
        return json!({"allowed": true, "reason": "every authenticated user may do everything"});
    }
    let attributes = spec.get("resourceAttributes");
    let Some(attributes) = attributes.filter(|one| one.is_object()) else {
        return json!({"allowed": true, "reason": "every authenticated user may reach every path"});
    };
    let subject = match &*asked.kind.resource.resource {
        "selfsubjectaccessreviews" => (*asked.actor).clone(),
        _ => subject(spec),
    };
    let resource = GroupResource::new(text(attributes, "group"), text(attributes, "resource"));
    let access = Access {
        verb: text(attributes, "verb"),
        resource: &resource,
        subresource: text(attributes, "subresource"),
        namespace: text(attributes, "namespace"),
        name: text(attributes, "name"),
    };
    match authorizer.allowed(&subject, &access) {
        Verdict::Allowed => json!({"allowed": true}),
        Verdict::Denied(why) if why.is_empty() => json!({"allowed": false}),
        Verdict::Denied(why) => json!({"allowed": false, "reason": why}),
    }
}

/// Whom a review is about.
fn subject(spec: &Value) -> Actor {
    let groups = spec.get("groups").and_then(Value::as_array);
    let groups = groups.into_iter().flatten().filter_map(Value::as_str);
    Actor {
        user: text(spec, "user").into(),
        uid: text(spec, "uid").into(),
        groups: groups.map(Into::into).collect(),
    }
}

type Fits = fn(&Value) -> bool;

/// What upstream's decoder would not take: of a group that is none the question would be another.
fn check_types(spec: &Value) -> Result<(), Failure> {
    if !spec.is_null() && !spec.is_object() {
        return Err(Failure::bad_request("spec is not an object"));
    }
    let members: [(&str, Fits); 5] = [
        ("user", Value::is_string),
        ("uid", Value::is_string),
        ("groups", are_texts),
        ("resourceAttributes", Value::is_object),
        ("nonResourceAttributes", Value::is_object),
    ];
    let mut members = members.into_iter();
    let wrong = members.find(|(name, fits)| {
        let found = spec.get(*name);
        found.is_some_and(|found| !found.is_null() && !fits(found))
    });
    wrong.map_or(Ok(()), |(name, _)| {
        let message = format!("spec.{name} is of another type");
        Err(Failure::bad_request(message))
    })
}

fn are_texts(found: &Value) -> bool {
    let all = found.as_array();
    all.is_some_and(|all| all.iter().all(Value::is_string))
}

/// Source: upstream's `pkg/apis/authorization/validation`.
fn check(asked: &Routed, spec: &Value) -> Result<(), Failure> {
    let resource = &*asked.kind.resource.resource;
    let has = |member: &str| spec.get(member).is_some_and(Value::is_object);
    let (of_resource, of_path) = (has("resourceAttributes"), has("nonResourceAttributes"));
    let invalid = |field: &str, why: &str| FieldCause::invalid(field, &Value::Null, why);
    let mut causes = Vec::new();
    if of_resource && of_path {
        let why = "cannot be specified in combination with resourceAttributes";
        causes.push(invalid("spec.nonResourceAttributes", why));
    }
    if !of_resource && !of_path {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(invalid("spec.resourceAttributes", why));
    }
    let groups = spec.get("groups").and_then(Value::as_array);
    let nobody = text(spec, "user").is_empty() && groups.is_none_or(Vec::is_empty);
    if resource != "selfsubjectaccessreviews" && nobody {
        let why = "at least one of user or group must be specified";
        causes.push(FieldCause::invalid("spec.user", &json!(""), why));
    }
    if resource == "localsubjectaccessreviews" && of_path {
        causes.push(invalid(
            "spec.nonResourceAttributes",
            "disallowed on this kind of request",
        ));
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

/// What is asked in a namespace is asked of it. Source: upstream's `localsubjectaccessreview/rest.go`.
fn check_namespace(asked: &Routed, spec: &Value) -> Result<(), Failure> {
    let Some(namespace) = asked.route.namespace.as_deref() else {
        return Ok(());
    };
    let attributes = spec.get("resourceAttributes").unwrap_or(&Value::Null);
    if text(attributes, "namespace") == namespace {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "spec.resourceAttributes.namespace must match namespace: {namespace}"
    )))
}

fn text<'a>(spec: &'a Value, member: &str) -> &'a str {
    spec.get(member).and_then(Value::as_str).unwrap_or_default()
}
