//! Format 1: bincode of plain structs. Object bodies are JSON bytes; each origin (actor and request) is
//! stored once a frame.

use super::codes::{class_code, class_of, propagation_code, propagation_of, rule_code, rule_of};
use super::{Undecodable, read, write};
use crate::Error;
use hindsight_core::event::OwnerFinding;
use hindsight_core::object::{Mark, Name};
use hindsight_core::{
    Actor, Cause, Commit, Event, GroupResource, Object, ObjectKey, OwnerReference, Request,
    Revision, Time, Uid,
};
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct FrameV1<'a> {
    #[serde(borrow)]
    origins: Vec<OriginV1<'a>>,
    #[serde(borrow)]
    commits: Vec<CommitV1<'a>>,
}

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct OriginV1<'a> {
    user: &'a str,
    uid: &'a str,
    #[serde(borrow)]
    groups: Vec<&'a str>,
    verb: &'a str,
    uri: &'a str,
    user_agent: &'a str,
    /// The ID of the request: never filled, and ignored.
    request: &'a str,
}

#[derive(Serialize, Deserialize)]
struct CommitV1<'a> {
    time_micros: i64,
    origin: u32,
    #[serde(borrow)]
    cause: CauseV1<'a>,
    #[serde(borrow)]
    key: [&'a str; 4],
    uid: &'a str,
    #[serde(borrow)]
    events: Vec<EventV1<'a>>,
}

#[derive(Serialize, Deserialize)]
enum CauseV1<'a> {
    Request,
    Commit(u64),
    Policy(&'a str),
}

