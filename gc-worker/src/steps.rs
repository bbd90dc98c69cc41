//! The steps that collectors take, and the parts that these are made of.

use crate::worker::Worker;
use hindsight_core::command::{
    Command, Delete, FieldValidation, Intent, Patch, PatchObject, Target,
};
use hindsight_core::kind::Subresource;
use hindsight_core::{Cause, Object, ObjectKey, Rule, State, Time, Uid};
use serde_json::Value;

/// What a collector does next, and why.
#[derive(Debug, Clone)]
pub struct Step {
    /// Who carries it out.
    pub worker: Worker,
    /// What to do.
    pub intent: Intent,
    /// What made it necessary.
    pub cause: Cause,
}

impl Step {
    /// The command for it.
    pub fn command(self, time: Time, seed: [u8; 16]) -> Command {
        Command {
            cause: self.cause,
            manager: Some(self.worker.field_manager().into()),
            ..Command::new(self.worker.actor(), time, seed, self.intent)
        }
    }
}

/// A write to the status of a container: this document, merged.
pub(crate) fn status_patch(key: &ObjectKey, document: Value) -> Intent {
    Intent::Patch(PatchObject {
        key: key.clone(),
        version: "v1".into(),
        subresource: Some(Subresource::Status),
        patch: Patch::Merge(document),
        validation: FieldValidation::Ignore,
    })
}

/// The mark of an object in deletion, as a cause.
pub(crate) fn cause_of_mark(object: &Object) -> Cause {
    Cause::Commit(object.mark.map_or(object.revision, |mark| mark.revision))
}

/// The object with this uid, in whatever version it is found: what matters of it is checked again.
pub(crate) fn target(key: &ObjectKey, uid: &Uid) -> Target {
    Target {
        key: key.clone(),
        uid: Some(uid.clone()),
        revision: None,
    }
}

/// A deletion of the target by this rule, in the version in which it is stored.
pub(crate) fn deletion(state: &State, target: Target, rule: Rule) -> Delete {
    let kind = state.kinds.by_resource(&target.key.resource);
    let version = kind.and_then(|kind| kind.storage_version());
    let version = version.map_or_else(|| "".into(), |version| version.name.clone());
    Delete::new(target, version, rule)
}
