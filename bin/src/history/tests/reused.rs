//! What a question reads does not grow with what others did who had the same name.

use super::pages::update;
use super::{PATIENCE, create, delete, frames, key, object, write};
use crate::history::{HistoryIndex, LogHistory};
use crate::inspect::why;
use crate::{Config, ControlPlane};
use hindsight_core::command::{Create, FieldValidation};
use hindsight_core::{Intent, Revision, Uid};
use hindsight_log::{Error, MemoryStorage, Reader, Records, Storage, Stored, Tail};
use hindsight_projector::Fate;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How many objects had the name, one after the other.
const LIVES: usize = 300;
/// How often the last of them was written.
const WRITES: usize = 1_000;
/// The owners of a dependent that name it with the uid of nobody.
const OWNERS: usize = 20;
/// The most frames that one question reads.
const READS_MAX: usize = 150;
/// The same for one that passes over the newest versions of a live object, for its earlier owners.
const READS_OF_VERSIONS_MAX: usize = 2 * WRITES + READS_MAX;

#[derive(Debug, Default)]
struct Counting {
    storage: MemoryStorage,
    reads: AtomicUsize,
}

impl Records for Counting {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.storage.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.storage.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.storage.witnessed()
    }
}

/// An object whose owners are those that have the name, with other uids.
fn dependent() -> Intent {
    let owner = |number: usize| {
        let uid = format!("00000000-0000-4000-8000-{number:012}");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "hot", "uid": uid})
    };
    let owners: Vec<Value> = (0..OWNERS).map(owner).collect();
    Intent::Create(Create {
        key: key(""),
        version: "v1".into(),
        object: json!({"metadata": {"name": "dependent", "ownerReferences": owners}}),
        validation: FieldValidation::Ignore,
    })
}

/// Uses the name again and again, and has a dependent collected. Returns the uids that the name had.
fn reuse(plane: &ControlPlane) -> Vec<Uid> {
    let mut uids = Vec::new();
    for life in 1..=LIVES {
        write(plane, [create("hot")]);
        let state = plane.state();
        uids.extend(state.get(&key("hot")).map(|object| object.meta.uid.clone()));
        if life < LIVES {
            write(plane, [delete("hot")]);
        }
    }
    let data = |version: usize| json!({"n": version.to_string()});
    let versions = (0..WRITES).map(|version| update(&json!([]), &data(version)));
    write(plane, versions);
    write(plane, [dependent()]);
    let begun = Instant::now();
    while plane.state().get(&key("dependent")).is_some() {
        assert!(begun.elapsed() < PATIENCE, "it is not collected");
        std::thread::yield_now();
    }
    uids
}

#[test]
fn one_why_reads_little_however_often_a_name_was_written_and_used_again() {
    let plane = ControlPlane::open(Config::default()).expect("it opens");
    let uids = reuse(&plane);
    let log = Arc::new(Counting::default());
    for (first, frame) in frames(&plane) {
        log.storage.append(first, &frame).expect("appended");
    }
    let (reader, index) = (
        Reader::new(Arc::clone(&log) as _),
        HistoryIndex::new(1, usize::MAX),
    );
    let state = plane.state();
    let asked = |name: &str, uid: Option<&str>| {
        let history = LogHistory::new(&reader, &index);
        let mut asked = object(name);
        asked.uid = uid.map(str::to_owned);
        let before = log.reads.load(Ordering::SeqCst);
        let told = why(&history, &state, &asked).expect("it is answered");
        let reads = log.reads.load(Ordering::SeqCst) - before;
        (told.explanation, reads)
    };
    // Makes the index.
    let (never, all) = asked("never", None);
    assert_eq!(never.state, Fate::Unknown);
    assert!(all > LIVES, "{all}");
    for (at, fate, reads_max) in [
        (0, Fate::Deleted, READS_MAX),
        (LIVES / 2, Fate::Deleted, READS_MAX),
        (LIVES - 1, Fate::Live, READS_OF_VERSIONS_MAX),
    ] {
        let uid = uids[at].as_str();
        let (told, reads) = asked("hot", Some(uid));
        assert_eq!((told.state, &*told.object.uid), (fate, uid), "{at}");
        assert!(reads <= reads_max, "{at}: {reads}");
    }
    let (nobody, reads) = asked("hot", Some("of nobody"));
    assert_eq!(nobody.state, Fate::Unknown);
    assert!(reads <= READS_MAX, "{reads}");
    let (told, reads) = asked("dependent", None);
    assert_eq!(told.state, Fate::Deleted);
    let owners = told.chain.first().map(|link| &link.owners);
    let owners = owners.expect("a link");
    assert_eq!(owners.len(), OWNERS);
    assert!(owners.iter().all(|owner| owner.end.is_none()));
    assert!(reads <= READS_MAX, "{reads}");
}
