//! Preconditions of a deletion: the uid before the version, and the client's before those of the server
//! itself.

use crate::command::{Delete, Preconditions};
use crate::kind::{GroupResource, Kind, Shape};
use crate::object::{Object, Uid};
use crate::{Rejection, Rule};
use std::sync::Arc;

/// Whether upstream checks the preconditions of this kind before its generic storage does, with other
/// messages: it does so for namespaces and definitions. Source: `pkg/registry/core/namespace/storage`, and
/// the same of `customresourcedefinition`.
fn is_checked_before_storage(kind: &Kind) -> bool {
    matches!(kind.strategy.shape, Shape::Namespace | Shape::Definition)
}

fn check_before_storage(asked: &Preconditions, object: &Object) -> Result<(), Rejection> {
    let conflict = |what: &str, sent: &str, found: &str| {
        let why = format!(
            "Precondition failed: {what} in precondition: {sent}, {what} in object meta: {found}"
        );
        Rejection::conflict(&object.key, why)
    };
    let uid = object.meta.uid.as_str();
    let sent = asked.uid.as_ref().map(Uid::as_str);
    if let Some(sent) = sent.filter(|sent| *sent != uid) {
        return Err(conflict("UID", sent, uid));
    }
    match other_than(asked.resource_version.as_deref(), object) {
        Some((sent, version)) => Err(conflict("ResourceVersion", sent, &version)),
        None => Ok(()),
    }
}

/// The version that was sent, and that of the object, if they differ.
fn other_than<'s>(sent: Option<&'s str>, object: &Object) -> Option<(&'s str, String)> {
    let sent = sent?;
    let version = object.revision.to_string();
    (sent != version).then_some((sent, version))
}

/// Refuses if the object is not the one that is meant. The message names the kind, as upstream's early
/// check does.
pub(in crate::decide) fn check(
    intent: &Delete,
    object: &Object,
    kind: &Kind,
) -> Result<(), Rejection> {
    let conflict = |(what, change, sent, found): (&str, &str, &str, &str)| Rejection::Conflict {
        resource: GroupResource {
            group: Arc::clone(&kind.resource.group),
            resource: Arc::clone(&kind.kind),
        },
        name: Arc::clone(&object.key.name),
        reason: format!(
            "the {what} in the precondition ({sent}) does not match the {what} in record \
             ({found}). The object might have been {change}"
        ),
    };
    let uid = object.meta.uid.as_str();
    let other_uid = |sent| conflict(("UID", "deleted and then recreated", sent, uid));
    let other_version =
        |sent: &str, found: &str| conflict(("ResourceVersion", "modified", sent, found));
    let asked = &intent.preconditions;
    if is_checked_before_storage(kind) {
        check_before_storage(asked, object)?;
    }
    if let Some(sent) = asked.uid.as_ref().filter(|sent| sent.as_str() != uid) {
        return Err(other_uid(sent.as_str()));
    }
    if let Some((sent, version)) = other_than(asked.resource_version.as_deref(), object) {
        return Err(other_version(sent, &version));
    }
    let seen = &intent.target;
    if let Some(seen) = seen.uid.as_ref().filter(|seen| seen.as_str() != uid) {
        if intent.rule != Rule::RequestedCollection {
            return Err(other_uid(seen.as_str()));
        }
        // Nobody asked for it by name: the object that was listed is gone, whatever has its name now.
        return Err(Rejection::not_found(&object.key));
    }
    match seen.revision.filter(|seen| *seen != object.revision) {
        Some(seen) => Err(other_version(
            &seen.to_string(),
            &object.revision.to_string(),
        )),
        None => Ok(()),
    }
}
