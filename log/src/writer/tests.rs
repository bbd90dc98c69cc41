//! The writer over recording and failing storages.

use super::{Publish, Reply, Submitted, Writer};
use crate::{
    Error, Log, MemoryStorage, Purpose, Records, Report, Storage, Stored, Tail, Witnessed, verify,
};
use hindsight_core::command::{
    Basis, Collect, Create, Deadlock, Delete, FieldValidation, Patch, PatchObject, Propagation,
    Target,
};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Change, Command, GroupResource, Intent, ObjectKey, Revision, Rule, State, Time,
    Unavailable, builtin,
};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// Opening syncs once: what was found is made durable before it is visible.
const AT_OPEN: usize = 1;

#[derive(Debug, Default)]
pub(super) struct Recording {
    inner: MemoryStorage,
    syncs: AtomicUsize,
    fail_after: Option<usize>,
}

impl Records for Recording {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.inner.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.inner.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        Ok(None)
    }
}

impl Storage for Recording {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.inner.append(first, frame)
    }

    fn replace(&self, first: Revision, last: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.inner.replace(first, last, frame)
    }

    fn sync(&self) -> Result<(), Error> {
        let done = self.syncs.fetch_add(1, Ordering::SeqCst);
        if self.fail_after.is_some_and(|limit| done >= limit) {
            let source = std::io::Error::other("the disk is gone");
            return Err(Error::Io {
                what: "syncing".into(),
                source,
            });
        }
        Ok(())
    }

    fn witness(&self, _: &Tail) {}

    fn ensure_space(&self, _: usize, _: Purpose) -> bool {
        true
    }
}

#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Vec<Revision>>>);

impl Publish for Seen {
    fn publish(&mut self, state: State, changes: Vec<Arc<Change>>) {
        let last = changes.last().map(|change| change.commit.revision);
        assert_eq!(last, Some(state.revision));
        let mut seen = self.0.lock().expect("unpoisoned");
        seen.extend(changes.iter().map(|change| change.commit.revision));
    }
}

pub(super) fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

pub(super) fn create(name: &str) -> Command {
    let intent = Intent::Create(Create {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", ""),
        version: "v1".into(),
        object: json!({"metadata": {"name": name}}),
        validation: FieldValidation::Warn,
    });
    let mut seed = [1; 16];
    let letters = seed.iter_mut().zip(name.bytes());
    letters.for_each(|(byte, letter)| *byte = letter);
    Command::new(Arc::new(Actor::new("t")), Time(1), seed, intent)
}

/// A patch of a namespace that leaves it as it is.
pub(super) fn patch_nothing(name: &str) -> Command {
    let intent = Intent::Patch(PatchObject {
        key: ObjectKey::new(GroupResource::new("", "namespaces"), "", name),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(json!({})),
        validation: FieldValidation::Warn,
    });
    Command::new(Arc::new(Actor::new("t")), Time(1), [2; 16], intent)
}

pub(super) fn start(storage: &Arc<Recording>) -> (Writer, Seen) {
    let seen = Seen::default();
    let storage: Arc<dyn Storage> = Arc::<Recording>::clone(storage);
    let log = Log::open(storage, empty()).expect("opened");
    (log.start(Box::new(seen.clone())).expect("started"), seen)
}

pub(super) fn reply() -> (Reply, mpsc::Receiver<Submitted>) {
    let (sender, receiver) = mpsc::channel();
    (
        Box::new(move |outcome| sender.send(outcome).expect("somebody waits")),
        receiver,
    )
}

fn submit(writer: &Writer, names: &[&str]) -> Submitted {
    let (reply, answer) = reply();
    writer.submit(names.iter().map(|name| create(name)).collect(), reply);
    answer.recv().expect("an answer")
}

#[test]
fn commands_of_one_submission_share_one_sync_and_see_each_other() {
    let storage = Arc::new(Recording::default());
    let (writer, seen) = start(&storage);
    let answers = submit(&writer, &["a", "b", "a"]).expect("written");
    assert!(answers[0].is_ok() && answers[1].is_ok() && answers[2].is_err());
    assert_eq!(storage.syncs.load(Ordering::SeqCst), AT_OPEN + 1);
    assert_eq!(
        *seen.0.lock().expect("unpoisoned"),
        [Revision(1), Revision(2)]
    );
}

