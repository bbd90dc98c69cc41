//! Changes that are read back: all that are kept, in order, with what they replaced, and nothing else.

use super::retention::logged;
use super::script;
use super::times::restored;
use crate::{Base, Error, MemoryStorage, Reader, Records, Snapshots, Storage, thin, verify};
use hindsight_core::{Change, Commit, Object, Revision, Time, apply};
use serde_json::json;
use std::sync::Arc;

/// A commit, and the version that it replaced.
type Replaced = (Commit, Option<Arc<Object>>);

/// The log of the script; one bit of the frame that begins here is turned.
fn log(damaged: Option<Revision>) -> Arc<MemoryStorage> {
    let storage = MemoryStorage::default();
    for (first, bytes) in logged().frames() {
        let mut bytes = bytes.to_vec();
        if damaged == Some(first) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        storage.append(first, &bytes).expect("in memory");
    }
    Arc::new(storage)
}

fn reader(log: &Arc<MemoryStorage>) -> Reader {
    Reader::new(Arc::clone(log) as Arc<dyn Records>)
}

/// The base at the end of each frame.
fn bases(reader: &Reader) -> Vec<Base> {
    let mut base = Base::empty(script::empty());
    let frames = reader.frames(Revision(1));
    let bases = frames.map(|frame| {
        base.fold(&frame.expect("intact"));
        base.clone()
    });
    bases.collect()
}

fn happened(reader: &Reader) -> Vec<Replaced> {
    let mut state = script::empty();
    let commits = reader.scan_all(Revision(1));
    let replaced = commits.map(|commit| {
        let commit = commit.expect("intact");
        let previous = apply(&mut state, &commit);
        (commit, previous)
    });
    replaced.collect()
}

/// What is read back, and where the fold began.
fn read_back(reader: &Reader, from: u64, until: u64) -> Result<(u64, Vec<Replaced>), Error> {
    let mut found = Vec::new();
    let take = |changes: Vec<Arc<Change>>| {
        assert!(!changes.is_empty());
        let replaced = |change: &Arc<Change>| {
            let Change { commit, previous } = Change::clone(change);
            (Commit::clone(&commit), previous)
        };
        found.extend(changes.iter().map(replaced));
    };
    let begun = reader.changes(script::empty(), Revision(from), Revision(until), take)?;
    Ok((begun.0, found))
}

/// Those after one revision, up to another.
fn between(happened: &[Replaced], after: u64, until: u64) -> &[Replaced] {
    let [after, until] = [after, until].map(|at| usize::try_from(at).expect("few"));
    &happened[after..until]
}

#[test]
fn changes_are_read_back_as_they_happened_from_the_snapshot_before() {
    let log = log(None);
    let happened = happened(&reader(&log));
    assert!(happened.iter().any(|(commit, _)| commit.object().is_none()));
    let newest = happened.len() as u64;
    let (begun, all) = read_back(&reader(&log), newest, newest).expect("read");
    assert!(begun == 0 && all == happened);
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().join("snapshots"));
    let bases = bases(&reader(&log));
    let (first, second) = (&bases[bases.len() / 3], &bases[bases.len() / 2]);
    snapshots.write(first).expect("written");
    snapshots.write(second).expect("written");
    let (first, second) = (first.state.revision.0, second.state.revision.0);
    let reader = reader(&log).with_snapshots(snapshots);
    for (from, until, base) in [
        (newest, newest, second),
        (second, newest, second),
        (second - 1, second, first),
        (second - 1, second + 1, first),
        (first, newest, first),
        (first - 1, first, 0),
        (0, 1, 0),
    ] {
        let (begun, found) = read_back(&reader, from, until).expect("read");
        assert_eq!(begun, base, "{from}");
        assert!(found == between(&happened, base, until), "{from} {until}");
    }
}

#[test]
fn of_a_thinned_log_the_changes_behind_its_floor_are_read_back() {
    let log = log(None);
    let happened = happened(&reader(&log));
    let newest = happened.len() as u64;
    let ends = bases(&reader(&log));
    for base in ends.iter().step_by(60).skip(1) {
        let floor = base.state.revision;
        thin(&*log, &reader(&log), floor, script::empty(), &[]).expect("thinned");
        verify(&reader(&log), |_| {}).expect("intact");
        for from in [1, floor.0, newest] {
            let (begun, found) = read_back(&reader(&log), from, newest).expect("read");
            assert_eq!(begun, 0);
            let kept = between(&happened, floor.0, newest);
            assert!(found.ends_with(kept), "{floor}");
            // Records that are too large to be thinned together stay whole; what they hold is true as well.
            let (others, _) = found.split_at(found.len() - kept.len());
            let at = |one: &Replaced| usize::try_from(one.0.revision.0).expect("few") - 1;
            assert!(others.iter().all(|one| *one == happened[at(one)]));
            assert!(others.len() < happened.len() - kept.len(), "{floor}");
        }
    }
}

#[test]
fn a_restore_is_no_change_and_what_follows_it_begins_behind_a_gap() {
    let before = happened(&Reader::new(logged()));
    let disk = restored(logged(), Time(1));
    let writer = script::open(&disk);
    let namespace = json!({"metadata": {"name": "later"}});
    let intent = script::create("namespaces", "", namespace);
    let command = script::Commands::default().command(intent);
    script::submit(&writer, &disk, vec![command]).expect("written");
    drop(writer);
    let reader = Reader::new(disk);
    let newest = reader.newest().expect("read");
    let (_, found) = read_back(&reader, 1, newest.0).expect("read");
    let (last, others) = found.split_last().expect("some");
    assert!(others == before);
    assert_eq!(last.0.revision, newest);
    assert!(newest.0 > before.len() as u64 + 1, "{newest}");
}

#[test]
fn nothing_is_read_back_over_a_damaged_record() {
    let intact = reader(&log(None));
    let newest = intact.newest().expect("read").0;
    let bases = bases(&intact);
    let middle = bases.len() / 2;
    // A walk looks at one frame behind the last that it needs.
    let before = bases[middle - 1].state.revision.0;
    let damaged = bases[middle].state.revision.next();
    let log = log(Some(damaged));
    let error = read_back(&reader(&log), 1, newest).expect_err("damaged");
    assert!(
        matches!(error, Error::Corrupt { revision, .. } if revision == damaged),
        "{error}"
    );
    let (_, found) = read_back(&reader(&log), 1, before).expect("read");
    assert!(found == between(&happened(&intact), 0, before));
}
