//! Rules of the collectors that are not about owners: what the collector saw is looked for again, since anybody can
//! give a rule with a command.

use crate::command::Delete;
use crate::decide::Context;
use crate::event::Cause;
use crate::job::end_of_life;
use crate::object::Object;
use crate::{Rejection, Rule};
use std::sync::Arc;

/// Refuses a deletion by a rule whose ground is not there.
pub(super) fn check(
    context: &Context<'_>,
    intent: &Delete,
    object: &Object,
) -> Result<(), Rejection> {
    let (state, key) = (context.state, &object.key);
    let goes = |one: Option<&Arc<Object>>| one.is_some_and(|container| container.is_deleting());
    let (holds, what) = match intent.rule {
        Rule::NamespaceDeleted => (
            goes(state.namespace(&key.namespace)),
            "its namespace is not being deleted",
        ),
        // A policy is for instances that wait: a request may have asked meanwhile that their dependents stay.
        Rule::CrdDeleted if intent.propagation.is_some() && !object.is_waiting() => {
            (false, "it does not wait for its dependents")
        }
        Rule::CrdDeleted => (
            goes(state.definition_of(&key.resource)),
            "the definition of its kind is not being deleted",
        ),
        // Whoever deletes it before that says what happens to its dependents.
        Rule::TtlAfterFinished if object.is_deleting() => (false, "it is being deleted already"),
        Rule::TtlAfterFinished => (
            end_of_life(object).is_some_and(|end| end <= context.envelope.time),
            "it is not a finished job whose time to live is over",
        ),
        Rule::Policy => (
            matches!(context.cause(), Cause::Policy(_)),
            "the command names no policy",
        ),
        Rule::ServiceDeleted => (
            key.service()
                .is_some_and(|service| state.get(&service).is_none()),
            "it is not the Endpoints of a service that is gone",
        ),
        Rule::Requested
        | Rule::RequestedForeground
        | Rule::RequestedOrphan
        | Rule::RequestedCollection
        | Rule::OwnersAbsent
        | Rule::OwnerForeground
        | Rule::NoSuchOwner
        | Rule::OwnerInOtherNamespace => return Ok(()),
    };
    if holds {
        return Ok(());
    }
    let why = format!("{what}, as rule {} says", intent.rule.name());
    Err(Rejection::stale(key, why))
}
