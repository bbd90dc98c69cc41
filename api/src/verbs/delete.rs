//! `delete`: one object, according to its options.

mod options;

pub(crate) use options::Options;

use super::show_written;
use crate::admission::WriteRequest;
use crate::api::Api;
use crate::body::{ApiBody, Received};
use crate::fragments;
use crate::params::WriteOptions;
use crate::request::ResourceRequest;
use crate::respond;
use crate::status::Failure;
use hindsight_core::command::{Delete, Intent, Propagation, Target};
use hindsight_core::object::{ObjectKey, Uid};
use hindsight_core::{Object, Outcome, Rule};
use http::Response;
use serde_json::{Value, json};

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set \
     propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this \
     warning";

pub(crate) async fn delete(
    api: &Api,
    request: &ResourceRequest,
    body: Received,
) -> Result<Response<ApiBody>, Failure> {
    let options = Options::read(request, &body).await?;
    let answer = delete_one(api, request, &options).await;
    options.warned(request, answer)
}

async fn delete_one(
    api: &Api,
    request: &ResourceRequest,
    options: &Options,
) -> Result<Response<ApiBody>, Failure> {
    let delete = options.deletion(request, request.key(), None, Rule::Requested);
    let command = request.command(api, Intent::Delete(delete));
    let write_request = WriteRequest::new(command, options.of_write());
    let decision = api.submit(request, write_request).await?;
    let mut response = match &decision.outcome {
        Outcome::Deleted(object) if !request.kind.strategy.returns_object => Ok(respond::json(
            200,
            &success(request, object),
            request.accept.syntax,
        )),
        Outcome::Deleted(object) => {
            let mut commits = decision.commits.iter();
            let removal = commits.rfind(|commit| commit.key == object.key);
            let revision = removal.map_or(object.revision, |commit| commit.revision);
            show_written(request, 200, &object.shown_at(Some(revision)))
        }
        outcome => {
            let code = if options.orphan_dependents == Some(false) {
                202
            } else {
                200
            };
            show_written(request, code, outcome.object())
        }
    }?;
    respond::warn(&mut response, &decision.warnings);
    Ok(response)
}

impl Options {
    /// What a deletion has in common with other writes.
    pub(super) fn of_write(&self) -> WriteOptions {
        WriteOptions {
            dry_run: self.dry_run,
            ..WriteOptions::default()
        }
    }

    pub(super) fn deletion(
        &self,
        request: &ResourceRequest,
        key: ObjectKey,
        listed: Option<Uid>,
        rule: Rule,
    ) -> Delete {
        let target = Target {
            key,
            uid: listed,
            revision: None,
        };
        let mut delete = Delete::new(target, request.version_named(), rule);
        self.put(&mut delete);
        delete
    }

    /// Puts the client's options into a deletion, in place of those that it has.
    pub(crate) fn put(&self, delete: &mut Delete) {
        delete.preconditions = self.preconditions.clone();
        delete.orphan_dependents = self.orphan_dependents;
        delete.propagation = self.propagation;
        delete.grace_period_seconds = self.grace_period_seconds;
    }

    /// Adds the warning about pods of a job. It does not depend on the outcome: it is also given when nothing
    /// was found.
    pub(super) fn warned(
        &self,
        request: &ResourceRequest,
        answer: Result<Response<ApiBody>, Failure>,
    ) -> Result<Response<ApiBody>, Failure> {
        if !self.leaves_pods(request) {
            return answer;
        }
        let warning = JOB_WARNING.to_owned();
        match answer {
            Ok(mut response) => {
                respond::warn(&mut response, &[warning]);
                Ok(response)
            }
            Err(mut failure) => {
                failure.warnings.push(warning);
                Err(failure)
            }
        }
    }

    fn leaves_pods(&self, request: &ResourceRequest) -> bool {
        let orphans = request.kind.strategy.default_propagation == Propagation::Orphan;
        let is_job = &*request.kind.resource.resource == "jobs";
        orphans && is_job && self.orphan_dependents.is_none() && self.propagation.is_none()
    }
}

fn success(request: &ResourceRequest, object: &Object) -> Value {
    let mut details = json!({
        "name": &*object.key.name,
        "kind": &*object.key.resource.resource,
        "uid": object.meta.uid.as_str(),
    });
    let group = &*request.kind.resource.group;
    if let Some(members) = details.as_object_mut().filter(|_| !group.is_empty()) {
        members.insert("group".into(), group.into());
    }
    fragments::success("details", details)
}
