//! The script: about a thousand commits in some hundred batches, the same every time. Objects of all
//! sizes are created, changed, held by finalizers and deleted.

use super::disk::{Disk, Step};
use crate::{Log, Publish, Storage, Tail, Writer};
use hindsight_core::command::{
    Create, Delete, FieldValidation, Patch, PatchObject, Propagation, Target,
};
use hindsight_core::kind::BuiltinKinds;
use hindsight_core::{
    Actor, Change, Command, GroupResource, Intent, ObjectKey, Revision, Rule, State, Submitted,
    Time, Unavailable, builtin,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

const COMMITS: u64 = 1000;
const NAMES: u64 = 40;
/// Large enough for a few of these together to need more than one frame.
const LARGE_BYTES: usize = 24 << 10;

/// The end and the state hash of the log at each revision where a frame ends.
pub(super) type Expected = BTreeMap<Revision, (Tail, String)>;

pub(crate) fn empty() -> State {
    State::new(Arc::new(BuiltinKinds::new(builtin::kinds(), None)))
}

/// Runs the script until it ends or the log refuses; returns the refusals in order.
pub(super) fn run(disk: &Arc<Disk>) -> Vec<Unavailable> {
    let log = opened(disk);
    let mut newest = log.state().revision;
    let writer = started(log, disk);
    let mut commands = Commands::default();
    let mut refusals = Vec::new();
    while newest.0 < COMMITS && refusals.len() < 3 {
        match submit(&writer, disk, commands.submission()) {
            Ok(revision) => newest = newest.max(revision),
            Err(refusal) => refusals.push(refusal),
        }
    }
    refusals
}

pub(super) fn open(disk: &Arc<Disk>) -> Writer {
    started(opened(disk), disk)
}

fn opened(disk: &Arc<Disk>) -> Log {
    Log::open(Arc::clone(disk) as Arc<dyn Storage>, empty()).expect("opened")
}

fn started(log: Log, disk: &Arc<Disk>) -> Writer {
    let shown = Shown(Arc::clone(disk));
    log.start(Box::new(shown)).expect("started")
}

/// A reader that is told nothing.
pub(crate) struct Silent;

impl Publish for Silent {
    fn publish(&mut self, _: State, _: Vec<Arc<Change>>) {}
}

struct Shown(Arc<Disk>);

impl Publish for Shown {
    fn publish(&mut self, state: State, _: Vec<Arc<Change>>) {
        self.0.note(Step::Shown(state.revision));
    }
}

/// Submits the commands and returns the newest revision in the answer.
pub(super) fn submit(
    writer: &Writer,
    disk: &Arc<Disk>,
    commands: Vec<Command>,
) -> Result<Revision, Unavailable> {
    let (sender, answer) = mpsc::channel();
    let disk = Arc::clone(disk);
    let reply = move |outcome: Submitted| {
        let told = outcome.map(|decisions| {
            let decided = decisions.iter().filter_map(|one| one.as_ref().ok());
            let commits = decided.flat_map(|decision| &decision.commits);
            let told = commits.map(|commit| commit.revision).max();
            told.unwrap_or(Revision::ZERO)
        });
        if let Ok(revision) = told {
            disk.note(Step::Told(revision));
        }
        sender.send(told).expect("somebody waits");
    };
    writer.submit(commands, Box::new(reply));
    answer.recv().expect("an answer")
}

/// The end and the state hash at the end of every frame, for a log without faults.
pub(super) fn expected(disk: &Disk) -> Expected {
    let frames = Arc::new(Disk::holding(
        disk.steps().iter().filter_map(|step| match step {
            Step::Append(first, bytes) => Some((*first, Arc::clone(bytes))),
            _ => None,
        }),
        None,
    ));
    let reader = crate::Reader::new(frames);
    let mut state = empty();
    let mut found = Expected::new();
    let mut add = |tail: Tail, state: &State| found.insert(tail.revision, (tail, state.hash()));
    let nothing = Tail {
        revision: Revision::ZERO,
        hash: [0; 32],
    };
    add(nothing, &state);
    for frame in reader.verified_frames(Tail::START).expect("readable") {
        let frame = frame.expect("intact");
        for commit in &frame.commits {
            hindsight_core::apply(&mut state, commit);
        }
        let tail = Tail {
            revision: state.revision,
            hash: frame.links.hash,
        };
        add(tail, &state);
    }
    found
}

#[derive(Debug, Default)]
pub(super) struct Commands {
    made: u64,
    clock: i64,
}

impl Commands {
    pub(super) fn submission(&mut self) -> Vec<Command> {
        if self.made == 0 {
            let namespace = json!({"metadata": {"name": "default"}});
            return vec![self.command(create("namespaces", "", namespace))];
        }
        let count = 1 + self.dice() % 8;
        let is_large = self.dice().is_multiple_of(12);
        (0..count).map(|_| self.any(is_large)).collect()
    }

    fn any(&mut self, is_large: bool) -> Command {
        let name = format!("c{}", self.dice() % NAMES);
        let value = noise(self.dice(), if is_large { LARGE_BYTES } else { 20 });
        let data = json!({"data": {"k": format!("{value}{}", self.made)}});
        let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
        let freed = json!({"metadata": {"finalizers": null}});
        let intent = match self.dice() % 10 {
            0..4 => create(
                "configmaps",
                "default",
                json!({"metadata": {"name": name}, "data": data["data"]}),
            ),
            4..7 => patch(&name, data),
            7 => patch(&name, held),
            8 => patch(&name, freed),
            _ => delete(&name),
        };
        self.command(intent)
    }

    /// A linear congruential generator, of which the high bits are used.
    pub(super) fn dice(&mut self) -> u64 {
        self.made = self
            .made
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.made >> 33
    }

    pub(super) fn command(&mut self, intent: Intent) -> Command {
        let seed = u128::from(self.dice()) << 64 | u128::from(self.dice());
        // The clock steps back now and then.
        self.clock += if self.dice().is_multiple_of(50) {
            -75
        } else {
            10
        };
        let (actor, time) = (Arc::new(Actor::new("t")), Time(self.clock));
        Command::new(actor, time, seed.to_le_bytes(), intent)
    }
}

/// Text that cannot be compressed.
pub(super) fn noise(seed: u64, length: usize) -> String {
    let mut bytes = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes
        .iter()
        .map(|byte| char::from(b'@' + byte % 28))
        .collect()
}

fn key(resource: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", resource), namespace, name)
}

pub(super) fn create(resource: &str, namespace: &str, object: serde_json::Value) -> Intent {
    Intent::Create(Create {
        key: key(resource, namespace, ""),
        version: "v1".into(),
        object,
        validation: FieldValidation::Warn,
    })
}

pub(super) fn patch(name: &str, patch: serde_json::Value) -> Intent {
    Intent::Patch(PatchObject {
        key: key("configmaps", "default", name),
        version: "v1".into(),
        subresource: None,
        patch: Patch::Merge(patch),
        validation: FieldValidation::Warn,
    })
}

pub(super) fn delete(name: &str) -> Intent {
    Intent::Delete(Delete {
        propagation: Some(Propagation::Background),
        ..Delete::new(
            Target::any(key("configmaps", "default", name)),
            "v1".into(),
            Rule::Requested,
        )
    })
}
