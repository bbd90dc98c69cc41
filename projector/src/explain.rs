//! Explains why an object was deleted: the chain of commits from its removal back to the request or
//! policy behind it.
//!
//! An [`Explanation`] is also the document that `hindsight why -o json` prints and `/hindsight/v1/why` serves,
//! so its members keep their names; `docs/time-travel.md` describes them. A second set of types at the edge
//! would repeat each member and say nothing else.

mod bounded_history;
mod chain;
mod owners;
#[cfg(test)]
mod tests;

use crate::History;
use bounded_history::BoundedHistory;
use chain::{Step, follow, marked};
use hindsight_core::{Cause, Commit, Event, ObjectKey, Request, Revision, Rule, State, Uid};
pub use owners::{Dropped, End, EndedAs, Owner};
use owners::{Lookup, Room};
use serde::{Deserialize, Serialize};

/// The answer to "why was this deleted?".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The object in question.
    pub object: Subject,
    /// What became of it.
    pub state: Fate,
    /// The rule by which it was deleted.
    pub rule: Option<Rule>,
    /// The end of the chain; `None` if the cause of its last link is no longer in the log.
    pub root: Option<Root>,
    /// The chain, from the object back to the root.
    pub chain: Vec<Link>,
    /// For a live object: the newest deletion of another object that had its name.
    pub earlier: Option<Earlier>,
    /// Set if earlier owners of the object may be missing because part of the log of its time was
    /// dropped: the revision from which on everything is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Revision>,
}

impl Explanation {
    /// Without a chain.
    const fn new(object: Subject, state: Fate) -> Self {
        Self {
            object,
            state,
            rule: None,
            root: None,
            chain: Vec::new(),
            earlier: None,
            floor: None,
        }
    }
}

/// What has become of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It is gone.
    Deleted,
    /// Its deletion was requested, and waits for something.
    Deleting,
    /// It exists.
    Live,
    /// There never was an object of this name.
    Unknown,
}

impl Fate {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Deleting => "deleting",
            Self::Live => "live",
            Self::Unknown => "unknown",
        }
    }
}

/// What a commit did, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkEvent {
    /// Removed the object.
    #[serde(rename = "deleted")]
    Deleted,
    /// Marked it for deletion.
    #[serde(rename = "deletion requested")]
    DeletionRequested,
    /// Created it.
    #[serde(rename = "created")]
    Created,
    /// Anything else.
    #[serde(rename = "written")]
    Written,
}

impl LinkEvent {
    /// The name that users see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::DeletionRequested => "deletion requested",
            Self::Created => "created",
            Self::Written => "written",
        }
    }
}

/// A deleted object whose name another object has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// Its uid.
    pub uid: String,
    /// The revision of its deletion.
    pub revision: Revision,
    /// The time of its deletion.
    pub time: String,
    /// The rule by which it was deleted.
    pub rule: Option<Rule>,
    /// The end of its chain of causes; `None` if the cause of the last link is no longer in the log.
    pub root: Option<Root>,
}

/// The names that identify an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The uid; empty if there is none.
    pub uid: String,
}

/// The request, or the policy, from which everything followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The user who made it.
    pub user: String,
    /// The verb of the request, or the policy.
    pub verb: String,
    /// The rest of the request.
    #[serde(flatten)]
    pub request: RequestDetails,
    /// The object that it was about.
    pub object: String,
    /// Its revision.
    pub revision: Revision,
    /// Its time.
    pub time: String,
}

/// What is recorded of a request beside its verb.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestDetails {
    /// The subresource that it was sent to, such as `eviction`; empty for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The program that sent it, as it named itself; empty if it did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
}

impl RequestDetails {
    /// Those of a request.
    pub fn of(request: &Request) -> Self {
        Self {
            subresource: request.subresource().to_owned(),
            user_agent: request.user_agent.clone(),
        }
    }
}

/// One commit of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its revision.
    pub revision: Revision,
    /// Its time.
    pub time: String,
    /// The rule that it followed; `None` for other writes.
    pub rule: Option<Rule>,
    /// What it did.
    pub event: LinkEvent,
    /// The object that it changed.
    pub object: String,
    /// The user who made it.
    pub user: String,
    /// The verb of the request, or the policy; empty for the other work of the collectors.
    pub verb: String,
    /// The rest of the request.
    #[serde(flatten)]
    pub request: RequestDetails,
    /// Another request, earlier or later, for the deletion that this one requests, if the two asked for
    /// different treatment of the dependents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<Box<Self>>,
    /// The owners, if several were considered. The next link of the chain is what became of the last of
    /// them, or what came later and made the kind of one of them known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Owner>,
    /// How many more were considered: of many only the first are named.
    #[serde(default, rename = "moreOwners", skip_serializing_if = "is_zero")]
    pub more_owners: usize,
    /// For the object in question, if it was deleted because of its owners: the owners that it had
    /// before, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is called so when a link is serialized"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

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
    name_by_body(history, &last, &mut subject)?;
    let Some(object) = last.object() else {
        let unexplained = Explanation::new(subject, Fate::Deleted);
        return explain_deletion(history, state, Step::alone(last), unexplained);
    };
    let Some(mark) = object.mark else {
        return Ok(Explanation {
            chain: vec![link(&last, None, &mut Room::new())],
            earlier: match uid {
                Some(_) => None,
                None => earlier(history, last)?,
            },
            ..Explanation::new(subject, Fate::Live)
        });
    };
    let first = match history.commit(mark.revision)? {
        Some(mark) => marked(history, mark, last.revision)?,
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
    let mut room = Room::new();
    let last = follow(history, first, |step, next| {
        let mut link = step_link(step, next, &mut room);
        is_own &= step.commit.uid == uid;
        if is_own {
            let lookup = Lookup { history, state };
            floor = floor.or(lookup.add_history(&step.commit, &mut link, &mut room)?);
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

/// Names the object by its last version: its resource may belong to another kind now.
fn name_by_body<H: History>(
    history: &BoundedHistory<'_, H>,
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
    }
    Ok(())
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
fn step_link(step: &Step, next: Option<&Commit>, room: &mut Room) -> Link {
    let own = link(&step.commit, next, room);
    let also = step.also.as_ref().map(|other| link(other, None, room));
    Link {
        also: also.map(Box::new),
        ..own
    }
}

fn link(commit: &Commit, next: Option<&Commit>, room: &mut Room) -> Link {
    let (event, rule) = event_and_rule(commit);
    let (owners, more_owners) = owners::named(commit, next, room);
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
