//! Follows a commit back to its causes, one commit at a time.

use super::bounded_history::BoundedHistory;
use super::rule_of;
use crate::History;
use hindsight_core::command::Propagation;
use hindsight_core::object::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
use hindsight_core::{Cause, Commit, Event, Revision, Rule};
use std::collections::BTreeSet;

/// Longer chains are cut off, and have no root.
pub(super) const STEPS_MAX: usize = 10_000;

/// A commit of the chain.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) commit: Commit,
    /// Another request for the same deletion, which changed it.
    pub(super) also: Option<Commit>,
    /// Whether the step before is the collection of another object.
    took_along: bool,
}

impl Step {
    /// A step without another request.
    pub(super) const fn alone(commit: Commit) -> Self {
        Self {
            commit,
            also: None,
            took_along: false,
        }
    }
}

/// Follows the chain from a removal to the mark of the object, and from there to the cause of the mark. Passes each
/// step, with the commit of the next one, and returns the last commit: the chain is not kept, because the bodies in
/// it may be large.
pub(super) fn follow<H: History>(
    history: &BoundedHistory<'_, H>,
    start: Step,
    mut visit: impl FnMut(&Step, Option<&Commit>) -> Result<(), H::Error>,
) -> Result<Commit, H::Error> {
    let mut seen = BTreeSet::from([start.commit.revision]);
    let mut step = start;
    loop {
        let next = previous_step(history, &mut step)?;
        let next = next.filter(|next| seen.len() < STEPS_MAX && seen.insert(next.commit.revision));
        visit(&step, next.as_ref().map(|next| &next.commit))?;
        match next {
            Some(next) => step = next,
            None => return Ok(step.commit),
        }
    }
}

/// The step of a mark; `newest` is the newest commit of the object, which may be its removal.
pub(super) fn mark_step<H: History>(
    history: &BoundedHistory<'_, H>,
    mark: Commit,
    newest: &Commit,
) -> Result<Step, H::Error> {
    let also = asked_again(history, &mark, newest)?;
    Ok(Step {
        also,
        ..Step::alone(mark)
    })
}

/// The previous step. A removal leads back to the request that marked the object. If an owner's removal took
/// dependents along although that request wanted to orphan them, it leads to the later request that overruled it,
/// which may be the removal itself.
fn previous_step<H: History>(
    history: &BoundedHistory<'_, H>,
    step: &mut Step,
) -> Result<Option<Step>, H::Error> {
    let commit = &step.commit;
    if let Some(mark) = mark_before(history, commit)? {
        let overruling = if step.took_along {
            overruling(history, commit, &mark)?
        } else {
            None
        };
        let Some(request) = overruling else {
            return mark_step(history, mark, commit).map(Some);
        };
        if request.revision == commit.revision {
            step.also = Some(mark);
            return Ok(None);
        }
        return Ok(Some(Step {
            also: Some(mark),
            ..Step::alone(request)
        }));
    }
    let Cause::Commit(revision) = commit.cause else {
        return Ok(None);
    };
    let Some(cause) = history.commit(revision)? else {
        return Ok(None);
    };
    // The kind of an owner may have become known after the request.
    if rule_of(commit) != Some(Rule::OwnerForeground) || cause.propagation().is_none() {
        return Ok(Some(Step {
            took_along: cause.uid != commit.uid
                && rule_of(commit).is_some_and(Rule::is_about_owners),
            ..Step::alone(cause)
        }));
    }
    what_made_wait(history, cause, commit.revision.previous()).map(Some)
}

/// The request that made an owner wait for its dependents: a later one than the first, if the first left
/// them alone.
fn what_made_wait<H: History>(
    history: &BoundedHistory<'_, H>,
    mark: Commit,
    until: Revision,
) -> Result<Step, H::Error> {
    let begun = last_request_setting(history, &mark, until, FOREGROUND_FINALIZER)?;
    Ok(match begun {
        Some(commit) => Step {
            also: Some(mark),
            ..Step::alone(commit)
        },
        None => Step::alone(mark),
    })
}

