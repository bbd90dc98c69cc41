//! The first objects of a new log: the namespaces that clients count on.

use crate::effects;
use crate::{ControlPlane, OpenError};
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Actor, Cause, Command, GroupResource, ObjectKey, Request, Revision};
use serde_json::json;
use std::sync::Arc;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

pub(crate) fn run(plane: &ControlPlane) -> Result<(), OpenError> {
    if plane.state().revision > Revision::ZERO {
        return Ok(());
    }
    let actor = Arc::new(Actor {
        user: "system:apiserver".into(),
        uid: "".into(),
        groups: vec!["system:masters".into()],
    });
    let request = Arc::new(Request {
        verb: "create".into(),
        ..Request::default()
    });
    let command = |name: &&str| Command {
        actor: Arc::clone(&actor),
        request: Arc::clone(&request),
        time: effects::now(),
        seed: effects::seed(),
        cause: Cause::Policy("bootstrap".into()),
        intent: Intent::Create(Create {
            key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
            version: "v1".into(),
            object: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            validation: FieldValidation::Ignore,
        }),
    };
    let answers = plane
        .submit_blocking(NAMESPACES.iter().map(command).collect())
        .map_err(|error| OpenError::Bootstrap(error.to_string()))?;
    match answers.into_iter().find_map(Result::err) {
        Some(rejection) => Err(OpenError::Bootstrap(rejection.to_string())),
        None => Ok(()),
    }
}
