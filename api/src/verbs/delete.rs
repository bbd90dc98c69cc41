//! `delete`: options from the body or from the query, never from both.

use super::show;
use super::write::as_stored;
use crate::body::{ApiBody, decode};
use crate::handler::{Api, Asked};
use crate::params::Params;
use crate::respond;
use crate::status::Failure;
use bytes::Bytes;
use hindsight_core::command::{Delete, Intent, Propagation, Target};
use hindsight_core::kind::DefaultPropagation;
use hindsight_core::object::{ObjectKey, Uid};
use hindsight_core::rejection::FieldCause;
use hindsight_core::{Object, Outcome, Revision, Rule};
use http::Response;
use serde_json::{Map, Value, json};

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set \
     propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this \
     warning";

/// `DeleteOptions`, wherever they came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) dry_run: bool,
    orphan_dependents: Option<bool>,
    propagation: Option<Propagation>,
    grace_period_seconds: Option<i64>,
    uid: Option<Uid>,
    revision: Option<String>,
}

pub(crate) async fn delete(
    api: &Api,
    asked: &Asked,
    body: Bytes,
) -> Result<Response<ApiBody>, Failure> {
    let options = Options::read(asked, &body)?;
    let answer = carry_out(api, asked, &options).await;
    Ok(options.warned(asked, answer))
}

async fn carry_out(
    api: &Api,
    asked: &Asked,
    options: &Options,
) -> Result<Response<ApiBody>, Failure> {
    let intent = options.intent(asked, asked.key(), None, Rule::Requested);
    let decision = api
        .decide(api.command(asked, "delete", intent), options.dry_run)
        .await?;
    let mut response = match &decision.outcome {
        Outcome::Deleted(object) if !asked.kind.strategy.returns_object => Ok(respond::json(
            200,
            &success(asked, object),
            asked.accept.syntax,
        )),
        Outcome::Deleted(object) if options.dry_run => {
            let stored = asked.state.get(&object.key).map(|stored| &**stored);
            show(asked, 200, &as_stored(object, stored))
        }
        Outcome::Deleted(object) => {
            let revision = decision
                .commits
                .last()
                .map_or(object.revision, |commit| commit.revision);
            show(asked, 200, &with_revision(object, revision))
        }
        outcome => {
            let code = if options.orphan_dependents == Some(false) {
                202
            } else {
                200
            };
            let object = outcome.object();
            if options.dry_run {
                let stored = asked.state.get(&object.key).map(|stored| &**stored);
                show(asked, code, &as_stored(object, stored))
            } else {
                show(asked, code, object)
            }
        }
    }?;
    respond::warn(&mut response, &decision.warnings);
    Ok(response)
}

impl Options {
    pub(crate) fn read(asked: &Asked, body: &[u8]) -> Result<Self, Failure> {
        if body.is_empty() {
            Self::from_query(&asked.params)
        } else {
            Self::from_body(&decode(body, respond::syntax(&asked.parts.headers)?)?)
        }
    }

    fn from_query(params: &Params) -> Result<Self, Failure> {
        let dry_run = params.dry_run("DeleteOptions")?;
        let uid = Some(params.text("uid"))
            .filter(|uid| !uid.is_empty())
            .map(Uid::from);
        let revision = Some(params.text("resourceVersion")).filter(|text| !text.is_empty());
        let options = Self {
            dry_run,
            orphan_dependents: params.flag("orphanDependents"),
            propagation: params.get("propagationPolicy").map(policy).transpose()?,
            grace_period_seconds: params.integer("gracePeriodSeconds")?,
            uid,
            revision: revision.map(str::to_owned),
        };
        options.checked()
    }