#[test]
fn a_refusal_needs_no_sync() {
    let storage = Arc::new(Recording::default());
    let (writer, _) = start(&storage);
    assert!(submit(&writer, &["Not_A_Name"]).expect("answered")[0].is_err());
    assert_eq!(storage.syncs.load(Ordering::SeqCst), AT_OPEN);
}

#[test]
fn what_waits_together_is_synced_together() {
    let storage = Arc::new(Recording::default());
    let (writer, seen) = start(&storage);
    let answers: Vec<_> = (0..1000)
        .map(|index| {
            let (reply, answer) = reply();
            writer.submit(vec![create(&format!("n{index}"))], reply);
            answer
        })
        .collect();
    for answer in answers {
        assert!(answer.recv().expect("an answer").expect("written")[0].is_ok());
    }
    assert_eq!(seen.0.lock().expect("unpoisoned").len(), 1000);
    assert!(storage.syncs.load(Ordering::SeqCst) < 1000);
}

/// A lone submission is synced by the thread that decided it, possibly the submitter's; others are handed
/// over.
#[test]
fn whichever_thread_syncs_the_order_is_that_of_the_revisions() {
    let storage = Arc::new(Recording::default());
    let (writer, seen) = start(&storage);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let writer = &writer;
            scope.spawn(move || {
                for round in 0..3000 {
                    let (reply, answer) = reply();
                    let commands = vec![create(&format!("n{thread}-{round}"))];
                    if thread % 2 == 0 {
                        writer.submit(commands, reply);
                    } else {
                        writer.submit_here(commands, reply);
                    }
                    let answers = answer.recv().expect("an answer").expect("written");
                    assert!(answers[0].is_ok());
                }
            });
        }
    });
    let expected: Vec<Revision> = (1..=24_000).map(Revision).collect();
    assert_eq!(*seen.0.lock().expect("unpoisoned"), expected);
    drop(writer);
    let log = Log::open(storage, empty()).expect("reopened");
    let state = log.state();
    assert_eq!(state.revision, Revision(24_000));
}

#[test]
fn a_submitter_that_is_alone_is_answered_on_its_own_thread() {
    let storage = Arc::new(Recording::default());
    let (writer, seen) = start(&storage);
    let here = std::thread::current().id();
    let answered = Arc::new(Mutex::new(None));
    let said = Arc::clone(&answered);
    let reply = move |outcome: Submitted| {
        *said.lock().expect("unpoisoned") = Some((std::thread::current().id(), outcome));
    };
    writer.submit_here(vec![create("a")], Box::new(reply));
    let (by, outcome) = answered.lock().expect("unpoisoned").take().expect("one");
    assert_eq!(by, here);
    assert!(outcome.expect("written")[0].is_ok());
    assert_eq!(storage.syncs.load(Ordering::SeqCst), AT_OPEN + 1);
    assert_eq!(*seen.0.lock().expect("unpoisoned"), [Revision(1)]);
}

#[test]
fn after_a_failed_sync_nothing_is_accepted_or_shown() {
    let storage = Arc::new(Recording {
        fail_after: Some(AT_OPEN + 1),
        ..Recording::default()
    });
    let (writer, seen) = start(&storage);
    submit(&writer, &["a"]).expect("written");
    assert!(matches!(
        submit(&writer, &["b"]),
        Err(Unavailable::Poisoned(_))
    ));
    assert!(matches!(
        submit(&writer, &["c"]),
        Err(Unavailable::Poisoned(_))
    ));
    assert_eq!(*seen.0.lock().expect("unpoisoned"), [Revision(1)]);
    assert_eq!(
        storage.syncs.load(Ordering::SeqCst),
        AT_OPEN + 2,
        "a failed sync is not tried again"
    );
}

