//! The steps that collectors take, and the parts that these are made of.

use hindsight_core::command::{
    Basis, Delete, FieldValidation, Intent, Patch, PatchObject, Release, Target,
};
use hindsight_core::kind::Subresource;
use hindsight_core::{Cause, Object, ObjectKey, Revision, Rule, State, Uid};
use serde_json::Value;

/// A command of the collector, and the commit that made it necessary.
#[derive(Debug, Clone)]
pub struct Step {
    /// What to do.
    pub intent: Intent,
    /// Why.
    pub cause: Cause,
}

/// The release of an owner in deletion from one of its finalizers.
pub(crate) fn release(owner: &Object, finalizer: &str, basis: Basis) -> Step {
    let intent = Intent::Release(Release {
        owner: target(&owner.key, &owner.meta.uid, None),
        finalizer: finalizer.into(),
        basis,
    });
    Step {
        intent,
        cause: cause_of_mark(owner),
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

pub(crate) fn target(key: &ObjectKey, uid: &Uid, revision: Option<Revision>) -> Target {
    Target {
        key: key.clone(),
        uid: Some(uid.clone()),
        revision,
    }
}

/// A deletion of the target by this rule, in the version in which it is stored.
pub(crate) fn deletion(state: &State, target: Target, rule: Rule) -> Delete {
    let kind = state.kinds.by_resource(&target.key.resource);
    let version = kind.and_then(|kind| kind.storage_version());
    let version = version.map_or_else(|| "".into(), |version| version.name.clone());
    Delete::new(target, version, rule)
}