    pub(super) fn from_body(body: &Value) -> Result<Self, Failure> {
        let empty = Map::new();
        let members = match body {
            Value::Null => &empty,
            Value::Object(members) => members,
            _ => return Err(Failure::bad_request("DeleteOptions must be an object")),
        };
        let kind = members
            .get("kind")
            .map_or(Some("DeleteOptions"), Value::as_str);
        if kind != Some("DeleteOptions") {
            return Err(Failure::bad_request("the body is not a DeleteOptions"));
        }
        let wrong = |field: &str| Failure::bad_request(format!("{field} is not of its type"));
        let version = members.get("apiVersion").map_or(Some(""), Value::as_str);
        if version.is_none_or(|version| version.matches('/').count() > 1) {
            return Err(wrong("apiVersion"));
        }
        let find = |field: &str| members.get(field).filter(|value| !value.is_null());
        let text = |value: &Value, field| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| wrong(field))
        };
        let precondition = |field: &'static str| {
            let value = members.get("preconditions").and_then(|one| one.get(field));
            value
                .filter(|value| !value.is_null())
                .map(|value| text(value, field))
                .transpose()
        };
        let propagation = find("propagationPolicy").map(|value| text(value, "propagationPolicy"));
        let orphan = find("orphanDependents");
        let grace = find("gracePeriodSeconds");
        let options = Self {
            dry_run: dry_run(find("dryRun"))?,
            orphan_dependents: orphan
                .map(|value| value.as_bool().ok_or_else(|| wrong("orphanDependents")))
                .transpose()?,
            propagation: propagation
                .transpose()?
                .as_deref()
                .map(policy)
                .transpose()?,
            grace_period_seconds: grace
                .map(|value| value.as_i64().ok_or_else(|| wrong("gracePeriodSeconds")))
                .transpose()?,
            uid: precondition("uid")?.as_deref().map(Uid::from),
            revision: precondition("resourceVersion")?,
        };
        options.checked()
    }

    fn checked(self) -> Result<Self, Failure> {
        if self.orphan_dependents.is_none() || self.propagation.is_none() {
            return Ok(self);
        }
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let cause = FieldCause::invalid("propagationPolicy", &json!(null), why);
        Err(Failure::invalid_options("DeleteOptions", vec![cause]))
    }

    pub(crate) fn intent(
        &self,
        asked: &Asked,
        key: ObjectKey,
        pinned: Option<Uid>,
        rule: Rule,
    ) -> Intent {
        // A text that is no revision can be nobody's.
        let revision = self
            .revision
            .as_deref()
            .map(|text| text.parse().unwrap_or(u64::MAX));
        Intent::Delete(Delete {
            target: Target {
                key,
                uid: self.uid.clone().or(pinned),
                revision: revision.map(Revision),
            },
            version: asked.version.name.clone(),
            orphan_dependents: self.orphan_dependents,
            propagation: self.propagation,
            grace_period_seconds: self.grace_period_seconds,
            rule,
        })
    }

    /// The warning does not wait for the outcome: it is also there when nothing was found.
    pub(super) fn warned(
        &self,
        asked: &Asked,
        answer: Result<Response<ApiBody>, Failure>,
    ) -> Response<ApiBody> {
        let mut response =
            answer.unwrap_or_else(|failure| respond::failure(&failure, asked.accept.syntax));
        if self.leaves_pods(asked) {
            respond::warn(&mut response, &[JOB_WARNING.to_owned()]);
        }
        response
    }

    fn leaves_pods(&self, asked: &Asked) -> bool {
        let orphans = asked.kind.strategy.default_propagation == DefaultPropagation::Orphan;
        let is_job = &*asked.kind.resource.resource == "jobs";
        orphans && is_job && self.orphan_dependents.is_none() && self.propagation.is_none()
    }
}

fn policy(text: &str) -> Result<Propagation, Failure> {
    match text {
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => {
            let supported = &["Background", "Foreground", "Orphan"];
            let cause = FieldCause::not_supported("propagationPolicy", other, supported);
            Err(Failure::invalid_options("DeleteOptions", vec![cause]))
        }
    }
}

fn dry_run(value: Option<&Value>) -> Result<bool, Failure> {
    let Some(value) = value else { return Ok(false) };
    let list = value
        .as_array()
        .ok_or_else(|| Failure::bad_request("dryRun is not a list"))?;
    let causes: Vec<FieldCause> = list
        .iter()
        .filter(|one| one.as_str() != Some("All"))
        .map(|one| FieldCause::not_supported("dryRun", one.as_str().unwrap_or_default(), &["All"]))
        .collect();
    if causes.is_empty() {
        return Ok(!list.is_empty());
    }
    Err(Failure::invalid_options("DeleteOptions", causes))
}

fn success(asked: &Asked, object: &Object) -> Value {
    let mut details = json!({
        "name": &*object.key.name,
        "kind": &*object.key.resource.resource,
        "uid": object.meta.uid.as_str(),
    });
    let group = &*asked.kind.resource.group;
    if let Some(members) = details.as_object_mut().filter(|_| !group.is_empty()) {
        members.insert("group".into(), group.into());
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// The last version as it was removed: with the revision of its removal.
fn with_revision(object: &Object, revision: Revision) -> Object {
    let mut document = object.document();
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), revision.to_string().into());
    }
    Object {
        body: serde_json::to_vec(&document).unwrap_or_default().into(),
        ..object.clone()
    }
}