#[derive(Serialize, Deserialize)]
enum EventV1<'a> {
    Created {
        #[serde(borrow)]
        body: &'a Bytes,
    },
    Updated {
        #[serde(borrow)]
        body: &'a Bytes,
        mark: Option<(u64, u8)>,
    },
    FinalizerAdded(&'a str),
    FinalizerRemoved(&'a str),
    OwnerAdded(#[serde(borrow)] OwnerV1<'a>),
    OwnerRemoved(#[serde(borrow)] OwnerV1<'a>),
    OwnerChanged(#[serde(borrow)] OwnerV1<'a>, #[serde(borrow)] OwnerV1<'a>),
    DeletionRequested {
        rule: u8,
        propagation: u8,
        grace: Option<i64>,
        #[serde(borrow)]
        owners: Vec<FindingV1<'a>>,
        decided_at: u64,
    },
    Deleted {
        rule: u8,
        #[serde(borrow)]
        owners: Vec<FindingV1<'a>>,
        decided_at: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct OwnerV1<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    uid: &'a str,
    controller: Option<bool>,
    blocks: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct FindingV1<'a> {
    #[serde(borrow)]
    owner: OwnerV1<'a>,
    class: u8,
    /// When the owner was removed: never filled, and ignored.
    since: Option<u64>,
}

/// Appends the payload of a frame to `payload`.
pub(crate) fn encode(commits: &[&Commit], payload: &mut Vec<u8>) -> Result<(), Error> {
    let mut origins = Origins::default();
    let numbered = commits.iter();
    let stored = numbered.map(|commit| commit_of(commit, origins.number(commit)));
    let commits = stored.collect();
    let frame = FrameV1 {
        origins: origins.list,
        commits,
    };
    write(&frame, payload).map_err(|error| Error::defect("encoding a record", error))
}

/// Decodes the commits of a frame, with `revisions` as their numbers. Every byte must be used.
pub(crate) fn decode(
    first: Revision,
    payload: &[u8],
    revisions: impl IntoIterator<Item = Revision>,
) -> Result<Vec<Commit>, Error> {
    let corrupt = |error: Undecodable| Error::corrupt(first, error);
    let frame: FrameV1<'_> = read(payload).map_err(corrupt)?;
    let origins: Vec<_> = frame.origins.iter().map(origin_from).collect();
    let mut names = Names::default();
    let count = frame.commits.len();
    let mut commits = Vec::with_capacity(count);
    for (stored, revision) in frame.commits.into_iter().zip(revisions) {
        let index = usize::try_from(stored.origin).unwrap_or(usize::MAX);
        let origin = origins.get(index).ok_or(Undecodable::Origin);
        let commit = commit_from(stored, origin.map_err(corrupt)?, &mut names, revision);
        commits.push(commit.map_err(|error| Error::corrupt(revision, error))?);
    }
    if commits.len() != count {
        return Err(corrupt(Undecodable::Count));
    }
    Ok(commits)
}

/// Groups, resources and namespaces of a frame: equal ones share one allocation.
#[derive(Default)]
struct Names<'a>(BTreeMap<&'a str, Name>);

impl<'a> Names<'a> {
    fn share(&mut self, text: &'a str) -> Name {
        Arc::clone(self.0.entry(text).or_insert_with(|| text.into()))
    }
}

/// The origins of a frame, each once, in the order of their first commits.
#[derive(Default)]
struct Origins<'a> {
    list: Vec<OriginV1<'a>>,
    numbers: BTreeMap<OriginV1<'a>, u32>,
    /// The commit before: consecutive commits of one request share its actor and request.
    last: Option<(&'a Commit, u32)>,
}

impl<'a> Origins<'a> {
    fn number(&mut self, commit: &'a Commit) -> u32 {
        if let Some((last, number)) = self.last
            && Arc::ptr_eq(&last.actor, &commit.actor)
            && Arc::ptr_eq(&last.request, &commit.request)
        {
            return number;
        }
        let origin = origin_of(commit);
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(origin).or_insert_with_key(|origin| {
            self.list.push(origin.clone());
            next
        });
        self.last = Some((commit, number));
        number
    }
}

fn origin_of(commit: &Commit) -> OriginV1<'_> {
    OriginV1 {
        user: &commit.actor.user,
        uid: &commit.actor.uid,
        groups: commit.actor.groups.iter().map(|group| &**group).collect(),
        verb: &commit.request.verb,
        uri: &commit.request.uri,
        user_agent: &commit.request.user_agent,
        request: "",
    }
}

fn origin_from(origin: &OriginV1<'_>) -> (Arc<Actor>, Arc<Request>) {
    let actor = Actor {
        user: origin.user.into(),
        uid: origin.uid.into(),
        groups: origin.groups.iter().map(|group| (*group).into()).collect(),
    };
    let request = Request {
        verb: origin.verb.to_owned(),
        uri: origin.uri.to_owned(),
        user_agent: origin.user_agent.to_owned(),
    };
    (Arc::new(actor), Arc::new(request))
}

fn commit_of(commit: &Commit, origin: u32) -> CommitV1<'_> {
    CommitV1 {
        time_micros: commit.time.0,
        origin,
        cause: match &commit.cause {
            Cause::Request => CauseV1::Request,
            Cause::Commit(revision) => CauseV1::Commit(revision.0),
            Cause::Policy(name) => CauseV1::Policy(name),
        },
        key: commit.key.parts().map(|part| &**part),
        uid: commit.uid.as_str(),
        events: commit.events.iter().map(event_of).collect(),
    }
}

fn commit_from<'a>(
    stored: CommitV1<'a>,
    origin: &(Arc<Actor>, Arc<Request>),
    names: &mut Names<'a>,
    revision: Revision,
) -> Result<Commit, Undecodable> {
    let [group, resource, namespace, name] = stored.key;
    let key = ObjectKey {
        resource: GroupResource {
            group: names.share(group),
            resource: names.share(resource),
        },
        namespace: names.share(namespace),
        name: name.into(),
    };
    let read = |event| event_from(event, &key, revision);
    let events = stored
        .events
        .into_iter()
        .map(read)
        .collect::<Result<Vec<_>, _>>()?;
    if !events.iter().any(Event::is_outcome) {
        return Err(Undecodable::Outcome);
    }
    Ok(Commit {
        revision,
        time: Time(stored.time_micros),
        actor: Arc::clone(&origin.0),
        request: Arc::clone(&origin.1),
        cause: match stored.cause {
            CauseV1::Request => Cause::Request,
            CauseV1::Commit(revision) => Cause::Commit(Revision(revision)),
            CauseV1::Policy(name) => Cause::Policy(name.into()),
        },
        uid: Uid::from(stored.uid),
        key,
        events,
    })
}

fn event_of(event: &Event) -> EventV1<'_> {
    match event {
        Event::ObjectCreated { object } => EventV1::Created {
            body: Bytes::new(&object.body),
        },
        Event::ObjectUpdated { object } => EventV1::Updated {
            body: Bytes::new(&object.body),
            mark: object
                .mark
                .map(|mark| (mark.revision.0, rule_code(mark.rule))),
        },
        Event::FinalizerAdded { finalizer } => EventV1::FinalizerAdded(finalizer),
        Event::FinalizerRemoved { finalizer } => EventV1::FinalizerRemoved(finalizer),
        Event::OwnerAdded { owner } => EventV1::OwnerAdded(owner_of(owner)),
        Event::OwnerRemoved { owner } => EventV1::OwnerRemoved(owner_of(owner)),
        Event::OwnerChanged { from, to } => EventV1::OwnerChanged(owner_of(from), owner_of(to)),
        Event::DeletionRequested {
            rule,
            propagation,
            grace_period_seconds,
            owners,
            decided_at,
        } => EventV1::DeletionRequested {
            rule: rule_code(*rule),
            propagation: propagation_code(*propagation),
            grace: *grace_period_seconds,
            owners: owners.iter().map(finding_of).collect(),
            decided_at: decided_at.0,
        },
        Event::ObjectDeleted {
            rule,
            owners,
            decided_at,
        } => EventV1::Deleted {
            rule: rule_code(*rule),
            owners: owners.iter().map(finding_of).collect(),
            decided_at: decided_at.0,
        },
    }
}

