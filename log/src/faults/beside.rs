//! Foreign files beside a log, and what happens to the log's own files when the directory is moved.

use super::disk::Disk;
use super::script::{self, Commands, Silent};
use crate::{
    Base, Clock, Error, Keeping, Log, Purpose, Reader, Records, Retention, Snapshots, Storage,
    Stored, Tail, Witnessed, Writer, verify,
};
use crossbeam_channel::{Receiver, bounded};
use hindsight_core::{Revision, Time};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

/// A log of this many objects, with names that have a common prefix.
fn logged(prefix: &str, count: u64) -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = Commands::default();
    let namespace = script::create("namespaces", "", json!({"metadata": {"name": "default"}}));
    let maps = (0..count).map(|index| {
        let object = json!({"metadata": {"name": format!("{prefix}{index}")}});
        script::create("configmaps", "default", object)
    });
    for intent in [namespace].into_iter().chain(maps) {
        let command = commands.command(intent);
        script::submit(&writer, &disk, vec![command]).expect("written");
    }
    disk
}

/// The base of the log at this revision.
fn base_at(disk: &Arc<Disk>, revision: u64) -> Base {
    let reader = Reader::new(Arc::<Disk>::clone(disk));
    let mut base = Base::empty(script::empty());
    for frame in reader.verified_frames(base.tail()).expect("readable") {
        let frame = frame.expect("intact");
        if frame.links.last() > Revision(revision) {
            break;
        }
        base.fold(&frame);
    }
    base
}

pub(super) fn kept_beside(at: &Path) -> Snapshots {
    Snapshots::at(at.join("snapshots"))
}

#[test]
fn no_answer_about_the_past_is_folded_from_a_snapshot_of_another_log() {
    let (own, other) = (logged("own", 40), logged("foreign", 30));
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = kept_beside(temporary.path());
    for (disk, revision) in [(&own, 10), (&other, 25), (&own, 35)] {
        snapshots.write(&base_at(disk, revision)).expect("written");
    }
    let slow = Reader::new(Arc::<Disk>::clone(&own));
    let quick = slow.clone().with_snapshots(snapshots.clone());
    for revision in (0..=41).map(Revision) {
        let [slowly, quickly] = [&slow, &quick].map(|reader| {
            let state = reader.state_at(script::empty(), revision);
            state.expect("folded").hash()
        });
        assert_eq!(quickly, slowly, "{revision}");
        let time = base_at(&own, revision.0).latest;
        let [slowly, quickly] = [&slow, &quick].map(|reader| {
            let state = reader.state_at_time(script::empty(), time);
            state.expect("folded").hash()
        });
        assert_eq!(quickly, slowly, "{revision} by its time");
    }
    assert!(
        snapshots.path(Revision(25)).exists(),
        "it may be wanted elsewhere"
    );
}

/// A program may have no other state at hand than the newest: nothing is folded on from that.
#[test]
fn of_the_state_that_is_folded_into_only_the_built_in_kinds_are_taken() {
    let disk = logged("a", 30);
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = kept_beside(temporary.path());
    snapshots.write(&base_at(&disk, 20)).expect("written");
    let reader = Reader::new(Arc::<Disk>::clone(&disk)).with_snapshots(snapshots.clone());
    let newest = reader.newest_state(script::empty()).expect("folded");
    for revision in [10, 20, 25, 31].map(Revision) {
        let [begun, other] = [script::empty(), newest.clone()]
            .map(|state| reader.state_at(state, revision).expect("folded"));
        assert_eq!(other.revision, revision);
        assert!(other.is_same(&begun), "{revision}");
    }
    let time = base_at(&disk, 10).latest;
    let then = reader.state_at_time(newest.clone(), time).expect("folded");
    assert!(then.revision < newest.revision);
    let base = reader.base(newest.clone()).expect("folded");
    assert!(base.state.is_same(&newest));
    assert!(snapshots.path(Revision(20)).exists(), "it is intact");
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory");
    let named = entries.map(|entry| {
        let entry = entry.expect("readable");
        let bytes = fs::read(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), bytes)
    });
    named.collect()
}

/// A log in a directory, with a snapshot every `every` commits.
fn started(at: &Path, storage: Arc<dyn Storage>, every: u64) -> Writer {
    let mut log = Log::open(storage, script::empty()).expect("opened");
    log.keep_snapshots(kept_beside(at), NonZeroU64::new(every), None)
        .expect("started");
    log.start(Box::new(Silent)).expect("started")
}

