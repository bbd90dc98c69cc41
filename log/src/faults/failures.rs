//! A disk that fails at its n-th call: what was answered before stands, nothing is answered or shown
//! afterwards, nothing is retried, and what is left opens.

use super::disk::{Crash, Disk, Faults, Step};
use super::is_long;
use super::retention::{assert_thinned, logged};
use super::script::{Commands, Expected, Silent, empty, expected, run, submit};
use crate::retention::Thinner;
use crate::storage::synced::Synced;
use crate::{Clock, Keeping, Log, Poison, Reader, Retention, Snapshots, Storage};
use hindsight_core::{Revision, Time, Unavailable};
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_failing_disk_poisons_the_log_at_whichever_call_it_fails() {
    let whole = Arc::new(Disk::default());
    assert_eq!(run(&whole), []);
    let expected = expected(&whole);
    let stride = if is_long() { 1 } else { 17 };
    // The first sync is the one of opening: if it fails, the log does not open.
    for at in (1..whole.syncs()).step_by(stride) {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
            let sync = Some((at, kind));
            check(
                Faults {
                    sync,
                    ..Faults::default()
                },
                &expected,
            );
        }
    }
    for at in (0..whole.appends()).step_by(stride) {
        for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
            let append = Some((at, kind));
            check(
                Faults {
                    append,
                    ..Faults::default()
                },
                &expected,
            );
        }
    }
}

#[test]
fn a_log_that_cannot_be_synced_is_not_opened() {
    let sync = Some((0, ErrorKind::Other));
    let disk = Disk::failing(Faults {
        sync,
        ..Faults::default()
    });
    assert!(Log::open(Arc::new(disk), empty()).is_err());
}

fn check(faults: Faults, expected: &Expected) {
    let disk = Arc::new(Disk::failing(faults));
    let refusals = run(&disk);
    assert_eq!(refusals.len(), 3, "{faults:?}");
    for refusal in refusals {
        assert!(matches!(refusal, Unavailable::Poisoned(_)), "{refusal:?}");
    }
    let steps = disk.steps();
    let mut crash = Crash::before_everything();
    steps.iter().for_each(|step| crash.follow(step));
    assert_eq!(crash.told, crash.shown);
    // What failed is the last that was tried.
    let appends = steps.iter().filter(|step| matches!(step, Step::Append(..)));
    match (faults.append, steps.last()) {
        (Some((failing, _)), Some(Step::Append(..))) => assert_eq!(appends.count(), failing + 1),
        (None, Some(Step::FailedSync)) => {}
        (_, last) => panic!("{faults:?}: {last:?}"),
    }
    let witness = crash.newest_witness();
    for kept in 0..=crash.unsynced.len() {
        let disk = crash.keeping(|index| index < kept, witness);
        let log = Log::open(Arc::new(disk), empty()).expect("opened");
        let state = log.state();
        assert!(state.revision >= crash.told);
        assert_eq!(state.hash(), expected[&state.revision].1, "{faults:?}");
    }
}

fn keeping(clock: fn() -> Time) -> Keeping {
    Keeping {
        policy: Retention {
            age_micros: None,
            bytes: Some(60_000),
            kinds: Vec::new(),
        },
        clock: Clock::new(clock),
        empty: empty(),
    }
}

#[test]
fn a_panic_of_the_thread_that_thins_the_log_poisons_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let snapshots = Snapshots::at(directory.path().to_owned());
    let disk = Arc::new(Disk::default());
    let storage = Arc::clone(&disk) as Arc<dyn Storage>;
    let mut log = Log::open(storage, empty()).expect("opened");
    let broken = keeping(|| panic!("a defect"));
    log.keep_snapshots(snapshots, NonZeroU64::new(1), Some(broken))
        .expect("started");
    let writer = log.start(Box::new(Silent)).expect("started");
    let poison = writer.poison().clone();
    submit(&writer, &disk, Commands::default().submission()).expect("written");
    // Dropping the writer waits for that thread, which writes the snapshot if it has not done so yet.
    drop(writer);
    let reason = poison.reason().expect("poisoned");
    assert!(reason.contains("panic"), "{reason}");
}

/// A log that is being thinned, and what is known about that.
struct Thinned {
    disk: Arc<Disk>,
    poison: Poison,
    thinner: Thinner,
}

impl Thinned {
    fn new(whole: &Disk, snapshots: &Snapshots, faults: Faults) -> Self {
        let disk = Arc::new(Disk::holding(whole.frames(), None).with(faults));
        let poison = Poison::default();
        let newest = snapshots.revisions().expect("listed")[0];
        let storage = Synced::new(Arc::clone(&disk) as _, newest, poison.clone());
        let keeping = keeping(|| Time(0));
        let (storage, snapshots) = (Arc::new(storage), snapshots.clone());
        Self {
            disk,
            thinner: Thinner::new(storage, snapshots, keeping, poison.clone()),
            poison,
        }
    }

    fn round(&mut self) {
        self.thinner.begin();
        while self.thinner.turn() {}
    }
}