/// Nothing is decided before the end, so all of them wait.
#[test]
fn one_submission_more_than_may_wait_is_turned_away_at_once() {
    let log = Log::open(Arc::new(Recording::default()), empty()).expect("opened");
    let (writer, mut stages) = log.by_stages(Box::new(Seen::default()));
    let hand_in = || {
        let (reply, answer) = reply();
        writer.submit(vec![create("a")], reply);
        answer
    };
    // As `docs/reliability.md` says.
    let waiting: Vec<_> = (0..4_096).map(|_| hand_in()).collect();
    for _ in 0..2 {
        let refused = hand_in().try_recv().expect("answered at once");
        assert!(matches!(refused, Err(Unavailable::Overloaded)));
    }
    let is_answered = |answer: &mpsc::Receiver<Submitted>| answer.try_recv().is_ok();
    assert!(!waiting.iter().any(is_answered));
    assert!(stages.decide());
    let next = hand_in();
    while stages.sync() || stages.decide() {}
    assert!(waiting.iter().chain([&next]).all(is_answered));
}

/// As where a decision ends in a panic after another batch was handed over.
#[test]
fn what_was_decided_before_the_log_was_poisoned_is_not_written() {
    let storage = Arc::new(Recording::default());
    let log = Log::open(Arc::clone(&storage) as _, empty()).expect("opened");
    let (writer, mut stages) = log.by_stages(Box::new(Seen::default()));
    let (reply, answer) = reply();
    writer.submit(vec![create("a")], reply);
    assert!(stages.decide());
    writer.poison().set("a defect".into());
    while stages.sync() {}
    let refused = answer.recv().expect("an answer");
    assert!(matches!(refused, Err(Unavailable::Poisoned(_))));
    let written = storage.at_or_after(Revision(1)).expect("read");
    assert_eq!(
        (written, storage.syncs.load(Ordering::SeqCst)),
        (None, AT_OPEN)
    );
}

/// A projection that panics.
struct Broken;

impl Publish for Broken {
    fn publish(&mut self, _: State, _: Vec<Arc<Change>>) {
        panic!("a defect");
    }
}

#[test]
fn a_thread_that_ends_in_a_panic_poisons_the_log() {
    for submit in [Writer::submit, Writer::submit_here] {
        let storage: Arc<dyn Storage> = Arc::new(Recording::default());
        let log = Log::open(storage, empty()).expect("opened");
        let writer = log.start(Box::new(Broken)).expect("started");
        assert_eq!(writer.poison().reason(), None);
        let (reply, answered) = reply();
        submit(&writer, vec![create("a")], reply);
        assert!(
            answered.recv().is_err(),
            "nobody knows whether it was written"
        );
        assert!(writer.poison().wait().contains("panic"));
        let (reply, answered) = self::reply();
        submit(&writer, vec![create("b")], reply);
        let refused = answered.recv().expect("an answer");
        assert!(matches!(refused, Err(Unavailable::Poisoned(_))));
    }
}

#[test]
fn a_reopened_log_gives_the_same_state() {
    let storage = Arc::new(Recording::default());
    let (writer, _) = start(&storage);
    submit(&writer, &["a", "b"]).expect("written");
    submit(&writer, &["c"]).expect("written");
    drop(writer);
    let log = Log::open(Arc::<Recording>::clone(&storage), empty()).expect("reopened");
    let state = log.state();
    assert_eq!((state.revision, state.len()), (Revision(3), 3));
    let folded = log.reader.state_at(empty(), Revision(3)).expect("folded");
    assert_eq!(folded.hash(), state.hash());
    assert_ne!(
        log.reader
            .state_at(empty(), Revision(2))
            .expect("folded")
            .hash(),
        state.hash()
    );
    let back: Vec<u64> = log
        .reader
        .scan_back(Revision(2))
        .map(|one| one.expect("readable").revision.0)
        .collect();
    assert_eq!(back, [2, 1]);
    let Report {
        commits,
        frames,
        newest,
        commit_bytes,
        frame_bytes,
        ..
    } = verify(&log.reader, |_| {}).expect("intact");
    assert_eq!((commits, frames, newest), (3, 2, Revision(3)));
    let stored = [1, 3].map(|first| storage.at_or_after(Revision(first)));
    let stored = stored.map(|found| found.expect("read").expect("a frame").1.len());
    assert_eq!(frame_bytes, stored.iter().sum::<usize>() as u64);
    assert!(commit_bytes > frame_bytes, "{commit_bytes} {frame_bytes}");
}

