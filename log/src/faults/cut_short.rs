//! Databases that were cut short: what is left is refused as it is, also if no side file of the engine says
//! what there was.

use super::copies::copy;
use super::damaged::{Found, Make, intact, whole};
use crate::storage::sled::SEGMENT_BYTES;
use crate::{SledStorage, Storage, Tail, frame};
use hindsight_core::Revision;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const HEADER_BYTES: usize = 20;
/// Frames after which a log is opened once more.
const EARLY: usize = 3;

type Frames = [(Revision, Arc<[u8]>)];

/// A log as a kill of its first process leaves it.
fn make_once(directory: &Path, frames: &Frames) -> Revision {
    make_killed(directory, [&[], frames])
}

/// The same of its second process, which began early. Its side file says little.
fn make_twice(directory: &Path, frames: &Frames) -> Revision {
    make_killed(directory, frames.split_at(EARLY).into())
}

fn make_killed(directory: &Path, processes: [&Frames; 2]) -> Revision {
    let temporary = tempfile::tempdir().expect("a directory");
    let mut newest = Revision::ZERO;
    for (number, frames) in processes.into_iter().enumerate() {
        let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
        for (first, bytes) in frames {
            storage.append(*first, bytes).expect("appended");
            storage.sync().expect("synced");
            newest = frame::end(*first, bytes).expect("whole").previous();
            let hash = frame::hash(bytes);
            storage.witness(&Tail {
                revision: newest,
                hash,
            });
        }
        if number == 1 {
            copy(temporary.path(), directory);
        }
    }
    newest
}

/// Cuts the database so that this is left of each segment in turn, and starts over it.
fn cut(make: Make, left: &[usize]) {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, commits, length) = whole(&sound, 1, make);
    assert!(length > 5 * SEGMENT_BYTES, "{length}");
    let mut found = Found::default();
    let begins = (0..length).step_by(SEGMENT_BYTES);
    let lengths = begins.flat_map(|begin| left.iter().map(move |left| begin + left));
    for left in lengths.filter(|left| (1..length).contains(left)) {
        let temporary = tempfile::tempdir().expect("a directory");
        let cut = temporary.path();
        copy(&sound, cut);
        let path = cut.join("events/db");
        let database = fs::File::options().write(true).open(&path);
        database
            .and_then(|file| file.set_len(left as u64))
            .expect("cut");
        // Without a beginning, nothing is left that could be lost.
        if intact(cut).until == Revision::ZERO {
            continue;
        }
        let before = fs::read(&path).expect("read");
        found.judge(cut, newest, &commits);
        let is_same = fs::read(&path).expect("read") == before;
        assert!(is_same, "{left}: it was written to");
    }
    println!("{found:?}");
    assert!(found.told > 0 && found.opened == 0, "{found:?}");
}

#[test]
fn a_start_changes_nothing_in_a_database_that_was_cut_short_before_a_second_start() {
    cut(make_once, &[0, HEADER_BYTES, SEGMENT_BYTES / 2]);
}

/// The header of a segment says that the log was stable in one that is missing. sled would take the log for
/// empty.
#[test]
fn a_start_changes_nothing_in_a_database_that_was_cut_behind_a_header() {
    cut(make_twice, &[HEADER_BYTES]);
}
