//! Damage to the files of a database: whatever is still intact is neither lost nor hidden.

use super::copies::copy;
use super::disk::Disk;
use super::is_long;
use super::rot::open;
use super::script::{self, Commands, create, empty, noise, patch, submit};
use crate::retention::thin;
use crate::storage::sled::SEGMENT_BYTES;
use crate::{Error, Intact, Reader, Records, SledStorage, Snapshots, Storage, Tail, frame};
use hindsight_core::{Commit, Revision};
use serde_json::json;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILES_DAMAGED: usize = 40;
const RECORDS: u64 = 60;
/// Frames after which the log is opened again: sled then notes its position if the database has grown,
/// and reads from there the next time.
const OPENED_AT: [usize; 2] = [30, 60];
/// No message begins closer than this to the end of a segment.
const BEFORE_END: usize = 32;
/// More than a value of sled has here.
const LARGE_BYTES: usize = 96 << 10;

/// Frames of single objects; one in `apart` is so large that it takes several values.
pub(super) fn frames(apart: u64) -> Vec<(Revision, Arc<[u8]>)> {
    frames_of(|number| {
        if number % apart == 0 {
            3 * LARGE_BYTES
        } else {
            20
        }
    })
}

/// Frames of single objects of these lengths.
pub(super) fn frames_of(length: impl Fn(u64) -> usize) -> Vec<(Revision, Arc<[u8]>)> {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = Commands::default();
    let namespace = json!({"metadata": {"name": "default"}});
    let mut intents = vec![create("namespaces", "", namespace)];
    for number in 0..RECORDS {
        let data = json!({"k": noise(number, length(number))});
        let object = json!({"metadata": {"name": format!("c{number}")}, "data": data});
        intents.push(create("configmaps", "default", object));
        intents
            .extend((number > 9).then(|| patch("c1", json!({"data": {"n": number.to_string()}}))));
    }
    for intent in intents {
        let command = commands.command(intent);
        submit(&writer, &disk, vec![command]).expect("written");
    }
    disk.frames()
}

/// A log in files, opened now and then, after a clean shutdown.
pub(super) fn make(directory: &Path, frames: &[(Revision, Arc<[u8]>)]) -> Revision {
    write(directory, frames).0
}

/// The same as a kill leaves it: the newest records are in the journal alone.
fn make_killed(directory: &Path, frames: &[(Revision, Arc<[u8]>)]) -> Revision {
    let temporary = tempfile::tempdir().expect("a directory");
    let (newest, _storage) = write(temporary.path(), frames);
    copy(temporary.path(), directory);
    newest
}

fn write(directory: &Path, frames: &[(Revision, Arc<[u8]>)]) -> (Revision, SledStorage) {
    let events = directory.join("events");
    let mut storage = SledStorage::open(&events).expect("made");
    let mut newest = Revision::ZERO;
    for (place, (first, bytes)) in frames.iter().enumerate() {
        if OPENED_AT.contains(&place) {
            drop(storage);
            storage = SledStorage::open(&events).expect("opened");
        }
        storage.append(*first, bytes).expect("appended");
        storage.sync().expect("synced");
        newest = frame::end(*first, bytes).expect("whole").previous();
        storage.witness(&Tail {
            revision: newest,
            hash: frame::hash(bytes),
        });
    }
    (newest, storage)
}

pub(super) type Make = fn(&Path, &[(Revision, Arc<[u8]>)]) -> Revision;

/// A log without damage: its end, its commits, and the length of its database.
pub(super) fn whole(directory: &Path, apart: u64, make: Make) -> (Revision, Vec<Commit>, usize) {
    let newest = make(directory, &frames(apart));
    let commits = commits(&intact(directory).reader);
    let database = fs::metadata(directory.join("events/db")).expect("there");
    let length = usize::try_from(database.len()).expect("small");
    (newest, commits, length)
}

pub(super) fn intact(directory: &Path) -> Intact {
    Intact::of(&directory.join("events"), |_, _| {}).expect("read")
}

fn commits(reader: &Reader) -> Vec<Commit> {
    let commits = reader.scan(Revision(1));
    commits.map(|commit| commit.expect("whole")).collect()
}