#[test]
fn every_flipped_bit_and_every_missing_record_is_noticed() {
    let storage = Arc::new(Recording::default());
    let (writer, _) = start(&storage);
    for name in ["a", "b", "c"] {
        submit(&writer, &[name]).expect("written");
    }
    drop(writer);
    let frame = |revision| {
        storage
            .at_or_before(Revision(revision))
            .expect("readable")
            .expect("stored")
            .1
    };
    let refused = |frames: &[(u64, Vec<u8>)]| {
        let copy = Arc::new(Recording::default());
        for (first, bytes) in frames {
            copy.append(Revision(*first), bytes).expect("appended");
        }
        Log::open(copy, empty()).is_err()
    };
    assert!(refused(&[(1, frame(1)), (3, frame(3))]), "a gap");
    assert!(refused(&[(2, frame(2)), (3, frame(3))]), "no beginning");
    assert!(
        refused(&[(1, frame(2)), (2, frame(1)), (3, frame(3))]),
        "out of order"
    );
    for bit in 0..frame(2).len() * 8 {
        let mut damaged = frame(2);
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(
            refused(&[(1, frame(1)), (2, damaged), (3, frame(3))]),
            "bit {bit}"
        );
    }
}

fn config_map(name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "configmaps"), "n", name)
}

fn carry_out(writer: &Writer, number: u8, intent: Intent) -> hindsight_core::Decision {
    let (reply, answer) = reply();
    let command = Command::new(Arc::new(Actor::new("t")), Time(1), [number; 16], intent);
    writer.submit(vec![command], reply);
    let mut answers = answer.recv().expect("an answer").expect("written");
    answers.remove(0).expect("accepted")
}

/// Two objects that own and block each other, in foreground deletion, and are too large for one frame.
fn ring(writer: &Writer) -> Vec<Target> {
    let long = "x".repeat(40 << 10);
    let object = |name: &str, owner: &str| {
        json!({"data": {"k": long}, "metadata": {"name": name, "finalizers": ["x/y"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner,
                "uid": owner, "blockOwnerDeletion": true}]}})
    };
    let mut uids = Vec::new();
    for (number, name, owner) in [(1, "a", "b"), (2, "b", "a")] {
        let create = Create {
            key: config_map(""),
            version: "v1".into(),
            object: object(name, owner),
            validation: FieldValidation::Warn,
        };
        let made = carry_out(writer, number, Intent::Create(create));
        uids.push(made.outcome.object().meta.uid.to_string());
    }
    for (number, name, owner, uid) in [(3, "a", "b", &uids[1]), (4, "b", "a", &uids[0])] {
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner,
            "uid": uid, "blockOwnerDeletion": true});
        let patch = PatchObject {
            key: config_map(name),
            version: "v1".into(),
            subresource: None,
            patch: Patch::Merge(json!({"metadata": {"ownerReferences": [reference]}})),
            validation: FieldValidation::Warn,
        };
        carry_out(writer, number, Intent::Patch(patch));
    }
    let mut members = Vec::new();
    for (number, name) in [(5, "a"), (6, "b")] {
        let target = Target::any(config_map(name));
        let delete = Delete {
            propagation: Some(Propagation::Foreground),
            ..Delete::new(target, "v1".into(), Rule::Requested)
        };
        let marked = carry_out(writer, number, Intent::Delete(delete));
        let object = marked.outcome.object();
        members.push(Target {
            key: config_map(name),
            uid: Some(object.meta.uid.clone()),
            revision: Some(object.revision),
        });
    }
    members
}

#[test]
fn what_was_decided_together_is_in_one_frame_however_long() {
    let storage = Arc::new(Recording::default());
    let (writer, _) = start(&storage);
    submit(&writer, &["n"])
        .expect("written")
        .remove(0)
        .expect("made");
    let members = ring(&writer);
    let decided_at = members[1].revision.expect("pinned");
    let basis = Basis::at(decided_at);
    let deadlock = Deadlock { members, basis };
    let broken = carry_out(
        &writer,
        7,
        Intent::Collect(Collect::BreakDeadlock(deadlock)),
    );
    let revisions: Vec<Revision> = broken.commits.iter().map(|one| one.revision).collect();
    assert_eq!(revisions, [decided_at.next(), decided_at.next().next()]);
    let frame = storage.at_or_after(revisions[0]).expect("readable");
    assert_eq!(frame.expect("a frame").0, revisions[0]);
    let torn = storage.at_or_after(revisions[1]).expect("readable");
    assert!(torn.is_none(), "the second has a frame of its own");
}
