//! Logs assembled by hand: records of two logs, records in another order, and files that were copied
//! while they were written.

use super::refusals::{append, tail, written, written_frames};
use super::rot::{Frames, frames, open};
use crate::{SledStorage, Storage};
use hindsight_core::Revision;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const FRAMES: usize = 5;
const COPIES: usize = 6;
/// Offset of the previous hash in a frame.
const PREVIOUS_AT: usize = 4 + 1 + 8 + 4;

type Prepare = fn(&Path);

/// What is refused: a name, how it is made, and a part of the message.
const REFUSED: &[(&str, Prepare, &str)] = &[
    (
        "another log behind this one",
        |at| {
            written(at);
            let (first, bytes) = &frames()[FRAMES];
            append(at, &(*first, of_another_log(bytes).into()));
        },
        "it does not follow the record before it",
    ),
    (
        "the beginning of another log before this one",
        |at| {
            let mut frames = frames();
            frames[0].1 = of_another_log(&frames[0].1).into();
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "it does not follow the record before it",
    ),
    (
        "two records exchanged",
        |at| {
            let mut frames = frames();
            let (one, other) = (frames[1].1.clone(), frames[2].1.clone());
            (frames[1].1, frames[2].1) = (other, one);
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "its revision or length does not match",
    ),
    (
        "a record twice",
        |at| {
            written(at);
            append(at, &(frames()[FRAMES].0, frames()[FRAMES - 1].1.clone()));
        },
        "its revision or length does not match",
    ),
    (
        "a record left out",
        |at| {
            let mut frames = frames();
            frames.remove(2);
            put_all(at, frames.into_iter().take(FRAMES).collect());
        },
        "the next one is at revision",
    ),
    (
        "the beginning left out",
        |at| put_all(at, frames().into_iter().skip(1).take(FRAMES).collect()),
        "the next one is at revision",
    ),
];

#[test]
fn logs_that_were_put_together_are_refused() {
    for (name, prepare, message) in REFUSED {
        let temporary = tempfile::tempdir().expect("a directory");
        prepare(temporary.path());
        let error = open(temporary.path()).expect_err(name).to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
}

#[test]
fn a_file_of_two_logs_is_whole_or_refused() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (one, other) = (temporary.path().join("one"), temporary.path().join("other"));
    written(&one);
    written_frames(&other, FRAMES + 2);
    let (mut bytes, more) = (read(&one), read(&other));
    bytes.extend(more);
    fs::write(one.join("events/db"), bytes).expect("written");
    if let Ok(found) = open(&one) {
        assert!(found >= tail(&frames()[FRAMES - 1]).revision, "{found}");
    }
}

/// A copy holds a prefix of the log that is no shorter than its witness claims.
#[test]
fn a_copy_made_while_the_log_is_written_is_whole_or_refused() {
    let temporary = tempfile::tempdir().expect("a directory");
    let live = temporary.path().join("live");
    let copy_of = |index: usize| temporary.path().join(format!("copy{index}"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            written_frames(&live, frames().len());
            is_over.store(true, Ordering::SeqCst);
        });
        for index in 0..COPIES {
            let before = index * 10;
            while !is_over.load(Ordering::SeqCst) && !live.join("events.tail").exists() {
                std::thread::yield_now();
            }
            (0..before).for_each(|_| std::thread::yield_now());
            copy(&live, &copy_of(index));
        }
    });
    let ends: Vec<Revision> = frames().iter().map(|one| tail(one).revision).collect();
    let whole = open(&live).expect("the log itself opens");
    assert_eq!(ends.last(), Some(&whole));
    let found: Vec<_> = (0..COPIES).map(|index| open(&copy_of(index))).collect();
    for revision in found.iter().filter_map(|one| one.as_ref().ok()) {
        let is_end = *revision == Revision::ZERO || ends.contains(revision);
        assert!(is_end, "{revision} is in the middle of a batch");
    }
    let opened = found.iter().filter(|one| one.is_ok()).count();
    println!("{opened} of {COPIES} copies open");
}

fn read(at: &Path) -> Vec<u8> {
    fs::read(at.join("events/db")).expect("read")
}

fn put_all(at: &Path, frames: Frames) {
    let storage = SledStorage::open(&at.join("events")).expect("made");
    for (first, bytes) in &frames {
        storage.append(*first, bytes).expect("appended");
    }
    storage.sync().expect("synced");
}

/// The same record, chained to another one.
fn of_another_log(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[PREVIOUS_AT] ^= 1;
    let body = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Copies like `cp -r`: file by file, ignoring files that vanish meanwhile.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if let Err(error) = fs::copy(entry.path(), target) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
    }
}