#[test]
fn without_the_engine_a_log_reads_as_with_it() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    let frames = frames(9);
    let newest = make(at, &frames);
    let large = frames.iter().filter(|one| one.1.len() > LARGE_BYTES);
    assert!(large.count() > 3, "they are in several values");
    let with = || {
        let storage = Arc::new(SledStorage::open(&at.join("events")).expect("opened"));
        (
            Reader::new(Arc::clone(&storage) as Arc<dyn Records>),
            storage,
        )
    };
    let same = |reader: &Reader| {
        let found = intact(at);
        assert!(found.broken.is_none(), "{:?}", found.broken);
        assert_eq!(found.until, newest);
        assert_eq!(commits(&found.reader), commits(reader));
        assert_eq!(found.reader.newest().expect("read"), newest);
    };
    let (reader, storage) = with();
    same(&reader);
    thin(&*storage, &reader, Revision(60), empty(), &[]).expect("thinned");
    storage.sync().expect("synced");
    same(&reader);
    drop((reader, storage));
    same(&with().0);
}

/// The records of one batch may reach the disk in any order, so a tear is normal after a power cut before
/// their sync.
#[test]
fn a_torn_record_that_nobody_was_told_of_is_let_go() {
    // Each frame is a value of its own.
    let frames = &frames_of(|_| LARGE_BYTES / 4)[..8];
    for (told, is_let_go) in [(4, true), (5, true), (6, false), (7, false)] {
        let temporary = tempfile::tempdir().expect("a directory");
        let events = temporary.path().join("events");
        let storage = SledStorage::open(&events).expect("made");
        for (first, bytes) in frames {
            storage.append(*first, bytes).expect("appended");
        }
        storage.sync().expect("synced");
        let last = |(first, bytes): &(Revision, Arc<[u8]>)| {
            frame::end(*first, bytes).expect("whole").previous()
        };
        storage.witness(&Tail {
            revision: last(&frames[told]),
            hash: frame::hash(&frames[told].1),
        });
        drop(storage);
        damage_every_copy(&events, &frames[6].1);
        let found = intact(temporary.path());
        assert!(
            matches!(found.broken, Some(Error::Corrupt { .. })),
            "{:?}",
            found.broken
        );
        assert_eq!(found.until, last(&frames[5]));
        assert_eq!(found.has_all_acknowledged(), is_let_go, "{told}");
        let end = found.reader.check_end();
        assert_eq!(end.is_ok_and(|end| end.is_some()), is_let_go, "{told}");
        assert_eq!(is_opened(&events), is_let_go, "{told}");
    }
}

/// Flips a bit behind the header of a frame, in every copy.
fn damage_every_copy(events: &Path, frame: &[u8]) {
    const BEGIN: usize = 64;
    let mut copies = 0;
    for file in ["db", "journal"].map(|name| events.join(name)) {
        let mut bytes = fs::read(&file).expect("read");
        let places = bytes.windows(BEGIN).enumerate();
        let places = places.filter(|(_, window)| *window == &frame[..BEGIN]);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        copies += places.len();
        places.iter().for_each(|place| bytes[place + BEGIN] ^= 1);
        fs::write(file, bytes).expect("written");
    }
    assert!(copies > 0, "it is there");
}

/// Whether a start accepts the log as it is.
fn is_opened(events: &Path) -> bool {
    SledStorage::open(events).is_ok_and(|storage| {
        let reader = Reader::new(Arc::new(storage));
        let mut whole = reader.verified_frames(Tail::START).expect("read");
        whole.all(|frame| frame.is_ok())
    })
}

/// Whole segments follow the tear, so the record was synced, whatever an old witness says.
#[test]
fn a_tear_before_the_end_is_let_go_by_nobody() {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = Commands::default();
    let namespace = json!({"metadata": {"name": "default"}});
    let mut intents = vec![create("namespaces", "", namespace)];
    intents.extend((0..30).map(|number| {
        let data = json!({"k": noise(number, 9 * LARGE_BYTES)});
        let object = json!({"metadata": {"name": format!("c{number}")}, "data": data});
        create("configmaps", "default", object)
    }));
    for intent in intents {
        let command = commands.command(intent);
        submit(&writer, &disk, vec![command]).expect("written");
    }
    let frames = disk.frames();
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    make(temporary.path(), &frames[..4]);
    let old = fs::read(temporary.path().join("events.tail")).expect("read");
    let storage = SledStorage::open(&events).expect("opened");
    for (first, bytes) in &frames[4..] {
        storage.append(*first, bytes).expect("appended");
        storage.sync().expect("synced");
    }
    drop(storage);
    fs::write(temporary.path().join("events.tail"), old).expect("written");
    let database = fs::metadata(events.join("db")).expect("there");
    assert!(database.len() > 3 * SEGMENT_BYTES as u64, "{database:?}");
    damage_every_copy(&events, &frames[9].1);
    let found = intact(temporary.path());
    assert_eq!(found.until.next(), frames[9].0, "{:?}", found.broken);
    assert!(!found.has_all_acknowledged());
    assert!(!is_opened(&events), "nor by a start");
}

