//! Explains why an object was deleted: the chain of commits from its removal back to the request or
//! policy behind it.

mod bounded_history;
mod chain;
mod document;
mod owners;
#[cfg(test)]
mod tests;

use crate::History;
use bounded_history::BoundedHistory;
use chain::{Step, follow, mark_step};
pub use document::{
    Dropped, Earlier, End, EndedAs, Explanation, Fate, Link, LinkEvent, Owner, RequestDetails,
    Root, Subject,
};
use hindsight_core::{Cause, Commit, Event, Object, ObjectKey, Revision, Rule, State, Uid};
use owners::{Lookup, OwnersBudget};

/// Explains the newest deletion of this object. `subject` names it for the case that no version of its
/// body is known; `state` resolves the kinds of its owners.
pub fn explain<H: History>(
    history: &H,
    state: &State,
    key: &ObjectKey,
    uid: Option<&Uid>,
    mut subject: Subject,
) -> Result<Explanation, H::Error> {
    let history = &BoundedHistory::of(history);
    let Some(last) = history.last(key, uid, Revision::MAX)? else {
        return Ok(Explanation::new(subject, Fate::Unknown));
    };
    subject.uid = last.uid.to_string();
    name_by_body(history, state, &last, &mut subject)?;
    let Some(object) = last.object() else {
        let unexplained = Explanation::new(subject, Fate::Deleted);
        return explain_deletion(history, state, Step::alone(last), unexplained);
    };
    let Some(mark) = object.mark else {
        let mut budget = OwnersBudget::new();
        let mut newest = link(&last, None, &mut budget);
        let lookup = Lookup { history, state };
        return Ok(Explanation {
            floor: lookup.add_lost_owners(&last, object.owners(), &mut newest, &mut budget)?,
            chain: vec![newest],
            earlier: match uid {
                Some(_) => None,
                None => earlier(history, last)?,
            },
            ..Explanation::new(subject, Fate::Live)
        });
    };
    let first = match history.commit(mark.revision)? {
        Some(mark) => mark_step(history, mark, &last)?,
        None => Step::alone(last),
    };
    let unexplained = Explanation::new(subject, Fate::Deleting);
    explain_deletion(history, state, first, unexplained)
}

/// Adds the chain that begins with the removal or the mark of the object.
fn explain_deletion<H: History>(
    history: &BoundedHistory<'_, H>,
    state: &State,
    first: Step,
    unexplained: Explanation,
) -> Result<Explanation, H::Error> {
    let (rule, uid) = (rule_of(&first.commit), first.commit.uid.clone());
    let (mut chain, mut floor, mut is_own) = (Vec::new(), None, true);
    let mut budget = OwnersBudget::new();
    let last = follow(history, first, |step, next| {
        let mut link = step_link(step, next, &mut budget);
        is_own &= step.commit.uid == uid;
        if is_own {
            let lookup = Lookup { history, state };
            floor = floor.or(lookup.add_history(&step.commit, &mut link, &mut budget)?);
        }
        chain.push(link);
        Ok(())
    })?;
    Ok(Explanation {
        rule,
        root: root_of(&last),
        chain,
        floor,
        ..unexplained
    })
}

/// The root of a chain that ends with this commit, unless the cause of that is no longer in the log.
fn root_of(last: &Commit) -> Option<Root> {
    (!matches!(last.cause, Cause::Commit(_))).then(|| root(last))
}

/// Names the object by its last version: its resource may belong to another kind now. If none is kept and the kind of
/// now may have been defined after it, the kind is not known.
fn name_by_body<H: History>(
    history: &BoundedHistory<'_, H>,
    state: &State,
    last: &Commit,
    subject: &mut Subject,
) -> Result<(), H::Error> {
    let before = match last.object() {
        Some(_) => None,
        None => history.last(&last.key, Some(&last.uid), last.revision.previous())?,
    };
    let object = last.object().or_else(|| before.as_ref()?.object());
    if let Some(object) = object {
        subject.api_version = object.type_meta.api_version.to_string();
        subject.kind = object.type_meta.kind.to_string();
        return Ok(());
    }
    if let Some(definition) = state.definition_of(&last.key.resource)
        && may_be_newer(history, definition, last.revision)?
    {
        subject.api_version.clear();
        subject.kind.clear();
    }
    Ok(())
}