#[test]
fn whatever_comes_to_the_place_of_a_directory_is_left_as_it_is() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path().join("data");
    fs::create_dir_all(at.join("snapshots")).expect("made");
    let disk = Arc::new(Disk::default());
    let mut commands = Commands::default();
    // No snapshot is due before the directory is moved.
    let writer = started(&at, Arc::<Disk>::clone(&disk), 100);
    for _ in 0..5 {
        script::submit(&writer, &disk, commands.submission()).expect("written");
    }
    fs::rename(&at, temporary.path().join("moved")).expect("moved");
    let theirs = at.join("snapshots");
    fs::create_dir_all(&theirs).expect("made");
    for name in [
        "00000000000000000001.snapshot",
        "00000000000000000002.snapshot",
        "00000000000000000003.snapshot",
        "00000000000000000001.damaged",
        "00000000000000000004.unfinished",
    ] {
        fs::write(theirs.join(name), "theirs").expect("written");
    }
    let before = files(&theirs);
    for _ in 0..60 {
        script::submit(&writer, &disk, commands.submission()).expect("written");
    }
    drop(writer);
    assert_eq!(files(&theirs), before);
}

#[test]
fn what_cannot_be_listed_is_not_known_and_nothing_of_it_is_removed() {
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = kept_beside(temporary.path());
    assert_eq!(snapshots.revisions().expect("there are none"), []);
    fs::write(temporary.path().join("snapshots"), "no directory").expect("written");
    assert!(matches!(snapshots.revisions(), Err(Error::Io { .. })));
    assert!(matches!(
        snapshots.retain(Revision(9), &[]),
        Err(Error::Io { .. })
    ));
    let disk = logged("own", 3);
    let reader = Reader::new(Arc::<Disk>::clone(&disk)).with_snapshots(snapshots);
    let state = reader.state_at(script::empty(), Revision(4));
    assert_eq!(state.expect("from the log").len(), 4);
    drop(started(temporary.path(), disk, 1));
}

/// Here a link to itself, which the system cannot examine; in practice a disk that fails.
#[cfg(unix)]
#[test]
fn a_snapshot_of_which_the_system_says_nothing_is_not_taken_for_none() {
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = kept_beside(temporary.path());
    let disk = logged("own", 30);
    drop(started(temporary.path(), disk, 1));
    let before = snapshots.revisions().expect("listed");
    let newest = *before.first().expect("a snapshot");
    let other = snapshots.path(newest.next());
    std::os::unix::fs::symlink(&other, &other).expect("made");
    assert!(matches!(snapshots.revisions(), Err(Error::Io { .. })));
    let removed = snapshots.retain(newest.next(), &[]);
    assert!(matches!(removed, Err(Error::Io { .. })));
    fs::remove_file(other).expect("removed");
    assert_eq!(snapshots.revisions().expect("listed"), before);
}

/// Opens the log from its newest snapshot, writes to about this revision, and ends. The policy keeps the
/// log small.
pub(super) fn thinning_life(
    disk: &Arc<Disk>,
    snapshots: &Snapshots,
    commands: &mut Commands,
    until: u64,
) -> Revision {
    let policy = Retention {
        age_micros: None,
        bytes: Some(1_000),
        kinds: Vec::new(),
    };
    let keeping = Keeping {
        policy,
        clock: Clock::new(|| Time(0)),
        empty: script::empty(),
    };
    let storage = Arc::clone(disk) as Arc<dyn Storage>;
    let base = snapshots.newest(&script::empty());
    let base = base.unwrap_or_else(|| Base::empty(script::empty()));
    let mut log = Log::open_from(storage, base).expect("opened");
    let mut newest = log.state().revision;
    log.keep_snapshots(snapshots.clone(), NonZeroU64::new(40), Some(keeping))
        .expect("started");
    let writer = log.start(Box::new(Silent)).expect("started");
    while newest < Revision(until) {
        let told = script::submit(&writer, disk, commands.submission()).expect("written");
        newest = newest.max(told);
    }
    newest
}

