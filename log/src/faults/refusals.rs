//! Directories that are not as a clean shutdown left them: which of them open, and why the others are
//! refused.

mod opening;
#[cfg(unix)]
mod untouched;

use super::rot::{frames, open};
use crate::frame::{self, FRAME_FORMAT};
use crate::{Error, Intact, Reader, SledStorage, Storage, Tail};
use hindsight_core::Revision;
use opening::OPENING;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FRAMES: usize = 5;

/// Makes the directory that the name describes.
type Prepare = fn(&Path);

/// What is refused: a name, how it is made, and a part of the message.
const REFUSED: &[(&str, Prepare, &str)] = &[
    (
        "no witness",
        |at| after(at, |at| remove(at, "events.tail")),
        "the file events.tail is missing",
    ),
    (
        "the database is gone",
        |at| without_a_journal(at, |at| remove(at, "events/db")),
        "db is missing: the log ends at revision 0, but",
    ),
    (
        "the directory of events is gone",
        |at| {
            after(at, |at| {
                fs::remove_dir_all(at.join("events")).expect("removed");
            });
        },
        "if events was moved, move it back, or its db alone, or, if a file system belongs there, mount it,",
    ),
    (
        "the database is empty",
        |at| without_a_journal(at, |at| put(at, "events/db", b"")),
        "restore a backup",
    ),
    (
        "the database is cut short",
        |at| without_a_journal(at, |at| cut_in_half(at, "events/db")),
        "restore a backup",
    ),
    (
        "the database twice in one file",
        |at| without_a_journal(at, twice),
        "its files are too damaged for it to read; the log is intact up to revision",
    ),
    (
        "the last record is blank",
        |at| without_a_journal(at, blank_last),
        "was acknowledged: the records after",
    ),
    (
        "an older copy of the database",
        |at| {
            written_frames(at, 3);
            fs::rename(at.join("events"), at.join("older")).expect("moved");
            remove(at, "events.tail");
            after(at, |at| {
                fs::remove_dir_all(at.join("events")).expect("removed");
                fs::rename(at.join("older"), at.join("events")).expect("moved");
            });
        },
        "was acknowledged: the records after",
    ),
    (
        "the witness of another log",
        |at| {
            after(at, |at| {
                let storage = SledStorage::open(&at.join("events")).expect("opened");
                let mut tail = tail(&frames()[FRAMES - 1]);
                tail.hash[0] ^= 1;
                // In both slots.
                storage.witness(&tail);
                storage.witness(&tail);
            });
        },
        "is not the one that was acknowledged",
    ),
    (
        "a damaged record that sled takes for whole",
        |at| {
            after(at, |at| {
                let (first, bytes) = &frames()[FRAMES];
                let mut damaged = bytes.to_vec();
                damaged[60] ^= 1;
                append(at, &(*first, damaged.into()));
            });
        },
        "its checksum does not match; whether it was acknowledged is unknown",
    ),
    (
        "a frame of a newer format",
        |at| {
            after(at, |at| {
                let (first, bytes) = &frames()[FRAMES];
                append(at, &(*first, newer(bytes).into()));
            });
        },
        "and this release reads formats up to 4; nothing was changed; use the release that wrote it, or a later one",
    ),
    (
        "a tree of a newer format",
        |at| {
            after(at, |at| {
                let sled = engine(at);
                sled.open_tree("frames-4").expect("made");
                sled.flush().expect("flushed");
            });
        },
        "the log has format 4, and this release reads formats up to 3",
    ),
    (
        "a file of somebody else",
        |at| put(at, "events/thesis.odt", b"chapter 1"),
        "is, or contains, something that is not an event log; name another data directory",
    ),
    #[cfg(unix)]
    (
        "a file in place of the engine's directory",
        |at| {
            after(at, |at| {
                fs::remove_dir_all(at.join("events/blobs")).expect("removed");
                put(at, "events/blobs", b"x");
            });
        },
        "events/blobs: entity already exists; its place is taken by what is no directory",
    ),
    #[cfg(unix)]
    (
        "a link to a database that is not there, and nothing else",
        |at| {
            make(at, &["events"]);
            leads_nowhere(&at.join("events/db"));
        },
        "events/db is a link that leads nowhere, so it is unknown whether",
    ),
    #[cfg(unix)]
    (
        "a link to events that are not there, and nothing else",
        |at| leads_nowhere(&at.join("events")),
        "events is a link that leads nowhere",
    ),
    #[cfg(unix)]
    (
        "a link to a database that is not there, of which the journal has all",
        |at| {
            after(at, |at| {
                remove(at, "events/db");
                leads_nowhere(&at.join("events/db"));
            });
        },
        "events/db is a link that leads nowhere; the journal has the log up to revision",
    ),
    (
        "a database of somebody else's that the engine can read",
        |at| {
            let theirs = engine(at);
            for key in 0..2000_u32 {
                theirs.insert(key.to_be_bytes(), &[7; 9]).expect("put");
            }
        },
        "is, or contains, something that is not an event log; name another data directory",
    ),
    (
        "a file in place of the directory",
        |at| put(at, "events", b"x"),
        "is, or contains, something that is not an event log; name another data directory",
    ),
];