/// Whether this definition may be of a later kind than the one of this revision: the end of that one is kept, and found
/// unless there are too many versions.
fn may_be_newer<H: History>(
    history: &BoundedHistory<'_, H>,
    definition: &Object,
    revision: Revision,
) -> Result<bool, H::Error> {
    let mut until = Revision::MAX;
    for () in history.version_budget() {
        let Some(commit) = history.last(&definition.key, None, until)? else {
            return Ok(false);
        };
        if commit.revision <= revision {
            return Ok(false);
        }
        if commit.uid != definition.meta.uid {
            return Ok(true);
        }
        until = commit.revision.previous();
    }
    Ok(true)
}

/// The newest deletion of another object with the name of a live object.
fn earlier<H: History>(
    history: &BoundedHistory<'_, H>,
    live: Commit,
) -> Result<Option<Earlier>, H::Error> {
    let (key, uid) = (live.key.clone(), live.uid.clone());
    let mut newer = live;
    for () in history.version_budget() {
        let Some(commit) = history.last(&key, None, newer.revision.previous())? else {
            return Ok(None);
        };
        if commit.uid != uid {
            let (of, rule) = (commit.uid.to_string(), rule_of(&commit));
            let (revision, time) = (commit.revision, commit.time.to_rfc3339_micros());
            let last = follow(history, Step::alone(commit), |_, _| Ok(()))?;
            return Ok(Some(Earlier {
                uid: of,
                revision,
                time,
                rule,
                root: root_of(&last),
            }));
        }
        newer = commit;
    }
    Ok(None)
}

/// The link of a step; the next one in the chain is its cause.
fn step_link(step: &Step, next: Option<&Commit>, budget: &mut OwnersBudget) -> Link {
    let own = link(&step.commit, next, budget);
    let also = step.also.as_ref().map(|other| link(other, None, budget));
    Link {
        also: also.map(Box::new),
        ..own
    }
}

fn link(commit: &Commit, next: Option<&Commit>, budget: &mut OwnersBudget) -> Link {
    let (event, rule) = event_and_rule(commit);
    let (owners, more_owners) = owners::owners_shown(commit, next, budget);
    Link {
        revision: commit.revision,
        time: commit.time.to_rfc3339_micros(),
        rule,
        event,
        object: commit.key.to_string(),
        user: commit.actor.user.to_string(),
        verb: verb_or_policy(commit),
        request: RequestDetails::of(&commit.request),
        also: None,
        owners,
        more_owners,
        dropped: Vec::new(),
    }
}

fn root(commit: &Commit) -> Root {
    Root {
        user: commit.actor.user.to_string(),
        verb: verb_or_policy(commit),
        request: RequestDetails::of(&commit.request),
        object: commit.key.to_string(),
        revision: commit.revision,
        time: commit.time.to_rfc3339_micros(),
    }
}

fn verb_or_policy(commit: &Commit) -> String {
    match &commit.cause {
        Cause::Policy(name) => format!("policy {name}"),
        Cause::Request | Cause::Commit(_) => commit.request.verb.clone(),
    }
}

fn rule_of(commit: &Commit) -> Option<Rule> {
    event_and_rule(commit).1
}

fn event_and_rule(commit: &Commit) -> (LinkEvent, Option<Rule>) {
    let found = commit.events.iter().find_map(|event| match event {
        Event::ObjectDeleted { rule, .. } => Some((LinkEvent::Deleted, Some(*rule))),
        Event::DeletionRequested { rule, .. } => Some((LinkEvent::DeletionRequested, Some(*rule))),
        Event::ObjectCreated { .. } => Some((LinkEvent::Created, None)),
        Event::ObjectUpdated { .. }
        | Event::FinalizerAdded { .. }
        | Event::FinalizerRemoved { .. }
        | Event::OwnerAdded { .. }
        | Event::OwnerRemoved { .. }
        | Event::OwnerChanged { .. } => None,
    });
    found.unwrap_or((LinkEvent::Written, None))
}
