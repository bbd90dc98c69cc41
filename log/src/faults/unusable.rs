//! Side files of the engine that are of the database beside them, and that it cannot use all the same, because what
//! they refer to is damaged.

use super::copies::copy;
use super::damaged::{damage, frames, intact, make};
use super::rot::open;
use super::side_files::{is_any_set_aside, side_files, take_side_files};
use hindsight_core::Revision;
use std::fs;
use std::path::Path;

/// All of them are in the journal.
const FRAMES: usize = 9;
/// Pieces of a frame of which one is damaged.
const PIECES_APART: usize = 20;

/// A log as a kill in the middle of a start leaves it: in its side file the engine has noted what there is, and the
/// journal still has all records.
fn killed_in_a_start(at: &Path) -> Revision {
    let started = at.with_extension("started");
    let newest = make(at, &frames(9)[..FRAMES]);
    copy(at, &started);
    assert_eq!(open(&started).expect("opened"), newest);
    take_side_files(&started, at);
    newest
}

/// The engine reads up to the damage, which is before the end that its side file notes, and gives up.
#[test]
fn a_log_opens_without_the_side_file_that_notes_what_has_rotted_since() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let newest = killed_in_a_start(&sound);
    assert_eq!(side_files(&sound).len(), 1);
    let found = intact(&sound);
    for (first, _) in &frames(9)[..FRAMES] {
        for range in found.ranges(*first).iter().step_by(PIECES_APART) {
            let at = temporary.path().join(format!("rotten-{}", range.start));
            copy(&sound, &at);
            damage(&at, range.end - 1..range.end, 0);
            assert_eq!(open(&at).expect("opened"), newest, "{first}: {range:?}");
            assert!(is_any_set_aside(&at), "{first}: {range:?}");
            let left = intact(&at);
            assert!(left.broken.is_none() && left.until == newest, "{first}");
            fs::remove_dir_all(&at).expect("removed");
        }
    }
}
