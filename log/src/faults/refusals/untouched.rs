//! Databases that are refused, and left as they are.

use super::super::blanked::{behead, several_segments};
use super::{Prepare, after, engine, open, put, remove};
use crate::storage::TREE_FORMAT;
use crate::{Error, SledStorage, Storage};
use hindsight_core::Revision;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const WOULD_BLANK: &str = "it would overwrite records that are still intact";

/// What is refused and left as it is, beside the configuration of the engine and without a witness.
const UNTOUCHED: &[(&str, Prepare, &str)] = &[
    (
        "bytes in place of the database",
        |at| after(at, |at| put(at, "events/db", &vec![0xA5; 20_000_000])),
        "is, or contains, something that is not an event log",
    ),
    (
        "an image of a disk, which begins with nothing",
        |at| {
            let image = [vec![0; 32 << 10], b"CD001".repeat(9000)].concat();
            after(at, |at| put(at, "events/db", &image));
        },
        "is, or contains, something that is not an event log",
    ),
    (
        "a bit of the header of the first segment",
        |at| after(at, |at| turn(at, 8)),
        "events/db is damaged at byte 0, at",
    ),
    (
        "a bit of the only header, beside a side file that was set aside",
        |at| {
            after(at, |at| turn(at, 8));
            put(at, "events/unread.snap.00000000000000A0.damaged", b"x");
        },
        "events/db is damaged at byte 0, at",
    ),
    (
        "a bit of the header of the first of some segments",
        |at| {
            segments(at);
            turn(at, 8);
        },
        "events/db is damaged at byte 0, at",
    ),
    (
        "a bit of the header of another segment",
        |at| {
            segments(at);
            turn(at, (8 << 20) + 19);
        },
        "events/db is damaged at byte 8388608, at",
    ),
    (
        "a blank header of the first of some segments",
        |at| {
            several_segments(at);
            behead(at, 0, 20);
        },
        WOULD_BLANK,
    ),
    (
        "a blank page at the beginning of the first of some segments",
        |at| {
            several_segments(at);
            behead(at, 0, 4096);
        },
        WOULD_BLANK,
    ),
    (
        "a blank sector at the beginning of another segment",
        |at| {
            several_segments(at);
            behead(at, 1, 512);
        },
        WOULD_BLANK,
    ),
];

#[test]
fn a_database_that_the_engine_would_blank_is_left_as_it_is() {
    for (name, prepare, message) in UNTOUCHED {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        prepare(at);
        remove(at, "events.tail");
        fs::remove_file(at.join("events/journal")).ok();
        let before = fs::read(at.join("events/db")).expect("read");
        for _ in 1..3 {
            let error = open(at).expect_err(name).to_string();
            assert!(error.contains(message), "{name}: {error}");
            let now = fs::read(at.join("events/db")).expect("read");
            assert!(now == before, "{name}: it was written to");
        }
    }
}

/// What is of another program in a directory that it lets others read: bytes that are no database, and databases of
/// the same engine, of which the smallest are no longer than what an interrupted first start leaves.
const OF_OTHERS: &[(&str, Prepare)] = &[
    ("a page", |at| {
        put(at, "events/db", &b"SQLite format 3\0".repeat(3000));
    }),
    ("letters", |at| put(at, "events/db", &b"x".repeat(3000))),
    ("another file", |at| {
        put(at, "events/thesis.odt", b"chapter 1");
    }),
    ("a tree", |at| theirs(&engine(at), "users", 1)),
    ("an empty tree", |at| theirs(&engine(at), "users", 0)),
    ("a large tree", |at| theirs(&engine(at), "users", 2000)),
    ("one value", |at| theirs(&engine(at), "__sled__default", 1)),
    ("values", |at| theirs(&engine(at), "__sled__default", 2000)),
    ("smaller segments", |at| {
        theirs(&with_small_segments(at), "users", 1);
    }),
    ("many smaller segments", |at| {
        theirs(&with_small_segments(at), "users", 200_000);
    }),
    ("nothing in smaller segments", |at| {
        drop(with_small_segments(at));
    }),
];

/// sled as it is without settings.
fn with_small_segments(at: &Path) -> ::sled::Db {
    let sled = ::sled::Config::new().path(at.join("events"));
    sled.open().expect("opened")
}

/// Puts entries into a tree of somebody else.
fn theirs(database: &::sled::Db, tree: &str, count: u32) {
    let tree = database.open_tree(tree).expect("a tree");
    for key in 0..count {
        tree.insert(key.to_be_bytes(), &[7; 9]).expect("put");
    }
    database.flush().expect("flushed");
}

/// All that is there, with the mode of each, and the bytes of files.
fn tree(at: &Path) -> Vec<(PathBuf, u32, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut paths = vec![at.to_owned()];
    while let Some(path) = paths.pop() {
        let about = path.symlink_metadata().expect("there");
        if about.is_dir() {
            let listed = fs::read_dir(&path).expect("listed");
            paths.extend(listed.map(|entry| entry.expect("listed").path()));
        }
        let bytes = about.is_file().then(|| fs::read(&path).expect("read"));
        found.push((path, about.permissions().mode(), bytes));
    }
    found.sort();
    found
}

#[test]
fn a_file_of_somebody_else_is_left_as_it_is() {
    for (name, prepare) in OF_OTHERS {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        prepare(at);
        SledStorage::check_free(&at.join("events")).expect("closed");
        let open_to_all = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at.join("events"), open_to_all).expect("set");
        let before = tree(at);
        for _ in 0..2 {
            let refused = SledStorage::open(&at.join("events")).expect_err(name);
            assert!(matches!(refused, Error::Foreign(_)), "{name}: {refused}");
            let told = refused.to_string();
            assert!(told.contains("another data directory"), "{name}: {told}");
            assert!(tree(at) == before, "{name}: it was changed");
        }
    }
}

/// Before it has a witness or a journal, and whatever the engine has written by then.
#[test]
fn a_database_in_which_only_our_trees_were_made_is_ours() {
    for format in 1..=TREE_FORMAT {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path();
        let name = format!("frames-{format}");
        theirs(&engine(at), &name, 0);
        open(at).expect("it is ours");
    }
}

/// A database of several segments.
fn segments(at: &Path) {
    let storage = SledStorage::open(&at.join("events")).expect("made");
    for first in 1..8 {
        let frame = vec![7; 3 << 20];
        storage.append(Revision(first), &frame).expect("appended");
    }
    storage.sync().expect("synced");
}

fn turn(at: &Path, byte: usize) {
    let mut bytes = fs::read(at.join("events/db")).expect("read");
    bytes[byte] ^= 1;
    put(at, "events/db", &bytes);
}
