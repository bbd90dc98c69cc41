//! A log of the current format that has everything in it that the format knows: `log/golden/frame-4-everything.bin`. It
//! was made by the control plane itself, once; that the log reads and folds as it did then is checked here and by
//! `log/src/faults/fixtures.rs`. With `HINDSIGHT_FIXTURES=write` it is made if it is not there.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight::open_reader;
use hindsight_core::command::{Create, Delete, FieldValidation, Propagation, Target};
use hindsight_core::event::{OwnerClass, OwnerFinding};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Cause, Change, Commit, Event, GroupResource, Intent, ObjectKey, OwnerReference, Revision, Rule,
    State, builtin,
};
use hindsight_log::{
    Log, MemoryStorage, Publish, Reader, Records, Restore, SledStorage, Snapshots, Storage, thin,
    verify,
};
use hindsight_projector::Fate;
use hindsight_tests::scenario;
use hindsight_tests::tree::repository;
use hindsight_tests::world::command;
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

/// Offset of the first revision in a frame.
const FIRST_AT: usize = 5;
/// The object that marks where the thinned part ends.
const FLOOR: &str = "floor";
/// What is written after the restore.
const LAST: &str = "after";

/// What happened in the log.
const SCENARIO: &str = r#"
create  ConfigMap plain
set     ConfigMap plain with {"data":{"k":"1"}}
set     ConfigMap plain with {"data":{"k":"2"}}

create  ConfigMap root
create  ConfigMap kid owner=root
set     ConfigMap kid with {"data":{"k":"1"}}
delete  ConfigMap root policy=background
gc      until-idle
create  ConfigMap floor

# Owners that come, change and go.
create  ConfigMap parent
create  ConfigMap child owner=parent
set     ConfigMap child owner=parent block
set     ConfigMap child owner=
set     ConfigMap child owner=parent

# Finalizers, and a deletion that they hold.
create  ConfigMap held finalizers=example.com/a
set     ConfigMap held finalizers=example.com/a,example.com/b
delete  ConfigMap held policy=background
set     ConfigMap held finalizers=example.com/b
set     ConfigMap held finalizers=
create  Pod pod
delete  Pod pod

create  ConfigMap front
create  ConfigMap behind owner=front block finalizers=example.com/a
delete  ConfigMap front policy=foreground
gc      until-idle
set     ConfigMap behind finalizers=
gc      until-idle
create  ConfigMap left
create  ConfigMap stays owner=left
delete  ConfigMap left policy=orphan
gc      until-idle

# Two that wait only for each other.
create  ConfigMap one
create  ConfigMap other owner=one block
set     ConfigMap one owner=other block
delete  ConfigMap one policy=foreground
delete  ConfigMap other policy=foreground
gc      until-idle

create  ConfigMap lost owner=never
create  Namespace elsewhere
create  ConfigMap far in=elsewhere
create  ConfigMap near owner=far
gc      until-idle
create  Secret swept in=elsewhere
clear   Secret in=elsewhere
create  ConfigMap inside in=elsewhere
delete  Namespace elsewhere
gc      until-idle

define  gadgets Gadget
create  Gadget gadget
delete  CustomResourceDefinition gadgets.example.com
gc      until-idle
define  widgets Widget
gc      until-idle
create  Widget widget