/// After a power cut the witness may be blank; the journal then shows how much was acknowledged.
#[test]
fn a_tear_in_what_the_journal_says_was_synced_is_refused_before_anything_is_written() {
    // Each frame is a value of its own, and the first are no longer in the journal.
    let frames = frames_of(|_| LARGE_BYTES / 4);
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    let storage = SledStorage::open(&events).expect("made");
    for (first, bytes) in &frames {
        storage.append(*first, bytes).expect("appended");
        storage.sync().expect("synced");
    }
    drop(storage);
    fs::write(temporary.path().join("events.tail"), []).expect("written");
    damage_every_copy(&events, &frames[6].1);
    let files = || ["db", "journal"].map(|name| fs::read(events.join(name)).expect("read"));
    let before = files();
    for _ in 0..2 {
        let refused = SledStorage::open(&events).expect_err("a record is damaged");
        assert!(
            matches!(refused, Error::Unopened { until, .. } if until.next() == frames[6].0),
            "{refused}"
        );
        assert!(files() == before, "it was written to");
    }
}

#[test]
fn without_the_file_of_its_witness_a_log_is_not_taken_for_whole() {
    let temporary = tempfile::tempdir().expect("a directory");
    let newest = make(temporary.path(), &frames(9)[..3]);
    fs::remove_file(temporary.path().join("events.tail")).expect("removed");
    let found = intact(temporary.path());
    assert_eq!(found.until, newest);
    assert!(matches!(found.broken, Some(Error::Unwitnessed { .. })));
    assert!(!found.has_all_acknowledged());
    assert!(!is_opened(&temporary.path().join("events")));
}

/// Takes the place of a file.
#[cfg(unix)]
type Replace = fn(&Path);

/// What is not read: a link to itself, which the system refuses; what is no file; and what is too long to be ours.
#[cfg(unix)]
const UNREAD: [(&str, Replace); 3] = [
    ("a link to itself", |path| {
        std::os::unix::fs::symlink(path, path).expect("linked");
    }),
    ("a directory", |path| fs::create_dir(path).expect("made")),
    ("a long file", |path| {
        let made = fs::File::create(path).and_then(|file| file.set_len(1 << 30));
        made.expect("made");
    }),
];

#[cfg(unix)]
#[test]
fn what_the_disk_does_not_give_back_of_journal_and_witness_is_told() {
    for file in ["events/journal", "events.tail"] {
        for (what, replace) in UNREAD {
            let temporary = tempfile::tempdir().expect("a directory");
            let newest = make(temporary.path(), &frames(9)[..3]);
            let path = temporary.path().join(file);
            fs::remove_file(&path).expect("removed");
            replace(&path);
            let found = intact(temporary.path());
            assert_eq!(found.until, newest, "{file}, {what}");
            let told = found.broken.as_ref().expect("told").to_string();
            assert!(told.contains(file), "{what}: {told}");
            assert!(!found.has_all_acknowledged(), "{file}, {what}");
        }
    }
}

#[test]
fn a_later_snapshot_shows_how_far_a_log_was_acknowledged() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| temporary.path().join(name);
    let (older, newer, frames) = (place("older"), place("newer"), frames(9));
    let end = make(&older, &frames[..30]);
    let newest = make(&newer, &frames);
    let snapshots = Snapshots::at(place("snapshots"));
    let base = intact(&newer).reader.base(empty()).expect("folded");
    snapshots.write(&base).expect("written");
    let whole = intact(&newer).beside(&snapshots);
    assert!(whole.has_all_acknowledged() && whole.broken.is_none());
    let found = intact(&older).beside(&snapshots);
    assert!(!found.has_all_acknowledged());
    let expected = format!("intact up to revision {end}, but revision {newest} was acknowledged");
    assert_eq!(found.extent(), expected);
}

/// Starts, even repeated ones, must not make anything worse.
#[test]
fn damage_to_the_files_is_noticed_or_harmless() {
    for make in [make, make_killed] {
        damage_anywhere(make);
    }
}

