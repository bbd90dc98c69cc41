//! Batches that are decided but not stored yet count against the free space.

use super::*;
use crate::{EngineCall, Error, Records, Stored, Tail, Witnessed};
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Event, GroupResource, Intent, ObjectKey, Request, Revision, Rule, State, Time, builtin,
};

/// A disk with this many bytes free, to which nothing can be written.
#[derive(Debug)]
struct Left(usize);

impl Records for Left {
    fn at_or_after(&self, _: Revision) -> Result<Option<Stored>, Error> {
        Ok(None)
    }

    fn at_or_before(&self, _: Revision) -> Result<Option<Stored>, Error> {
        Ok(None)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(None)
    }
}

impl Storage for Left {
    fn append(&self, _: Revision, _: &[u8]) -> Result<(), Error> {
        Err(Error::engine(EngineCall::Write, "it is stuck"))
    }

    fn replace(&self, first: Revision, _: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.append(first, frame)
    }

    fn sync(&self) -> Result<(), Error> {
        self.append(Revision::ZERO, &[])
    }

    fn witness(&self, _: &Tail) {}

    fn ensure_space(&self, bytes: usize, _: Purpose) -> bool {
        bytes <= self.0
    }
}

fn written() -> Vec<Arc<Change>> {
    let state = State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)));
    let intent = Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
        version: "v1".into(),
        object: serde_json::json!({"metadata": {"name": "a"}}),
        validation: FieldValidation::Warn,
    });
    let command = Command::new(Arc::new(Actor::new("t")), Time(1), [1; 16], intent);
    let decided = hindsight_core::decide(&state, command).expect("accepted");
    let commits = decided.commits.into_iter();
    let change = |commit| Change {
        commit,
        previous: None,
    };
    commits.map(|commit| Arc::new(change(commit))).collect()
}

#[test]
fn every_batch_that_is_decided_counts_until_it_is_stored() {
    let batch = written();
    let weight = estimated_bytes_of(&batch);
    let mut gate = SpaceGate::new(Arc::new(Left(4 * weight)));
    let mut unstored: Vec<Unstored> = Vec::new();
    for _ in 0..4 {
        unstored.extend(gate.admit(weight, Some(weight)));
    }
    assert_eq!(unstored.len(), 4);
    assert!(gate.admit(weight, Some(weight)).is_none());
    gate.check_space();
    assert!(!gate.admits_writes());
    unstored.pop();
    gate.check_space();
    assert!(gate.admits_writes());
    assert!(gate.admit(weight, Some(weight)).is_some());
}

/// The newest batches counted for ever, though the storage counts what is stored, too.
#[test]
fn what_is_stored_keeps_out_no_deletion() {
    let batch = written();
    let weight = estimated_bytes_of(&batch);
    let mut gate = SpaceGate::new(Arc::new(Left(weight)));
    for _ in 0..3 {
        drop(gate.admit(weight, Some(weight)).expect("there is space"));
    }
    assert!(gate.admit(weight, None).is_some());
}

/// A burst of deletions by a client with a long name would fill a disk that was thought to have space for it.
#[test]
fn where_a_deletion_comes_from_counts_against_the_space() {
    const AGENT: usize = 100 << 10;
    let batch: Vec<Arc<Change>> = (0..10)
        .map(|number| {
            let mut change = Change::clone(&written()[0]);
            let commit = Arc::make_mut(&mut change.commit);
            commit.events = vec![Event::ObjectDeleted {
                rule: Rule::Requested,
                owners: Vec::new(),
                decided_at: Revision(1),
            }];
            commit.request = Arc::new(Request {
                uri: number.to_string(),
                user_agent: "v".repeat(AGENT),
                ..Request::default()
            });
            Arc::new(change)
        })
        .collect();
    for (left, is_admitted) in [(11 * AGENT, true), (10 * AGENT, false)] {
        let mut gate = SpaceGate::new(Arc::new(Left(left)));
        assert_eq!(
            gate.admit(estimated_bytes_of(&batch), None).is_some(),
            is_admitted,
            "{left}"
        );
    }
}
