//! The first objects of a new log: the namespaces that clients expect.

use crate::{ControlPlane, OpenError};
use hindsight_core::command::{Create, FieldValidation, Intent};
use hindsight_core::{Actor, Cause, Command, ObjectKey, Request, Unavailable};
use hindsight_gc::Identity;
use serde_json::json;
use std::sync::Arc;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

pub(crate) fn run(plane: &ControlPlane) -> Result<(), OpenError> {
    // Once there are any objects, `default` is one of them, which cannot be deleted. A log without any may have
    // a revision: that of a restore, if nothing had happened when the backup was made.
    if !plane.state().is_empty() {
        return Ok(());
    }
    let actor = Arc::new(Actor {
        groups: vec!["system:masters".into()],
        ..Actor::new(Identity::ApiServer.user())
    });
    let request = Arc::new(Request {
        verb: "create".into(),
        ..Request::default()
    });
    let command = |name: &&str| {
        let intent = Intent::Create(Create {
            key: ObjectKey::namespace(""),
            version: "v1".into(),
            object: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            validation: FieldValidation::Ignore,
        });
        Command {
            request: Arc::clone(&request),
            cause: Cause::Policy("bootstrap".into()),
            ..Command::new(Arc::clone(&actor), plane.now(), plane.seed(), intent)
        }
    };
    let answers = plane
        .submit_blocking(NAMESPACES.iter().map(command).collect())
        .map_err(|error| match error {
            Unavailable::Full => OpenError::NoRoom,
            other => OpenError::Bootstrap(other.into()),
        })?;
    match answers.into_iter().find_map(Result::err) {
        Some(rejection) => Err(OpenError::Bootstrap(rejection.into())),
        None => Ok(()),
    }
}
