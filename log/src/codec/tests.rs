//! The stored format is permanent: bytes of the first release can be decoded, and encode to the same
//! bytes, apart from what is no longer kept.

use super::{decode, encode};
use hindsight_core::command::Propagation;
use hindsight_core::event::{OwnerClass, OwnerFinding};
use hindsight_core::object::Mark;
use hindsight_core::{
    Actor, Cause, Commit, Event, GroupResource, Object, ObjectKey, OwnerReference, Request,
    Revision, Rule, Time, Uid,
};
use std::sync::Arc;

const GOLDEN: &[u8] = include_bytes!("../../golden/payload-1.bin");

fn owner(name: &str) -> OwnerReference {
    OwnerReference {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: name.into(),
        uid: Uid::from("00000000-0000-4000-8000-000000000001"),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

fn finding() -> OwnerFinding {
    OwnerFinding {
        owner: owner("web"),
        class: OwnerClass::Dangling,
    }
}

fn object(key: &ObjectKey, revision: u64, mark: Option<Mark>) -> Arc<Object> {
    let document = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default", "uid": "00000000-0000-4000-8000-000000000002"},
        "data": {"text": "snow \u{2744} and \"quotes\""},
    });
    Arc::new(Object::from_value(key.clone(), document, Revision(revision), mark).unwrap())
}

fn facts(key: &ObjectKey) -> [Vec<Event>; 3] {
    let mark = Mark {
        revision: Revision(8),
        rule: Rule::RequestedOrphan,
    };
    let hold = || "example.com/hold".into();
    let created = vec![
        Event::ObjectCreated {
            object: object(key, 7, None),
        },
        Event::FinalizerAdded { finalizer: hold() },
        Event::OwnerAdded {
            owner: owner("web"),
        },
    ];
    let marked = vec![
        Event::DeletionRequested {
            rule: Rule::RequestedOrphan,
            propagation: Propagation::Orphan,
            grace_period_seconds: Some(30),
            owners: vec![finding()],
            decided_at: Revision(7),
        },
        Event::ObjectUpdated {
            object: object(key, 8, Some(mark)),
        },
        Event::OwnerChanged {
            from: owner("web"),
            to: owner("api"),
        },
        Event::OwnerRemoved {
            owner: owner("api"),
        },
        Event::FinalizerRemoved { finalizer: hold() },
    ];
    let removed = vec![Event::ObjectDeleted {
        rule: Rule::OwnersAbsent,
        owners: vec![finding()],
        decided_at: Revision(8),
    }];
    [created, marked, removed]
}

/// Commits with every kind of event, two origins, and every kind of cause.
fn commits() -> Vec<Arc<Commit>> {
    let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "settings");
    let causes = [
        Cause::Request,
        Cause::Commit(Revision(7)),
        Cause::Policy("keep-ten".into()),
    ];
    let request = Arc::new(Request {
        verb: "create".into(),
        uri: "/api/v1".into(),
        user_agent: "kubectl".into(),
    });
    let commit = |(index, (events, cause)): (u64, (Vec<Event>, Cause))| {
        let user = if index == 2 { "system:gc" } else { "alice" };
        Arc::new(Commit {
            revision: Revision(7 + index),
            time: Time(1_700_000_000_000_000 + i64::try_from(index).unwrap()),
            actor: Arc::new(Actor {
                user: user.into(),
                uid: "7".into(),
                groups: vec!["system:masters".into()],
            }),
            request: Arc::clone(&request),
            cause,
            key: key.clone(),
            uid: Uid::from("00000000-0000-4000-8000-000000000002"),
            events,
        })
    };
    (0..)
        .zip(facts(&key).into_iter().zip(causes))
        .map(commit)
        .collect()
}

/// Replaces `old`, which occurs twice.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let places = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(old));
    let [first, second] = places.collect::<Vec<_>>().try_into().unwrap();
    let between = &bytes[first + old.len()..second];
    let behind = &bytes[second + old.len()..];
    [&bytes[..first], new, between, new, behind].concat()
}

/// The golden bytes without the IDs of requests, and without the revisions at which the owners of findings
/// were removed: the format has places for them that no release filled.
fn golden_without_what_is_not_kept() -> Vec<u8> {
    let no_id = [&b"kubectl"[..], &0_u64.to_le_bytes()].concat();
    let id = [&b"kubectl"[..], &1_u64.to_le_bytes(), b"r"].concat();
    let golden = replaced(GOLDEN, &id, &no_id);
    let flags_and_class = [1, 1, 0, 1];
    let no_revision = [&flags_and_class[..], &[0]].concat();
    let revision = [&flags_and_class[..], &[1], &3_u64.to_le_bytes()].concat();
    replaced(&golden, &revision, &no_revision)
}