fn event_from(
    event: EventV1<'_>,
    key: &ObjectKey,
    revision: Revision,
) -> Result<Event, Undecodable> {
    let object = |body: &Bytes, mark: Option<Mark>| {
        let body = bytes::Bytes::copy_from_slice(body);
        Object::from_body(key.clone(), body, revision, mark).map(Arc::new)
    };
    Ok(match event {
        EventV1::Created { body } => Event::ObjectCreated {
            object: object(body, None)?,
        },
        EventV1::Updated { body, mark: None } => Event::ObjectUpdated {
            object: object(body, None)?,
        },
        EventV1::Updated {
            body,
            mark: Some((at, rule)),
        } => Event::ObjectUpdated {
            object: object(body, Some(mark_from(at, rule)?))?,
        },
        EventV1::FinalizerAdded(name) => Event::FinalizerAdded {
            finalizer: name.into(),
        },
        EventV1::FinalizerRemoved(name) => Event::FinalizerRemoved {
            finalizer: name.into(),
        },
        EventV1::OwnerAdded(owner) => Event::OwnerAdded {
            owner: owner_from(owner),
        },
        EventV1::OwnerRemoved(owner) => Event::OwnerRemoved {
            owner: owner_from(owner),
        },
        EventV1::OwnerChanged(from, to) => Event::OwnerChanged {
            from: owner_from(from),
            to: owner_from(to),
        },
        EventV1::DeletionRequested {
            rule,
            propagation,
            grace,
            owners,
            decided_at,
        } => Event::DeletionRequested {
            rule: rule_of(rule)?,
            propagation: propagation_of(propagation)?,
            grace_period_seconds: grace,
            owners: owners
                .into_iter()
                .map(finding_from)
                .collect::<Result<_, _>>()?,
            decided_at: Revision(decided_at),
        },
        EventV1::Deleted {
            rule,
            owners,
            decided_at,
        } => Event::ObjectDeleted {
            rule: rule_of(rule)?,
            owners: owners
                .into_iter()
                .map(finding_from)
                .collect::<Result<_, _>>()?,
            decided_at: Revision(decided_at),
        },
    })
}

pub(super) fn mark_from(at: u64, rule: u8) -> Result<Mark, Undecodable> {
    Ok(Mark {
        revision: Revision(at),
        rule: rule_of(rule)?,
    })
}

fn owner_of(owner: &OwnerReference) -> OwnerV1<'_> {
    OwnerV1 {
        api_version: &owner.api_version,
        kind: &owner.kind,
        name: &owner.name,
        uid: owner.uid.as_str(),
        controller: owner.controller,
        blocks: owner.block_owner_deletion,
    }
}

fn owner_from(owner: OwnerV1<'_>) -> OwnerReference {
    OwnerReference {
        api_version: owner.api_version.into(),
        kind: owner.kind.into(),
        name: owner.name.into(),
        uid: Uid::from(owner.uid),
        controller: owner.controller,
        block_owner_deletion: owner.blocks,
    }
}

fn finding_of(finding: &OwnerFinding) -> FindingV1<'_> {
    FindingV1 {
        owner: owner_of(&finding.owner),
        class: class_code(finding.class),
        since: None,
    }
}

fn finding_from(finding: FindingV1<'_>) -> Result<OwnerFinding, Undecodable> {
    Ok(OwnerFinding {
        owner: owner_from(finding.owner),
        class: class_of(finding.class)?,
    })
}