/// The request without which the dependents of an owner that is gone would have been orphaned, not collected: it ended
/// the orphaning, and no later one began it again. It may be the removal itself.
pub(super) fn overruling<H: History>(
    history: &BoundedHistory<'_, H>,
    removal: &Commit,
    mark: &Commit,
) -> Result<Option<Commit>, H::Error> {
    let ends_orphaning = |commit: &Commit| {
        commit.cause == Cause::Request && commit.removes_finalizer(ORPHAN_FINALIZER)
    };
    if ends_orphaning(removal) {
        return Ok(Some(removal.clone()));
    }
    if mark.propagation() != Some(Propagation::Orphan) {
        return Ok(None);
    }
    let decides = |commit: &Commit| ends_orphaning(commit) || begins(commit, ORPHAN_FINALIZER);
    let newest = newest_since(history, mark, removal.revision.previous(), decides)?;
    Ok(newest.filter(ends_orphaning))
}

/// The newest request after the first that set this finalizer on the owner.
pub(super) fn last_request_setting<H: History>(
    history: &BoundedHistory<'_, H>,
    mark: &Commit,
    until: Revision,
    finalizer: &str,
) -> Result<Option<Commit>, H::Error> {
    newest_since(history, mark, until, |commit| begins(commit, finalizer))
}

/// The mark of the object that this commit removed.
pub(super) fn mark_before<H: History>(
    history: &BoundedHistory<'_, H>,
    commit: &Commit,
) -> Result<Option<Commit>, H::Error> {
    if commit.object().is_some() {
        return Ok(None);
    }
    let before = history.last(&commit.key, Some(&commit.uid), commit.revision.previous())?;
    match before.and_then(|before| before.object().and_then(|object| object.mark)) {
        Some(mark) => history.commit(mark.revision),
        None => Ok(None),
    }
}

/// The newest request after the first that changed the deletion: what becomes of the dependents, or how long the object
/// may take to stop. A request that changes nothing is not in the log. One that also removed the object is told
/// by that removal, unless it treats the dependents in another way than the first.
fn asked_again<H: History>(
    history: &BoundedHistory<'_, H>,
    mark: &Commit,
    newest: &Commit,
) -> Result<Option<Commit>, H::Error> {
    let is_request = |commit: &Commit| {
        let is_told = commit.propagation() == mark.propagation() && removes_too(commit, newest);
        commit.cause == Cause::Request && commit.propagation().is_some() && !is_told
    };
    newest_since(history, mark, newest.revision, is_request)
}

/// Whether this removal was made with the request for it.
fn removes_too(request: &Commit, removal: &Commit) -> bool {
    removal.object().is_none()
        && removal.cause == Cause::Request
        && request.revision.next() == removal.revision
        && (&request.actor, request.time) == (&removal.actor, removal.time)
}

/// The newest commit of an object after its mark, and not after `until`, that satisfies `wanted`. If the
/// object was written many times during its deletion, only the newest versions are examined; if none of
/// them does, the first request is reported.
fn newest_since<H: History>(
    history: &BoundedHistory<'_, H>,
    mark: &Commit,
    mut until: Revision,
    wanted: impl Fn(&Commit) -> bool,
) -> Result<Option<Commit>, H::Error> {
    for () in history.version_budget() {
        if until <= mark.revision {
            break;
        }
        let Some(commit) = history.last(&mark.key, Some(&mark.uid), until)? else {
            break;
        };
        if commit.revision > mark.revision && wanted(&commit) {
            return Ok(Some(commit));
        }
        until = commit.revision.previous();
    }
    Ok(None)
}

/// Whether this request makes the owner wait until its dependents are deleted or released.
fn begins(commit: &Commit, with: &str) -> bool {
    let waits = |event: &Event| matches!(event, Event::FinalizerAdded { finalizer } if &**finalizer == with);
    commit.propagation().is_some() && commit.events.iter().any(waits)
}
