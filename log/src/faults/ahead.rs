//! The state of a log at a given time, with and without snapshots, if a clock was ahead for a moment.

use super::disk::Disk;
use super::script::{self, Silent};
use crate::{Error, Log, Reader, Records, Snapshots, Storage, thin};
use hindsight_core::{Actor, Command, Revision, Time};
use serde_json::json;
use std::num::NonZeroU64;
use std::sync::Arc;

/// The times of the commits. The object that was written ahead of its time is replaced by the next
/// commit.
const TIMES: [i64; 6] = [10, 20, 1000, 30, 40, 50];

/// A log of commits at these times, and the snapshot that its writer leaves at its end.
fn written(snapshots: &Snapshots) -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    let storage = Arc::clone(&disk) as Arc<dyn Storage>;
    let mut log = Log::open(storage, script::empty()).expect("opened");
    let kept = log.keep_snapshots(snapshots.clone(), NonZeroU64::new(10), None);
    kept.expect("started");
    let writer = log.start(Box::new(Silent)).expect("started");
    for (number, time) in (0_u8..).zip(TIMES) {
        let object = |name: &str| json!({"metadata": {"name": name}});
        let intent = match number {
            0 => script::create("namespaces", "", object("default")),
            1 => script::create("configmaps", "default", object("a")),
            _ => script::patch("a", json!({"data": {"k": number.to_string()}})),
        };
        let actor = Arc::new(Actor::new("t"));
        let command = Command::new(actor, Time(time), [number; 16], intent);
        script::submit(&writer, &disk, vec![command]).expect("written");
    }
    drop(writer);
    disk
}

/// For each time, the revision of the state; `None` if that is not kept.
fn answers(reader: &Reader) -> Vec<(i64, Option<Revision>)> {
    let asked = (0..=1100).step_by(5).map(|time| {
        let state = reader.state_at_time(script::empty(), Time(time));
        match state {
            Ok(state) => (time, Some(state.revision)),
            Err(Error::PrunedTime(_)) => (time, None),
            Err(error) => panic!("{error}"),
        }
    });
    asked.collect()
}

fn snapshots() -> (tempfile::TempDir, Snapshots) {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().join("snapshots"));
    (directory, snapshots)
}

#[test]
fn a_snapshot_of_the_writer_answers_for_no_time_before_its_latest_commit() {
    let (_directory, snapshots) = snapshots();
    let disk = written(&snapshots);
    let newest = Revision(TIMES.len() as u64);
    assert_eq!(snapshots.revisions().expect("listed"), [newest]);
    let slow = Reader::new(disk);
    let quick = slow.clone().with_snapshots(snapshots);
    let expected = answers(&slow);
    assert_eq!(answers(&quick), expected);
    let states = |revision| expected.iter().any(|(_, found)| *found == Some(revision));
    assert!(states(Revision(2)) && states(newest), "{expected:?}");
}

/// The same log after thinning, without the commit that was ahead of its time.
fn thinned() -> (Reader, Vec<(i64, Option<Revision>)>) {
    let (_directory, snapshots) = snapshots();
    let disk = written(&snapshots);
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    let whole = answers(&reader);
    thin(&*disk, &reader, Revision(5), script::empty(), &[]).expect("thinned");
    assert!(reader.commit(Revision(3)).expect("read").is_none());
    (reader, whole)
}

#[test]
fn what_was_thinned_answers_as_the_whole_log_or_not_at_all() {
    let (reader, whole) = thinned();
    let found = answers(&reader);
    let told = |one: &&(i64, Option<Revision>)| one.1.is_some();
    assert!(found.iter().any(|one| told(&one)), "{found:?}");
    assert!(
        found.iter().filter(told).all(|one| whole.contains(one)),
        "{found:?}"
    );
}

#[test]
fn a_snapshot_of_what_was_thinned_knows_the_time_of_what_is_gone() {
    let (slow, _) = thinned();
    let (_directory, snapshots) = snapshots();
    let base = slow.base(script::empty()).expect("folded");
    snapshots.write(&base).expect("written");
    let quick = slow.clone().with_snapshots(snapshots);
    let expected = answers(&slow);
    assert_eq!(answers(&quick), expected);
}