#[test]
fn history_is_thinned_up_to_the_older_snapshot_so_that_a_damaged_newest_can_be_done_without() {
    let temporary = tempfile::tempdir().expect("a directory");
    let snapshots = kept_beside(temporary.path());
    let disk = Arc::new(Disk::default());
    let storage = Arc::clone(&disk) as Arc<dyn Storage>;
    let mut commands = Commands::default();
    // Each life leaves a snapshot at its end.
    let newest = thinning_life(&disk, &snapshots, &mut commands, 200).max(thinning_life(
        &disk,
        &snapshots,
        &mut commands,
        400,
    ));
    let found = snapshots.revisions().expect("listed");
    assert_eq!(found.len(), 2, "{found:?}");
    let floor = Reader::new(Arc::clone(&storage) as _)
        .floor()
        .expect("read");
    assert!(Revision::ZERO < floor && floor <= found[1], "{floor}");
    let whole = snapshots.newest(&script::empty()).expect("there");
    let log = Log::open_from(Arc::clone(&storage), whole).expect("opened");
    let expected = log.state();
    fs::write(snapshots.path(found[0]), "rot").expect("written");
    let older = snapshots.newest(&script::empty()).expect("the older");
    assert_eq!(older.state.revision, found[1]);
    older
        .tail()
        .check_in(&*storage)
        .expect("the log was that once");
    let log = Log::open_from(storage, older).expect("opened");
    let state = log.state();
    assert_eq!((state.revision, state.hash()), (newest, expected.hash()));
    verify(&Reader::new(disk), |_| {}).expect("intact");
}

/// As snapshots of an older copy that was put back, or hard links of one.
#[test]
fn a_start_passes_over_snapshots_whose_revisions_were_thinned() {
    let (disk, temporary) = (logged("own", 60), tempfile::tempdir().expect("a directory"));
    let snapshots = kept_beside(temporary.path());
    let bases = [10, 20, 50].map(|revision| base_at(&disk, revision));
    for base in &bases[..2] {
        snapshots.write(base).expect("written");
    }
    let reader = Reader::new(Arc::<Disk>::clone(&disk));
    crate::thin(&*disk, &reader, Revision(40), script::empty(), &[]).expect("thinned");
    let log: Arc<dyn Storage> = disk;
    let whole = Log::open(Arc::clone(&log), script::empty()).expect("opened");
    for (further, found) in [(None, None), (bases.last(), Some(Revision(50)))] {
        if let Some(base) = further {
            snapshots.write(base).expect("written");
        }
        let base = snapshots.newest_in(&*log, &script::empty());
        assert_eq!(base.as_ref().map(|base| base.state.revision), found);
        let base = base.unwrap_or_else(|| Base::empty(script::empty()));
        let opened = Log::open_from(Arc::clone(&log), base).expect("opened");
        assert_eq!(opened.state().hash(), whole.state().hash());
    }
}

/// A disk that does not answer whether there is space for a snapshot until it is allowed to.
#[derive(Debug)]
struct Slow {
    disk: Arc<Disk>,
    let_go: Receiver<()>,
}

impl Records for Slow {
    fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.disk.at_or_after(from)
    }

    fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.disk.at_or_before(until)
    }

    fn witnessed(&self) -> Result<Option<Tail>, Error> {
        self.disk.witnessed()
    }
}

impl Storage for Slow {
    fn append(&self, first: Revision, frame: &[u8]) -> Result<(), Error> {
        self.disk.append(first, frame)
    }

    fn replace(&self, first: Revision, last: Witnessed, frame: &[u8]) -> Result<(), Error> {
        self.disk.replace(first, last, frame)
    }

    fn sync(&self) -> Result<(), Error> {
        self.disk.sync()
    }

    fn witness(&self, tail: &Tail) {
        self.disk.witness(tail);
    }

    fn ensure_space(&self, bytes: usize, purpose: Purpose) -> bool {
        if matches!(purpose, Purpose::Snapshot { .. }) {
            self.let_go.recv().ok();
        }
        self.disk.ensure_space(bytes, purpose)
    }
}

#[test]
fn nobody_waits_for_a_snapshot_that_takes_its_time() {
    let temporary = tempfile::tempdir().expect("a directory");
    let disk = Arc::new(Disk::default());
    let (held, let_go) = bounded(0);
    let slow = Slow {
        disk: Arc::clone(&disk),
        let_go,
    };
    let writer = started(temporary.path(), Arc::new(slow), 1);
    let mut commands = Commands::default();
    for _ in 0..20 {
        script::submit(&writer, &disk, commands.submission()).expect("answered");
    }
    let found = kept_beside(temporary.path()).revisions();
    assert_eq!(found.expect("listed"), [], "none is begun");
    drop(held);
    drop(writer);
    let found = kept_beside(temporary.path()).revisions();
    assert_ne!(found.expect("listed"), []);
}
