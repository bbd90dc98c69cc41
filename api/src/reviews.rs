//! Reviews: questions that are answered at once and never stored.

use crate::body::{ApiBody, decode};
use crate::handler::Asked;
use crate::respond;
use crate::status::Failure;
use http::{Method, Response};
use serde_json::{Value, json};

pub(crate) fn answer(asked: &Asked, body: &[u8]) -> Result<Response<ApiBody>, Failure> {
    if asked.parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let mut review = decode(body, respond::syntax(&asked.parts.headers)?)?;
    let status = match &*asked.kind.resource.resource {
        "selfsubjectreviews" => json!({"userInfo": user(asked)}),
        "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews" => {
            json!({"allowed": true, "reason": "every authenticated user may do everything"})
        }
        "selfsubjectrulesreviews" => json!({
            "incomplete": false,
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        }),
        _ => return Err(Failure::method_not_allowed()),
    };
    let root = review
        .as_object_mut()
        .ok_or_else(|| Failure::bad_request("the review is not an object"))?;
    root.insert("status".into(), status);
    root.insert("kind".into(), Value::from(&*asked.kind.kind));
    root.insert(
        "apiVersion".into(),
        asked.kind.api_version(&asked.version.name).into(),
    );
    root.entry("metadata").or_insert_with(|| json!({}));
    Ok(respond::json(201, &review, asked.accept.syntax))
}

fn user(asked: &Asked) -> Value {
    let groups: Vec<&str> = asked.actor.groups.iter().map(|group| &**group).collect();
    json!({"username": &*asked.actor.user, "uid": &*asked.actor.uid, "groups": groups})
}
