//! A directory that is moved or removed under an open log, and one that is opened a second time.

use super::rot::frames;
use crate::{Error, SledStorage, Storage};
use std::fs;
use std::path::Path;

type Happen = fn(&Path);

const HAPPENED: &[(&str, Happen)] = &[
    ("the database is removed", |at| {
        fs::remove_file(at.join("events/db")).expect("removed");
    }),
    ("the journal is removed", |at| {
        fs::remove_file(at.join("events/journal")).expect("removed");
    }),
    ("everything is removed", |at| {
        fs::remove_dir_all(at).expect("removed");
    }),
    ("the directory is moved", |at| {
        fs::rename(at, at.with_extension("moved")).expect("moved");
    }),
    ("the database is replaced", |at| {
        let copy = at.join("events/copy");
        fs::copy(at.join("events/db"), &copy).expect("copied");
        fs::rename(copy, at.join("events/db")).expect("replaced");
    }),
];

#[test]
fn nothing_is_durable_in_a_database_that_is_not_where_it_was() {
    for (name, happen) in HAPPENED {
        let temporary = tempfile::tempdir().expect("a directory");
        let at = temporary.path().join("data");
        let storage = SledStorage::open(&at.join("events")).expect("opened");
        let (one, two) = (&frames()[0], &frames()[1]);
        storage.append(one.0, &one.1).expect("appended");
        storage.sync().expect("synced");
        happen(&at);
        storage.append(two.0, &two.1).ok();
        let refused = storage.sync().expect_err(name);
        assert!(matches!(refused, Error::Gone(_)), "{name}: {refused}");
    }
}

#[test]
fn a_second_opening_is_refused_and_takes_nothing_from_the_first() {
    let temporary = tempfile::tempdir().expect("a directory");
    let events = temporary.path().join("events");
    let reserve = events.with_extension("reserve");
    let first = SledStorage::open(&events).expect("opened");
    let snapshot = events.join("snap.1.generating");
    fs::write(&snapshot, b"").expect("the first is writing one");
    let refused = SledStorage::open(&events).expect_err("it is open");
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    assert!(reserve.exists() && snapshot.exists());
    drop(first);
    SledStorage::open(&events).expect("free again");
}