create  Job job with {"spec":{"ttlSecondsAfterFinished":0}}
set     Job job status with {"status":{"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}
gc      until-idle
send    POST ~/services with {"metadata":{"name":"service"},"spec":{"ports":[{"port":80}]}}
code    201
send    POST ~/endpoints with {"metadata":{"name":"service"}}
code    201
send    DELETE ~/services/service
code    200
create  Event event with {"involvedObject":{"namespace":"default"}}

# What is still held, and what still waits.
create  ConfigMap waits
create  ConfigMap keeps owner=waits block finalizers=example.com/a
delete  ConfigMap waits policy=foreground
gc      until-idle
"#;

/// All variants of an enum, and the name of each. A variant that is left out does not compile, and one that is not in
/// the log fails.
macro_rules! variants {
    ($type:ident, $all:ident, $name:ident, [$($variant:ident),+ $(,)?]) => {
        const $all: &[&str] = &[$(stringify!($variant)),+];

        const fn $name(value: &$type) -> &'static str {
            match value {
                $($type::$variant { .. } => stringify!($variant)),+
            }
        }
    };
}

variants!(
    Event,
    EVENTS,
    event_name,
    [
        ObjectCreated,
        ObjectUpdated,
        FinalizerAdded,
        FinalizerRemoved,
        OwnerAdded,
        OwnerRemoved,
        OwnerChanged,
        DeletionRequested,
        ObjectDeleted,
    ]
);
variants!(Cause, CAUSES, cause_name, [Request, Commit, Policy]);
variants!(
    Propagation,
    PROPAGATIONS,
    propagation_name,
    [Background, Foreground, Orphan]
);
variants!(
    OwnerClass,
    CLASSES,
    class_name,
    [Solid, Dangling, Waiting, Unresolvable]
);
/// An object with such an owner is not deleted, and what is found about owners is written only with deletions.
const CLASSES_NEVER_WRITTEN: [&str; 2] = ["Solid", "Unresolvable"];

fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

fn path(name: &str) -> PathBuf {
    repository().join("log/golden").join(name)
}

/// The frames of the fixture, each with its first revision.
fn frames() -> Vec<(Revision, Vec<u8>)> {
    let bytes = fs::read(path("frame-4-everything.bin")).expect("log/golden/README.md");
    let mut rest = &bytes[..];
    let mut frames = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (frame, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        let first = frame[FIRST_AT..].first_chunk::<8>().expect("a header");
        frames.push((Revision(u64::from_le_bytes(*first)), frame.to_vec()));
        rest = after;
    }
    frames
}

fn reader() -> Reader {
    let storage = MemoryStorage::default();
    for (first, frame) in frames() {
        storage.append(first, &frame).expect("appended");
    }
    Reader::new(Arc::new(storage))
}

fn commits(reader: &Reader) -> Vec<Commit> {
    let read = reader.scan(Revision(1)).collect::<Result<_, _>>();
    read.expect("readable")
}

struct Silent;

impl Publish for Silent {
    fn publish(&mut self, _: State, _: Vec<Arc<Change>>) {}
}

/// Writes one more object, and deletes the event as the collector does, which keeps events for a time: the scenario has
/// none for that.
fn write_on(storage: &Arc<dyn Storage>) {
    let log = Log::open(Arc::clone(storage), empty()).expect("opened");
    let writer = log.start(Box::new(Silent)).expect("started");
    let key = |resource, name| ObjectKey::new(GroupResource::new("", resource), "default", name);
    let creation = Intent::Create(Create {
        key: key("configmaps", ""),
        version: "v1".into(),
        object: serde_json::json!({"metadata": {"name": LAST}}),
        validation: FieldValidation::Strict,
    });
    let event = Target::any(key("events", "event"));
    let deletion = Intent::Delete(Delete::new(event, "v1".into(), Rule::Policy));
    let number = u64::from(u32::MAX);
    let commands = vec![
        command(number, creation, Cause::Request),
        command(number + 1, deletion, Cause::Policy("event-ttl".into())),
    ];
    let (sender, answer) = mpsc::channel();
    let reply = move |outcome| sender.send(outcome).expect("somebody waits");
    writer.submit(commands, Box::new(reply));
    let answers = answer.recv().expect("an answer").expect("written");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

/// Makes the log: what the scenario writes, restored from a backup, written on, and thinned up to the floor.
fn make() -> (Vec<u8>, String) {
    let file = scenario::backup_of(SCENARIO).expect("it plays");
    let storage = Arc::new(MemoryStorage::default()) as Arc<dyn Storage>;
    let directory = tempfile::tempdir().expect("a directory");
    let restore = Restore {
        storage: &storage,
        snapshots: &Snapshots::at(directory.path().to_owned()),
        bump: NonZeroU64::MIN,
        time: hindsight::system_clock(),
    };
    restore.run(&*file, |_| {}).expect("restored");
    write_on(&storage);
    let reader = Reader::new(Arc::clone(&storage) as Arc<dyn Records>);
    let is_floor = |commit: &Commit| &*commit.key.name == FLOOR;
    let floor = commits(&reader)
        .into_iter()
        .find(is_floor)
        .expect("it is there");
    thin(&*storage, &reader, floor.revision, empty(), &[]).expect("thinned");
    let mut bytes = Vec::new();
    let mut from = Revision::ZERO;
    while let Some((first, frame)) = storage.at_or_after(from).expect("read") {
        let length = u32::try_from(frame.len()).expect("small");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&frame);
        from = first.next();
    }
    (bytes, told(&reader))
}

/// What a reader makes of the log.
fn told(reader: &Reader) -> String {
    let base = reader.base(empty()).expect("folded");
    let report = verify(reader, |_| {}).expect("intact");
    let floor = reader.floor().expect("read");
    let lines: String = commits(reader).iter().map(line).collect();
    format!(
        "revision {}\nstate {}\nchain {}\ncontent {}\nfloor {floor}\n{lines}",
        base.state.revision,
        base.state.hash(),
        report.chain,
        report.content
    )
}

fn line(commit: &Commit) -> String {
    let cause = match &commit.cause {
        Cause::Request => "a request".to_owned(),
        Cause::Commit(revision) => format!("commit {revision}"),
        Cause::Policy(name) => format!("policy {name}"),
    };
    let facts: Vec<String> = commit.events.iter().map(fact).collect();
    let (revision, key, user) = (commit.revision, &commit.key, &commit.actor.user);
    format!(
        "commit {revision} {key} by {user} because of {cause}: {}\n",
        facts.join(", ")
    )
}

fn fact(event: &Event) -> String {
    let of = match event {
        Event::ObjectCreated { .. } => String::new(),
        Event::ObjectUpdated { object } => object.mark.map_or_else(String::new, |mark| {
            format!(" {} at {}", mark.rule.name(), mark.revision)
        }),
        Event::FinalizerAdded { finalizer } | Event::FinalizerRemoved { finalizer } => {
            format!(" {finalizer}")
        }
        Event::OwnerAdded { owner } | Event::OwnerRemoved { owner } => format!(" {}", named(owner)),
        Event::OwnerChanged { from, to } => format!(" {} to {}", named(from), named(to)),
        Event::DeletionRequested {
            rule,
            propagation,
            grace_period_seconds,
            owners,
            decided_at,
        } => format!(
            " {} {} {grace_period_seconds:?} {} at {decided_at}",
            rule.name(),
            propagation_name(propagation),
            found(owners)
        ),
        Event::ObjectDeleted {
            rule,
            owners,
            decided_at,
        } => format!(" {} {} at {decided_at}", rule.name(), found(owners)),
    };
    format!("{}{of}", event_name(event))
}

fn named(owner: &OwnerReference) -> String {
    let flags = [owner.controller, owner.block_owner_deletion];
    let (version, kind, name) = (&owner.api_version, &owner.kind, &owner.name);
    format!("{version} {kind} {name} {} {flags:?}", owner.uid)
}

fn found(owners: &[OwnerFinding]) -> String {
    let one =
        |found: &OwnerFinding| format!("{} {}", class_name(&found.class), named(&found.owner));
    format!("{:?}", owners.iter().map(one).collect::<Vec<_>>())
}

/// Fails if one of these is not there, or another one is.
fn assert_all<'a>(expected: &[&'a str], found: impl IntoIterator<Item = &'a str>) {
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn everything_that_the_format_knows_is_in_the_golden_log() {
    if option_env!("HINDSIGHT_FIXTURES") == Some("write") {
        let (frames, told) = make();
        for (name, bytes) in [
            ("frame-4-everything.bin", frames),
            ("expected-everything", told.into_bytes()),
        ] {
            if !path(name).exists() {
                fs::write(path(name), bytes).expect("written");
            }
        }
    }
    let commits = commits(&reader());
    assert_all(
        CAUSES,
        commits.iter().map(|commit| cause_name(&commit.cause)),
    );
    let events = || commits.iter().flat_map(|commit| &commit.events);
    assert_all(EVENTS, events().map(event_name));
    let rules = Rule::ALL.map(Rule::name);
    assert_all(
        &rules,
        events()
            .filter_map(Event::deletion)
            .map(|(rule, _)| rule.name()),
    );
    let policies = commits.iter().filter_map(Commit::propagation);
    assert_all(PROPAGATIONS, policies.map(|one| propagation_name(&one)));
    let owners = events()
        .filter_map(Event::deletion)
        .flat_map(|(_, owners)| owners);
    let never = CLASSES_NEVER_WRITTEN;
    let written = CLASSES
        .iter()
        .copied()
        .filter(|class| !never.contains(class));
    let written: Vec<&str> = written.collect();
    assert_all(&written, owners.map(|one| class_name(&one.class)));
    let graces = events().filter_map(|event| match event {
        Event::DeletionRequested {
            grace_period_seconds,
            ..
        } => Some(grace_period_seconds.is_some()),
        _ => None,
    });
    assert_eq!(
        graces.collect::<BTreeSet<_>>().len(),
        2,
        "with a period and without"
    );
    let base = reader().base(empty()).expect("folded");
    assert!(
        !base.state.image().held_owners.is_empty(),
        "an owner still waits"
    );
    assert!(base.state.kinds.by_kind("example.com", "Widget").is_some());
}

