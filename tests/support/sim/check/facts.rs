//! Checks that hold for every commit by itself, given the state before it.

use super::{Checked, ensure};
use crate::sim::clients::Clients;
use crate::sim::history::History;
use crate::sim::trace::Trace;
use hindsight_core::{Cause, Commit, Event, Intent, Object, Rule, State, Uid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Walks the commits in the log, each with the state before it.
pub fn check(history: &History, clients: &Clients, trace: &mut Trace) -> Checked {
    let mut removed: BTreeSet<Uid> = BTreeSet::new();
    for (commit, before) in history.kept_with_states() {
        let previous = before.get(&commit.key).cloned();
        if let Some(rule) = rule(commit) {
            trace.count(rule.name(), 1);
        }
        lives_once(commit, previous.as_deref())?;
        has_cause(commit)?;
        time_is_over(commit, previous.as_deref())?;
        finalizers_hold(commit, previous.as_deref(), clients)?;
        namespace_is_there(commit, before, previous.as_ref())?;
        if commit.object().is_none() {
            ensure(
                "an identity goes once",
                removed.insert(commit.uid.clone()),
                || {
                    format!(
                        "{} is removed a second time at {}",
                        commit.uid, commit.revision
                    )
                },
            )?;
        }
    }
    Ok(())
}

/// Checks that an object is created only where none exists, changed and removed only where it exists,
/// and keeps its UID.
fn lives_once(commit: &Commit, previous: Option<&Object>) -> Checked {
    let uid = previous.map(|object| &object.meta.uid);
    let right = match commit.events.last() {
        Some(Event::ObjectCreated { .. }) => uid.is_none(),
        Some(Event::ObjectUpdated { object }) => {
            uid == Some(&commit.uid) && object.meta.uid == commit.uid
        }
        Some(Event::ObjectDeleted { .. }) => uid == Some(&commit.uid),
        _ => false,
    };
    ensure("an object lives once", right, || {
        format!(
            "{} at {} follows {uid:?}: {commit:?}",
            commit.key, commit.revision
        )
    })
}

/// Checks that a cause precedes what it causes, so every chain of causes ends in a request or a
/// policy.
fn has_cause(commit: &Commit) -> Checked {
    let earlier = match &commit.cause {
        Cause::Commit(cause) => *cause < commit.revision && cause.0 > 0,
        Cause::Request | Cause::Policy(_) => true,
    };
    ensure("every commit has a cause", earlier, || {
        format!("{} names {:?}", commit.revision, commit.cause)
    })
}

/// Checks that no job is removed before its TTL, by the clock of the command that removes it.
fn time_is_over(commit: &Commit, previous: Option<&Object>) -> Checked {
    let Some(job) = previous.filter(|_| rule(commit) == Some(Rule::TtlAfterFinished)) else {
        return Ok(());
    };
    let over = super::collector::ends(job).is_some_and(|ends| ends <= commit.time);
    ensure(
        "no job goes before its time",
        over || job.is_deleting(),
        || format!("{} at {:?}", commit.key, commit.time),
    )
}

/// The rule by which the commit deletes its object, if it does.
pub(super) fn rule(commit: &Commit) -> Option<Rule> {
    commit.events.iter().find_map(|event| match event {
        Event::DeletionRequested { rule, .. } | Event::ObjectDeleted { rule, .. } => Some(*rule),
        _ => None,
    })
}

/// Checks that nothing is removed while a client's finalizer holds it, unless the request itself
/// removes the finalizer, and that an object that is being deleted stays so.
fn finalizers_hold(commit: &Commit, previous: Option<&Object>, clients: &Clients) -> Checked {
    let Some(previous) = previous else {
        return Ok(());
    };
    let number: Option<u64> = commit.request.uri.parse().ok();
    let operation = number.and_then(|number| clients.operations.get(&number));
    let releases = operation
        .is_some_and(|one| matches!(one.command.intent, Intent::Patch(_) | Intent::Update(_)));
    let held = previous.meta.finalizers.iter().any(|one| one.contains('/'));
    let broken = match commit.object() {
        None => held && !releases,
        Some(object) => previous.is_deleting() && !object.is_deleting(),
    };
    ensure("finalizers hold", !broken, || {
        format!("{} at {}: {commit:?}", commit.key, commit.revision)
    })
}

/// Checks that nothing is created in a namespace that does not exist or is being deleted.
fn namespace_is_there(commit: &Commit, before: &State, previous: Option<&Arc<Object>>) -> Checked {
    let namespace = &commit.key.namespace;
    let is_new = previous.is_none() && commit.object().is_some();
    if namespace.is_empty() || !is_new || &*commit.key.resource.resource == "events" {
        return Ok(());
    }
    let namespaces = hindsight_core::GroupResource::new("", "namespaces");
    let key = hindsight_core::ObjectKey::new(namespaces, "", namespace);
    let live = before.get(&key).is_some_and(|object| !object.is_deleting());
    ensure("namespaces hold", live, || {
        format!(
            "{} is made at {} in no namespace",
            commit.key, commit.revision
        )
    })
}