#[test]
fn what_was_left_in_the_middle_of_something_opens() {
    for (name, prepare, count) in OPENING {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        let found = open(temporary.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let last = count.checked_sub(1).map(|last| tail(&frames()[last]));
        assert_eq!(
            found,
            last.map_or(Revision::ZERO, |last| last.revision),
            "{name}"
        );
    }
}

#[test]
fn what_is_not_the_log_that_was_acknowledged_is_refused_and_told_why() {
    for (name, prepare, message) in REFUSED {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        for attempt in 1..3 {
            let error = open(temporary.path()).expect_err(name).to_string();
            assert!(
                error.contains(message),
                "{name}, attempt {attempt}: {error}"
            );
        }
    }
}

/// What takes the events or the database away, which the journal would have too.
const TAKEN: &[(&str, Prepare)] = &[
    ("the directory", |at| {
        fs::remove_dir_all(at.join("events")).expect("removed");
    }),
    (
        "what is in the directory, as where nothing is mounted",
        |at| {
            fs::remove_dir_all(at.join("events")).expect("removed");
            make(at, &["events/lost+found"]);
        },
    ),
    ("the database", |at| {
        remove(at, "events/journal");
        remove(at, "events/db");
    }),
    #[cfg(unix)]
    ("the database, to which a link leads", |at| {
        remove(at, "events/journal");
        remove(at, "events/db");
        leads_nowhere(&at.join("events/db"));
    }),
    ("the database, of which the journal has the end", |at| {
        append(at, &frames()[FRAMES]);
        put(at, "events.tail", b"");
        remove(at, "events/db");
    }),
];

#[test]
fn where_the_events_are_gone_nothing_takes_their_place() {
    for (name, take) in TAKEN {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        after(at, take);
        let listed = || {
            let folders = [at.to_owned(), at.join("events")];
            let entries = folders
                .iter()
                .filter_map(|folder| fs::read_dir(folder).ok());
            let paths = entries.flatten().map(|entry| entry.expect("listed").path());
            paths.collect::<BTreeSet<_>>()
        };
        let before = listed();
        let told = open(at).expect_err(name);
        assert!(matches!(told, Error::Missing { .. }), "{name}: {told}");
        assert_eq!(listed(), before, "{name}");
    }
}

/// A start makes a database of it again; if it is refused that, this can be saved.
#[test]
fn what_the_journal_has_is_read_where_the_database_is_gone() {
    for (is_behind, until) in [
        (false, tail(&frames()[FRAMES - 1]).revision),
        (true, Revision::ZERO),
    ] {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        written(at);
        if is_behind {
            append(at, &frames()[FRAMES]);
        }
        remove(at, "events/db");
        let found = Intact::of(&at.join("events"), |_, _| {}).expect("read");
        assert_eq!((found.until, found.broken.is_some()), (until, is_behind));
        assert_eq!(found.reader.newest().expect("read"), until);
        assert_eq!(found.has_all_acknowledged(), !is_behind);
    }
}

/// Asks a question, which opens the files but does not walk through them.
fn asked(at: &Path) -> Result<Revision, Error> {
    let storage = Arc::new(SledStorage::open(&at.join("events"))?);
    let reader = Reader::new(storage);
    reader.check_end()?;
    reader.newest()
}

#[test]
fn whoever_only_asks_is_refused_what_a_start_is_refused() {
    for (name, prepare, message) in REFUSED {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        for attempt in 1..3 {
            let error = asked(temporary.path()).expect_err(name).to_string();
            assert!(
                error.contains(message),
                "{name}, attempt {attempt}: {error}"
            );
        }
    }
    for (name, prepare, _) in OPENING {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        let found = asked(temporary.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found, open(temporary.path()).expect("it opens"), "{name}");
    }
}

/// A kill leaves it, so it is not damage: the whole snapshot beside it is used.
#[test]
fn an_unfinished_snapshot_is_removed_and_nothing_else_is_touched() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    written(at);
    // sled writes a snapshot when it opens a database that has grown.
    open(at).expect("opened");
    assert_eq!(snapshots(at).count(), 1);
    put(at, "events/snap.FFFFFFFFFFFFFFFF.generating", b"x");
    open(at).expect("opened");
    let after: Vec<String> = snapshots(at).collect();
    assert!(
        after.iter().all(|name| !name.ends_with(".generating")),
        "{after:?}"
    );
    let beside = fs::read_dir(at).expect("listed");
    let beside = beside.map(|entry| entry.expect("listed").file_name());
    let aside: Vec<_> = beside
        .filter(|name| name.to_string_lossy().ends_with(".damaged"))
        .collect();
    assert!(aside.is_empty(), "{aside:?}");
}