fn from_seven() -> impl Iterator<Item = Revision> {
    (7..).map(Revision)
}

#[test]
fn what_the_first_release_wrote_reads_back() {
    let read: Vec<Arc<Commit>> = decode(Revision(7), GOLDEN, from_seven())
        .unwrap()
        .into_iter()
        .map(Arc::new)
        .collect();
    assert_eq!(read, commits());
}

#[test]
fn the_same_commits_are_written_as_the_same_bytes() {
    let commits = commits();
    let commits: Vec<&Commit> = commits.iter().map(|commit| &**commit).collect();
    let mut payload = Vec::new();
    encode(&commits, &mut payload).unwrap();
    assert_eq!(payload, golden_without_what_is_not_kept());
}

/// Records, and the disk space for them, are bounded by the estimate.
#[test]
fn a_record_is_never_longer_than_was_estimated() {
    let written = |commits: &[&Commit]| {
        let mut payload = Vec::new();
        encode(commits, &mut payload).unwrap();
        payload.len()
    };
    for (text, times) in [("", 1), ("v", 2), (&"v".repeat(100_000), 1), ("a/b", 100)] {
        let made = commits();
        let long: Vec<Commit> = made.iter().map(|made| swollen(made, text, times)).collect();
        for commit in &long {
            let (length, most) = (written(&[commit]), commit.estimated_bytes());
            assert!(length <= most, "{length} {most}");
        }
        let all: Vec<&Commit> = long.iter().collect();
        let (length, most) = (written(&all), Commit::estimated_bytes_of_all(all));
        assert!(length <= most, "{length} {most}");
    }
}

/// The commit with this text wherever a client chooses one, and each of its facts so many times.
fn swollen(commit: &Commit, text: &str, times: usize) -> Commit {
    let owner = || OwnerReference {
        name: text.into(),
        api_version: text.into(),
        kind: text.into(),
        uid: Uid::from(text),
        ..owner("")
    };
    let found = || OwnerFinding {
        owner: owner(),
        class: OwnerClass::Dangling,
    };
    let mut commit = commit.clone();
    for event in &mut commit.events {
        match event {
            Event::ObjectCreated { .. } | Event::ObjectUpdated { .. } => {}
            Event::FinalizerAdded { finalizer } | Event::FinalizerRemoved { finalizer } => {
                *finalizer = text.into();
            }
            Event::OwnerAdded { owner: one } | Event::OwnerRemoved { owner: one } => *one = owner(),
            Event::OwnerChanged { from, to } => (*from, *to) = (owner(), owner()),
            Event::DeletionRequested { owners, .. } | Event::ObjectDeleted { owners, .. } => {
                *owners = vec![found(); times];
            }
        }
    }
    let facts: Vec<Event> = commit
        .events
        .iter()
        .filter(|one| !Event::is_outcome(one))
        .cloned()
        .collect();
    for _ in 1..times {
        commit.events.splice(0..0, facts.clone());
    }
    commit.request = Arc::new(Request {
        verb: text.into(),
        uri: text.into(),
        user_agent: text.into(),
    });
    commit.actor = Arc::new(Actor {
        user: text.into(),
        uid: text.into(),
        groups: vec![text.into(); times],
    });
    commit
}

#[test]
fn a_payload_that_is_cut_or_longer_is_refused() {
    for length in 0..GOLDEN.len() {
        assert!(
            decode(Revision(7), &GOLDEN[..length], from_seven()).is_err(),
            "cut at {length}"
        );
    }
    let longer = [GOLDEN, &[0]].concat();
    assert!(decode(Revision(7), &longer, from_seven()).is_err());
}

#[test]
fn a_commit_that_does_not_say_what_became_of_its_object_is_refused() {
    for commit in commits() {
        let others = commit.events.iter().filter(|one| !one.is_outcome());
        for events in [Vec::new(), others.cloned().collect()] {
            let commit = Commit {
                events,
                ..(*commit).clone()
            };
            let mut payload = Vec::new();
            encode(&[&commit], &mut payload).unwrap();
            let read = decode(commit.revision, &payload, std::iter::once(commit.revision));
            let error = read.unwrap_err().to_string();
            assert!(error.contains("what became of its object"), "{error}");
        }
    }
}

#[test]
fn what_a_record_cannot_be_read_for_is_behind_the_error() {
    let body = GOLDEN.windows(2).position(|two| two == b"{\"").unwrap();
    let mut broken = GOLDEN.to_vec();
    broken[body] = b'[';
    let error = decode(Revision(7), &broken, from_seven()).unwrap_err();
    let behind = std::error::Error::source(&error).unwrap().to_string();
    let why = "the body of configmaps default/settings is not an object: expected `,` or `]`";
    assert!(behind.starts_with(why), "{behind}");
    assert!(error.to_string().contains(&behind), "{error}");
}