fn damage_anywhere(make: Make) {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, whole, length) = whole(&sound, 9, make);
    let long = if is_long() { 50 } else { 1 };
    let mut found = Found::default();
    for index in 0..FILES_DAMAGED * long {
        let damaged = temporary.path().join("damaged");
        copy(&sound, &damaged);
        let at = index * length / (FILES_DAMAGED * long) + 61 * index % 4096;
        let place = if index % 3 == 0 {
            at..at + 4096
        } else {
            at..at + 1
        };
        damage(&damaged, place.start..place.end.min(length), index % 8);
        found.judge(&damaged, newest, &whole);
        fs::remove_dir_all(&damaged).expect("removed");
    }
    println!("{found:?}");
    assert!(found.all_there > 0 && found.told > 0, "{found:?}");
    assert_eq!(open(&sound).expect("the undamaged one opens"), newest);
}

/// Nothing is left of the segment behind the damage, but the next one is intact.
#[test]
fn damage_at_the_end_of_a_segment_takes_no_other() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, whole, length) = whole(&sound, 2, make);
    let mut found = Found::default();
    for end in (SEGMENT_BYTES..=length).step_by(SEGMENT_BYTES) {
        let damaged = temporary.path().join(format!("damaged-{end}"));
        copy(&sound, &damaged);
        // It has the newest records.
        fs::remove_file(damaged.join("events/journal")).expect("removed");
        let at = end - 2 * BEFORE_END;
        damage(&damaged, at..at + 1, 0);
        found.judge(&damaged, newest, &whole);
    }
    println!("{found:?}");
    assert!(found.all_there > 0, "{found:?}");
}

/// The engine may open what is left, and fail when it reads.
#[test]
fn of_a_database_that_was_cut_short_it_is_told_how_far_it_is_intact() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, whole, length) = whole(&sound, 2, make);
    let mut found = Found::default();
    for left in (SEGMENT_BYTES / 2..length).step_by(SEGMENT_BYTES / 4) {
        let cut = temporary.path().join(format!("cut-{left}"));
        copy(&sound, &cut);
        // With the journal, the end would show what is missing.
        fs::remove_file(cut.join("events/journal")).expect("removed");
        let database = fs::File::options().write(true).open(cut.join("events/db"));
        let database = database.expect("opened");
        database.set_len(left as u64).expect("cut");
        found.judge(&cut, newest, &whole);
    }
    println!("{found:?}");
    assert!(found.told > 0, "{found:?}");
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) opened: usize,
    pub(super) told: usize,
    /// How many of those have a whole copy of every record.
    pub(super) all_there: usize,
}

impl Found {
    pub(super) fn judge(&mut self, damaged: &Path, newest: Revision, whole: &[Commit]) {
        let before = intact(damaged);
        let there = commits(&before.reader);
        assert_eq!(there, whole[..there.len()], "it is a beginning of the log");
        assert_eq!(before.broken.is_none(), before.until == newest);
        let error = match open(damaged) {
            Ok(found) => {
                assert_eq!(found, newest, "a shorter log was opened");
                self.opened += 1;
                return;
            }
            Err(error) => error,
        };
        self.told += 1;
        self.all_there += usize::from(before.until == newest);
        assert_eq!(told(&error, before.until), before.until, "{error}");
        assert_eq!(intact(damaged).until, before.until, "{error}");
        let again = open(damaged).expect_err("it is as damaged as before");
        assert_eq!(told(&again, before.until), before.until, "{again}");
    }
}

/// How far the log is intact, as an error says; `until` for one that names a place and no record.
fn told(error: &Error, until: Revision) -> Revision {
    match error {
        Error::Unopened { until, .. } => *until,
        Error::Lost { newest, .. } | Error::Gap { newest, .. } => *newest,
        Error::Corrupt { revision, .. } => revision.previous(),
        Error::Damaged { .. } => until,
        other => panic!("no record and no place is named: {other:?}"),
    }
}

/// Flips a bit, or blanks a page.
pub(super) fn damage(directory: &Path, place: Range<usize>, bit: usize) {
    let path: PathBuf = directory.join("events/db");
    let mut bytes = fs::read(&path).expect("read");
    if place.len() == 1 {
        bytes[place.start] ^= 1 << bit;
    } else {
        bytes[place].fill(0);
    }
    fs::write(path, bytes).expect("written");
}
