//! Directories that open.

use super::{
    FRAMES, Prepare, after, append, blank_last, cut_in_half, engine, frames, make, put, remove,
    snapshots, written,
};
use std::fs;

/// What opens, and up to which of the frames that were written.
pub(super) const OPENING: &[(&str, Prepare, usize)] = &[
    ("nothing at all", |_| {}, 0),
    ("no directory of events", |at| make(at, &[]), 0),
    (
        "an empty directory of events",
        |at| make(at, &["events"]),
        0,
    ),
    (
        "no configuration of the engine",
        |at| after(at, |at| remove(at, "events/conf")),
        FRAMES,
    ),
    ("only blobs", |at| make(at, &["events/blobs"]), 0),
    (
        "an empty configuration",
        |at| put(at, "events/conf", b""),
        0,
    ),
    ("an empty database", |at| put(at, "events/db", b""), 0),
    (
        "an unfinished snapshot",
        |at| put(at, "events/snap.1.generating", b"x"),
        0,
    ),
    ("an empty witness", |at| put(at, "events.tail", b""), 0),
    ("a first start that made no tree", |at| drop(engine(at)), 0),
    (
        "the top of a file system",
        |at| fs::create_dir_all(at.join("events/lost+found")).expect("made"),
        0,
    ),
    ("a whole log", written, FRAMES),
    (
        "a whole log, and files of others",
        |at| {
            after(at, |at| {
                fs::create_dir(at.join("events/lost+found")).expect("made");
                put(at, "events/.nfs0001", b"x");
                put(at, "events/notes.txt", b"x");
            });
        },
        FRAMES,
    ),
    (
        "a log whose witness is empty",
        |at| after(at, |at| put(at, "events.tail", b"")),
        FRAMES,
    ),
    (
        "a log whose witness is blank, as a power cut leaves it at first",
        |at| after(at, |at| put(at, "events.tail", &[0; 8192])),
        FRAMES,
    ),
    (
        "a damaged witness",
        |at| after(at, |at| put(at, "events.tail", &[7; 8192])),
        FRAMES,
    ),
    (
        "no database, and all of it in the journal",
        |at| after(at, |at| remove(at, "events/db")),
        FRAMES,
    ),
    (
        "an empty database, and all of it in the journal",
        |at| after(at, |at| put(at, "events/db", b"")),
        FRAMES,
    ),
    (
        "a database that is cut short, and all of it in the journal",
        |at| after(at, |at| cut_in_half(at, "events/db")),
        FRAMES,
    ),
    (
        "a last record that is blank, and whole in the journal",
        |at| after(at, blank_last),
        FRAMES,
    ),
    (
        "no journal, after a clean end",
        |at| after(at, |at| remove(at, "events/journal")),
        FRAMES,
    ),
    (
        "a damaged journal, after a clean end",
        |at| after(at, |at| put(at, "events/journal", b"damaged journal")),
        FRAMES,
    ),
    (
        "a damaged configuration",
        |at| after(at, |at| put(at, "events/conf", b"damaged configuration")),
        FRAMES,
    ),
    (
        "damaged snapshots",
        |at| {
            after(at, |at| {
                snapshots(at).for_each(|name| put(at, &name, b"damaged snapshot"));
            });
        },
        FRAMES,
    ),
    (
        "a record that was not acknowledged",
        |at| after(at, |at| append(at, &frames()[FRAMES])),
        FRAMES + 1,
    ),
];
