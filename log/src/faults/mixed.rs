//! Files of two logs in one directory, of which one was thinned: what was thinned has nothing more to compare.

use super::beside::kept_beside;
use super::copies::copy;
use super::damaged::{frames_of, intact, make};
use super::disk::Disk;
use super::refusals::tail;
use super::rot::open;
use super::script::empty;
use crate::retention::thin;
use crate::{Error, Log, Reader, Records, SledStorage, Storage};
use hindsight_core::Revision;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const FLOOR: Revision = Revision(80);
/// The lengths of what is written to two logs. Of all of it, little is left when it is thinned.
const LENGTHS: [usize; 2] = [20, 30];
const FRAMES: usize = 40;

/// A log that was thinned, after a clean end.
fn make_thinned(at: &Path) -> Revision {
    let newest = make(at, &frames_of(|_| LENGTHS[0]));
    let storage = Arc::new(SledStorage::open(&at.join("events")).expect("opened"));
    let reader = Reader::new(Arc::clone(&storage) as Arc<dyn Records>);
    thin(&*storage, &reader, FLOOR, empty(), &[]).expect("thinned");
    storage.sync().expect("synced");
    newest
}

/// Another log as a kill of its first process leaves it: all of them are in the journal.
fn make_short(at: &Path) {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
    for (first, bytes) in &frames_of(|_| LENGTHS[1])[..FRAMES] {
        storage.append(*first, bytes).expect("appended");
    }
    storage.sync().expect("synced");
    copy(temporary.path(), at);
}

#[test]
fn a_database_that_was_thinned_past_what_was_acknowledged_here_is_refused() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| temporary.path().join(name);
    let newest = make_thinned(&place("thinned"));
    make(&place("ended"), &frames_of(|_| LENGTHS[1])[..FRAMES]);
    make_short(&place("killed"));
    for (own, files) in [
        ("ended", &["events.tail"][..]),
        ("ended", &["events.tail", "events/journal"]),
        ("killed", &["events/journal"]),
        ("killed", &["events/journal", "events.tail"]),
    ] {
        let mixed = place("mixed");
        copy(&place("thinned"), &mixed);
        for file in files {
            fs::copy(place(own).join(file), mixed.join(file)).expect("copied");
        }
        let before = fs::read(mixed.join("events/journal")).expect("read");
        let error = open(&mixed).expect_err("refused");
        assert!(
            matches!(error, Error::Diverged { .. }),
            "{own} {files:?}: {error}"
        );
        assert!(fs::read(mixed.join("events/journal")).expect("read") == before);
        fs::remove_dir_all(mixed).expect("removed");
    }
    assert_eq!(open(&place("thinned")).expect("opened"), newest);
}

/// Opens a log as a server does, from its newest snapshot on.
fn open_from_snapshot(at: &Path) -> Result<Revision, Error> {
    let storage = Arc::new(SledStorage::open(&at.join("events"))?);
    let base = kept_beside(at).newest_in(&*storage, &empty());
    let log = Log::open_from(storage, base.expect("a snapshot"))?;
    Ok(log.state().revision)
}

#[test]
fn a_start_from_a_snapshot_refuses_the_witness_of_another_log_too() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| temporary.path().join(name);
    let newest = make(&place("own"), &frames_of(|_| LENGTHS[0]));
    let base = intact(&place("own")).reader.base(empty()).expect("folded");
    let frames = frames_of(|_| LENGTHS[1]);
    assert_eq!(make(&place("other"), &frames), newest);
    make(&place("shorter"), &frames[..FRAMES]);
    for other in ["other", "shorter"] {
        let mixed = place("mixed");
        copy(&place("own"), &mixed);
        kept_beside(&mixed).write(&base).expect("written");
        assert_eq!(open_from_snapshot(&mixed).expect("opened"), newest);
        let tail = mixed.join("events.tail");
        fs::copy(place(other).join("events.tail"), &tail).expect("copied");
        let noted = fs::read(&tail).expect("read");
        for _ in 0..2 {
            let error = open_from_snapshot(&mixed).expect_err("refused");
            assert!(matches!(error, Error::Diverged { .. }), "{other}: {error}");
            assert!(fs::read(&tail).expect("read") == noted, "{other}");
        }
        fs::remove_dir_all(mixed).expect("removed");
    }
}

/// Its hash cannot be compared any more.
#[test]
fn a_note_of_a_revision_that_was_thinned_since_refuses_no_start_from_a_snapshot() {
    let frames = frames_of(|_| LENGTHS[0]);
    let noted = tail(&frames[FRAMES]);
    let disk = Arc::new(Disk::holding(frames, None));
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    thin(&*disk, &reader, FLOOR, empty(), &[]).expect("thinned");
    let base = reader.base(empty()).expect("folded");
    let found = Arc::new(Disk::holding(disk.frames(), Some(noted)));
    Log::open_from(found, base).expect("opened");
}