/// A snapshot of the end of the log, alone in this directory.
fn snapshots(reader: &Reader, directory: &Path) -> Snapshots {
    let snapshots = Snapshots::at(directory.to_owned());
    let base = reader.base(empty()).expect("folded");
    snapshots.write(&base).expect("written");
    snapshots
}

/// The failed call wrote nothing, so nothing is unknown.
#[test]
fn a_read_that_fails_while_the_log_is_thinned_poisons_nothing_and_is_tried_again() {
    let (whole, directory) = (logged(), tempfile::tempdir().expect("a directory"));
    let reader = Reader::new(Arc::clone(&whole) as _);
    let snapshots = snapshots(&reader, directory.path());
    let mut sound = Thinned::new(&whole, &snapshots, Faults::default());
    sound.round();
    let (reads, replacements) = (sound.disk.reads(), sound.disk.replacements());
    assert!(replacements > 3, "{replacements}");
    let stride = if is_long() { 1 } else { reads / 12 };
    let mut interrupted = 0;
    for at in (0..reads).step_by(stride).chain([reads - 1]) {
        let read = Some((at, ErrorKind::Other));
        let faults = Faults {
            read,
            ..Faults::default()
        };
        let mut thinned = Thinned::new(&whole, &snapshots, faults);
        thinned.round();
        assert_eq!(thinned.poison.reason(), None, "read {at}");
        assert_eq!(thinned.disk.reads(), at + 1, "the round ended with it");
        // After the last replacement more is read, to find out that nothing is left to do.
        let done = thinned.disk.replacements();
        assert!(done <= replacements, "read {at}");
        interrupted += usize::from((1..replacements).contains(&done));
        thinned.round();
        assert_eq!(thinned.poison.reason(), None, "read {at}");
        assert!(thinned.disk.replacements() >= replacements, "read {at}");
        assert_thinned(&thinned.disk, &reader);
    }
    assert!(interrupted > 3, "{interrupted}");
    let some = [0, replacements / 2, replacements - 1];
    for at in (0..replacements).filter(|at| is_long() || some.contains(at)) {
        let replace = Some((at, ErrorKind::Other));
        let faults = Faults {
            replace,
            ..Faults::default()
        };
        let mut failed = Thinned::new(&whole, &snapshots, faults);
        failed.round();
        let reason = failed.poison.reason().expect("poisoned");
        assert!(reason.contains("replacing"), "{reason}");
        failed.round();
        assert_eq!(failed.disk.replacements(), at + 1, "nothing is tried again");
    }
}

#[test]
fn a_clean_up_that_fails_poisons_the_log_and_is_not_tried_again() {
    const OWED: usize = 40;
    let (whole, directory) = (logged(), tempfile::tempdir().expect("a directory"));
    let reader = Reader::new(Arc::clone(&whole) as _);
    let snapshots = snapshots(&reader, directory.path());
    let mut sound = Thinned::new(&whole, &snapshots, Faults::default());
    sound.disk.set_owed(OWED);
    sound.round();
    assert_eq!(sound.disk.owed(), 0);
    let tidied = sound.disk.tidied();
    assert!(tidied > OWED, "{tidied}");
    for at in [0, OWED / 2, OWED, tidied - 1] {
        let tidy = Some((at, ErrorKind::Other));
        let faults = Faults {
            tidy,
            ..Faults::default()
        };
        let mut failed = Thinned::new(&whole, &snapshots, faults);
        failed.disk.set_owed(OWED);
        failed.round();
        let reason = failed.poison.reason().expect("poisoned");
        assert!(reason.contains("tidying"), "{reason}");
        let written = failed.disk.steps().len();
        failed.round();
        assert_eq!(failed.disk.tidied(), at + 1, "nothing is tried again");
        assert_eq!(failed.disk.steps().len(), written, "nor anything else");
    }
}

#[test]
fn a_note_that_cannot_be_synced_keeps_the_history_and_poisons_nothing() {
    let (whole, directory) = (logged(), tempfile::tempdir().expect("a directory"));
    let reader = Reader::new(Arc::clone(&whole) as _);
    let snapshots = snapshots(&reader, directory.path());
    let half = Revision(snapshots.revisions().expect("listed")[0].0 / 2);
    for newest in [Revision::ZERO, half] {
        let faults = Faults {
            witness: Some(newest),
            ..Faults::default()
        };
        let mut thinned = Thinned::new(&whole, &snapshots, faults);
        for _ in 0..2 {
            thinned.round();
            assert_eq!(thinned.poison.reason(), None);
            assert_eq!(thinned.disk.replacements(), 0, "{newest}");
            let floor = Reader::new(Arc::clone(&thinned.disk) as _).floor();
            assert_eq!(floor.expect("read"), Revision::ZERO, "{newest}");
        }
        let mut next = Thinned::new(&thinned.disk, &snapshots, Faults::default());
        next.round();
        assert_thinned(&next.disk, &reader);
    }
}
