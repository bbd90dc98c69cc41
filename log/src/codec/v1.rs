//! Format 1: bincode of plain structs; bodies are JSON bytes; who asked is stored once a frame.

use crate::Error;
use bytes::Bytes;
use hindsight_core::command::Propagation;
use hindsight_core::event::{OwnerClass, OwnerFinding};
use hindsight_core::object::Mark;
use hindsight_core::{
    Actor, Cause, Commit, Event, GroupResource, Object, ObjectKey, OwnerReference, Request,
    Revision, Rule, Time, Uid,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct FrameV1 {
    origins: Vec<OriginV1>,
    commits: Vec<CommitV1>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct OriginV1 {
    user: String,
    uid: String,
    groups: Vec<String>,
    verb: String,
    uri: String,
    user_agent: String,
    request: String,
}

#[derive(Serialize, Deserialize)]
struct CommitV1 {
    time_micros: i64,
    origin: u32,
    cause: CauseV1,
    key: [String; 4],
    uid: String,
    events: Vec<EventV1>,
}

#[derive(Serialize, Deserialize)]
enum CauseV1 {
    Request,
    Commit(u64),
    Policy(String),
}

#[derive(Serialize, Deserialize)]
enum EventV1 {
    Created {
        body: Vec<u8>,
    },
    Updated {
        body: Vec<u8>,
        mark: Option<(u64, u8)>,
    },
    FinalizerAdded(String),
    FinalizerRemoved(String),
    OwnerAdded(OwnerV1),
    OwnerRemoved(OwnerV1),
    OwnerChanged(OwnerV1, OwnerV1),
    DeletionRequested {
        rule: u8,
        propagation: u8,
        grace: Option<i64>,
        owners: Vec<FindingV1>,
        decided_at: u64,
    },
    Deleted {
        rule: u8,
        owners: Vec<FindingV1>,
        decided_at: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct OwnerV1 {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    controller: Option<bool>,
    blocks: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct FindingV1 {
    owner: OwnerV1,
    class: u8,
    since: Option<u64>,
}

const RULES: [Rule; 12] = [
    Rule::Requested,
    Rule::RequestedForeground,
    Rule::RequestedOrphan,
    Rule::RequestedCollection,
    Rule::OwnersAbsent,
    Rule::OwnerForeground,
    Rule::OwnerNeverExisted,
    Rule::OwnerInOtherNamespace,
    Rule::NamespaceDeleted,
    Rule::CrdDeleted,
    Rule::TtlAfterFinished,
    Rule::Policy,
];
const PROPAGATIONS: [Propagation; 3] = [
    Propagation::Background,
    Propagation::Foreground,
    Propagation::Orphan,
];
const CLASSES: [OwnerClass; 4] = [
    OwnerClass::Solid,
    OwnerClass::Dangling,
    OwnerClass::Waiting,
    OwnerClass::Unresolvable,
];

/// The payload of a frame.
pub(crate) fn encode(commits: &[Arc<Commit>]) -> Result<Vec<u8>, Error> {
    let mut origins: Vec<OriginV1> = Vec::new();
    let mut stored = Vec::with_capacity(commits.len());
    for commit in commits {
        let origin = origin_of(commit);
        let index = origins
            .iter()
            .position(|one| *one == origin)
            .unwrap_or_else(|| {
                origins.push(origin);
                origins.len() - 1
            });
        stored.push(commit_of(commit, u32::try_from(index).unwrap_or(u32::MAX)));
    }
    let frame = FrameV1 {
        origins,
        commits: stored,
    };
    bincode::serde::encode_to_vec(&frame, bincode::config::legacy()).map_err(|error| {
        Error::Engine {
            what: "encoding a record",
            reason: error.to_string(),
        }
    })
}

/// The commits of a frame; every byte must be used.
pub(crate) fn decode(first: Revision, payload: &[u8]) -> Result<Vec<Commit>, Error> {
    let corrupt = |reason: String| Error::corrupt(first, reason);
    let (frame, used): (FrameV1, usize) =
        bincode::serde::decode_from_slice(payload, bincode::config::legacy())
            .map_err(|error| corrupt(error.to_string()))?;
    if used != payload.len() {
        return Err(corrupt("bytes are left over".into()));
    }
    let origins: Vec<_> = frame.origins.into_iter().map(origin_from).collect();
    let mut revision = first;
    let mut commits = Vec::with_capacity(frame.commits.len());
    for stored in frame.commits {
        let index = usize::try_from(stored.origin).unwrap_or(usize::MAX);
        let origin = origins
            .get(index)
            .ok_or_else(|| corrupt("an origin is missing".into()))?;
        commits.push(commit_from(stored, origin, revision).ok_or_else(|| {
            Error::corrupt(revision, "a fact in it cannot be read by this release")
        })?);
        revision = revision.next();
    }
    Ok(commits)
}

fn origin_of(commit: &Commit) -> OriginV1 {
    OriginV1 {
        user: commit.actor.user.to_string(),
        uid: commit.actor.uid.to_string(),
        groups: commit
            .actor
            .groups
            .iter()
            .map(ToString::to_string)
            .collect(),
        verb: commit.request.verb.clone(),
        uri: commit.request.uri.clone(),
        user_agent: commit.request.user_agent.clone(),
        request: commit.request.id.clone(),
    }
}

fn origin_from(origin: OriginV1) -> (Arc<Actor>, Arc<Request>) {
    let actor = Actor {
        user: origin.user.into(),
        uid: origin.uid.into(),
        groups: origin.groups.into_iter().map(Into::into).collect(),
    };
    let request = Request {
        verb: origin.verb,
        uri: origin.uri,
        user_agent: origin.user_agent,
        id: origin.request,
    };
    (Arc::new(actor), Arc::new(request))
}

fn commit_of(commit: &Commit, origin: u32) -> CommitV1 {
    let key = &commit.key;
    CommitV1 {
        time_micros: commit.time.0,
        origin,
        cause: match &commit.cause {
            Cause::Request => CauseV1::Request,
            Cause::Commit(revision) => CauseV1::Commit(revision.0),
            Cause::Policy(name) => CauseV1::Policy(name.to_string()),
        },
        key: [
            key.resource.group.to_string(),
            key.resource.resource.to_string(),
            key.namespace.to_string(),
            key.name.to_string(),
        ],
        uid: commit.uid.to_string(),
        events: commit.events.iter().map(event_of).collect(),
    }
}

fn commit_from(
    stored: CommitV1,
    origin: &(Arc<Actor>, Arc<Request>),
    revision: Revision,
) -> Option<Commit> {
    let [group, resource, namespace, name] = stored.key;
    let key = ObjectKey::new(GroupResource::new(&group, &resource), &namespace, &name);
    let read = |event| event_from(event, &key, revision);
    let events = stored
        .events
        .into_iter()
        .map(read)
        .collect::<Option<Vec<_>>>()?;
    Some(Commit {
        revision,
        time: Time(stored.time_micros),
        actor: Arc::clone(&origin.0),
        request: Arc::clone(&origin.1),
        cause: match stored.cause {
            CauseV1::Request => Cause::Request,
            CauseV1::Commit(revision) => Cause::Commit(Revision(revision)),
            CauseV1::Policy(name) => Cause::Policy(name.into()),
        },
        uid: Uid::from(stored.uid.as_str()),
        key,
        events,
    })
}

fn event_of(event: &Event) -> EventV1 {
    match event {
        Event::ObjectCreated { object } => EventV1::Created {
            body: object.body.to_vec(),
        },
        Event::ObjectUpdated { object } => EventV1::Updated {
            body: object.body.to_vec(),
            mark: object
                .mark
                .map(|mark| (mark.revision.0, code(&RULES, mark.rule))),
        },
        Event::FinalizerAdded { finalizer } => EventV1::FinalizerAdded(finalizer.to_string()),
        Event::FinalizerRemoved { finalizer } => EventV1::FinalizerRemoved(finalizer.to_string()),
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
            rule: code(&RULES, *rule),
            propagation: code(&PROPAGATIONS, *propagation),
            grace: *grace_period_seconds,
            owners: owners.iter().map(finding_of).collect(),
            decided_at: decided_at.0,
        },
        Event::ObjectDeleted {
            rule,
            owners,
            decided_at,
        } => EventV1::Deleted {
            rule: code(&RULES, *rule),
            owners: owners.iter().map(finding_of).collect(),
            decided_at: decided_at.0,
        },
    }
}

fn event_from(event: EventV1, key: &ObjectKey, revision: Revision) -> Option<Event> {
    let object = |body: Vec<u8>, mark: Option<Mark>| {
        Object::from_body(key.clone(), Bytes::from(body), revision, mark)
            .ok()
            .map(Arc::new)
    };
    Some(match event {
        EventV1::Created { body } => Event::ObjectCreated {
            object: object(body, None)?,
        },
        EventV1::Updated { body, mark } => {
            let mark = match mark {
                Some((revision, rule)) => Some(Mark {
                    revision: Revision(revision),
                    rule: value(&RULES, rule)?,
                }),
                None => None,
            };
            Event::ObjectUpdated {
                object: object(body, mark)?,
            }
        }
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
            rule: value(&RULES, rule)?,
            propagation: value(&PROPAGATIONS, propagation)?,
            grace_period_seconds: grace,
            owners: owners
                .into_iter()
                .map(finding_from)
                .collect::<Option<_>>()?,
            decided_at: Revision(decided_at),
        },
        EventV1::Deleted {
            rule,
            owners,
            decided_at,
        } => Event::ObjectDeleted {
            rule: value(&RULES, rule)?,
            owners: owners
                .into_iter()
                .map(finding_from)
                .collect::<Option<_>>()?,
            decided_at: Revision(decided_at),
        },
    })
}

fn owner_of(owner: &OwnerReference) -> OwnerV1 {
    OwnerV1 {
        api_version: owner.api_version.to_string(),
        kind: owner.kind.to_string(),
        name: owner.name.to_string(),
        uid: owner.uid.to_string(),
        controller: owner.controller,
        blocks: owner.block_owner_deletion,
    }
}

fn owner_from(owner: OwnerV1) -> OwnerReference {
    OwnerReference {
        api_version: owner.api_version.into(),
        kind: owner.kind.into(),
        name: owner.name.into(),
        uid: Uid::from(owner.uid.as_str()),
        controller: owner.controller,
        block_owner_deletion: owner.blocks,
    }
}

fn finding_of(finding: &OwnerFinding) -> FindingV1 {
    FindingV1 {
        owner: owner_of(&finding.owner),
        class: code(&CLASSES, finding.class),
        since: finding.since.map(|since| since.0),
    }
}

fn finding_from(finding: FindingV1) -> Option<OwnerFinding> {
    Some(OwnerFinding {
        owner: owner_from(finding.owner),
        class: value(&CLASSES, finding.class)?,
        since: finding.since.map(Revision),
    })
}

/// The place of a value in its table: what is stored. Tables only grow at their end.
fn code<T: PartialEq>(table: &[T], value: T) -> u8 {
    let place = table.iter().position(|one| *one == value);
    place
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(u8::MAX)
}

fn value<T: Copy>(table: &[T], code: u8) -> Option<T> {
    table.get(usize::from(code)).copied()
}