#[test]
fn the_golden_log_reads_as_it_did_when_it_was_written() {
    let expected = fs::read_to_string(path("expected-everything")).expect("log/golden/README.md");
    let reader = reader();
    assert_eq!(told(&reader), expected);
    let floor = reader.floor().expect("read");
    let before = reader.state_at(empty(), floor.previous());
    let told = before.expect_err("it is thinned").to_string();
    assert!(told.contains(&floor.to_string()), "{told}");
    let at_floor = reader.state_at(empty(), floor).expect("kept");
    assert!(at_floor.objects().any(|one| &*one.key.name == FLOOR));
    assert!(!at_floor.objects().any(|one| &*one.key.name == LAST));
    assert!(
        commits(&reader).iter().any(|one| one.revision < floor),
        "some of it is kept"
    );
}

#[test]
fn every_removal_in_the_golden_log_is_explained() {
    let directory = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&directory.path().join("events")).expect("made");
    for (first, frame) in frames() {
        storage.append(first, &frame).expect("appended");
    }
    storage.sync().expect("synced");
    drop(storage);
    let opened = open_reader(directory.path()).expect("opened");
    let commits = commits(opened.reader());
    let cause_at = |revision| {
        let found = commits.iter().find(|one| one.revision == revision);
        found.map(|one| cause_name(&one.cause))
    };
    let mut explained = BTreeSet::new();
    for removal in commits.iter().filter(|one| one.object().is_none()) {
        let why = opened
            .explain(&removal.key, Some(&removal.uid))
            .expect("read");
        let told = why.explanation;
        assert_eq!(told.state, Fate::Deleted, "{told:?}");
        let rule = removal.deletions().next().map(|(rule, _)| rule);
        let first = told.chain.first().expect("a link");
        assert_eq!(
            (first.revision, told.rule),
            (removal.revision, rule),
            "{told:?}"
        );
        let root = told
            .root
            .as_ref()
            .unwrap_or_else(|| panic!("no root: {told:?}"));
        let cause = cause_at(root.revision).expect("it is kept");
        assert_ne!(cause, "Commit", "{told:?}");
        let is_policy = matches!(rule, Some(Rule::Policy | Rule::TtlAfterFinished));
        assert_eq!(cause == "Policy", is_policy, "{told:?}");
        explained.extend(rule);
    }
    assert_eq!(explained.len(), Rule::ALL.len(), "{explained:?}");
    let kid = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "kid");
    let why = opened.explain(&kid, None).expect("read").explanation;
    let root = why.root.expect("a root");
    assert_eq!(why.rule, Some(Rule::OwnersAbsent));
    assert!(
        root.verb == "delete" && root.object.ends_with("root"),
        "{root:?}"
    );
}