pub(super) fn written(at: &Path) {
    written_frames(at, FRAMES);
}

pub(super) fn written_frames(at: &Path, count: usize) {
    let storage = SledStorage::open(&at.join("events")).expect("made");
    for one in frames().iter().take(count) {
        storage.append(one.0, &one.1).expect("appended");
        storage.sync().expect("synced");
        storage.witness(&tail(one));
    }
}

/// A log, to which this happened after it was written.
pub(super) fn after(at: &Path, happened: impl FnOnce(&Path)) {
    written(at);
    happened(at);
}

/// The same without a journal, so that only the database counts.
fn without_a_journal(at: &Path, happened: impl FnOnce(&Path)) {
    written(at);
    remove(at, "events/journal");
    happened(at);
}

pub(super) fn tail((first, bytes): &(Revision, Arc<[u8]>)) -> Tail {
    Tail {
        revision: frame::end(*first, bytes).expect("whole").previous(),
        hash: frame::hash(bytes),
    }
}

pub(super) fn append(at: &Path, (first, bytes): &(Revision, Arc<[u8]>)) {
    let storage = SledStorage::open(&at.join("events")).expect("opened");
    storage.append(*first, bytes).expect("appended");
    storage.sync().expect("synced");
}

pub(super) fn newer(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[4] = FRAME_FORMAT + 1;
    let body = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn make(at: &Path, directories: &[&str]) {
    for directory in directories {
        fs::create_dir_all(at.join(directory)).expect("made");
    }
}

fn put(at: &Path, name: &str, bytes: &[u8]) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().expect("inside")).expect("made");
    fs::write(path, bytes).expect("written");
}

#[cfg(unix)]
fn leads_nowhere(link: &Path) {
    std::os::unix::fs::symlink(link.with_extension("unmounted").join("db"), link).expect("linked");
}

fn remove(at: &Path, name: &str) {
    fs::remove_file(at.join(name)).expect("removed");
}

/// sled itself, with the settings of the storage. The threads of one that was just closed may still hold the database.
fn engine(at: &Path) -> ::sled::Db {
    let sled = ::sled::Config::new().segment_size(8 << 20);
    let sled = sled.path(at.join("events"));
    let opened = (0..1_000).find_map(|_| {
        let opened = sled.open().ok();
        if opened.is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        opened
    });
    opened.expect("opened")
}

fn cut_in_half(at: &Path, name: &str) {
    let file = fs::File::options()
        .write(true)
        .open(at.join(name))
        .expect("opened");
    let length = file.metadata().expect("measured").len();
    file.set_len(length / 2).expect("cut");
}

/// Two copies of the database in one file. Each is intact, but sled panics over two segments with one
/// position.
fn twice(at: &Path) {
    let path = at.join("events/db");
    let mut bytes = fs::read(&path).expect("read");
    let whole = bytes.clone();
    bytes.resize(bytes.len().next_multiple_of(8 << 20), 0);
    bytes.extend(whole);
    fs::write(path, bytes).expect("written");
}

/// Blanks the end of each value that holds the last frame, wherever it is in the database.
fn blank_last(at: &Path) {
    const BLANK: usize = 20;
    let events = at.join("events");
    let (first, _) = frames()[FRAMES - 1];
    let places = Intact::of(&events, |_, _| {}).expect("read").ranges(first);
    assert!(!places.is_empty());
    let path = events.join("db");
    let mut bytes = fs::read(&path).expect("read");
    for place in places {
        bytes[place.end - BLANK..place.end].fill(0);
    }
    fs::write(path, bytes).expect("written");
}

fn snapshots(at: &Path) -> impl Iterator<Item = String> {
    let listed = fs::read_dir(at.join("events")).expect("listed");
    let names = listed.map(|entry| entry.expect("listed").file_name());
    let names = names.map(|name| format!("events/{}", name.to_string_lossy()));
    names.filter(|name| name.contains("snap."))
}
