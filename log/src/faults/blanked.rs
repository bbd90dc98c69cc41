//! Blank headers of segments. sled takes such a segment for a free one, and blanks the rest of it.

use super::copies::copy;
use super::damaged::{Found, damage, frames, intact, make, whole};
use super::disk::Disk;
use super::rot::open;
use super::script::{self, Commands, create, empty, noise, patch, submit};
use super::side_files::is_any_set_aside;
use crate::retention::thin;
use crate::storage::sled::SEGMENT_BYTES;
use crate::{Reader, Records, SledStorage, Storage, Tail, frame};
use hindsight_core::Revision;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A header alone, a sector, and a page.
const BLANK_BYTES: [usize; 3] = [20, 512, 4096];
const CHANGES: u64 = 40;
const LARGE_BYTES: usize = 288 << 10;

/// A log of several segments.
pub(super) fn several_segments(at: &Path) {
    make(at, &frames(2));
}

/// Blanks the beginning of a segment of the database.
pub(super) fn behead(at: &Path, segment: usize, length: usize) {
    let begin = segment * SEGMENT_BYTES;
    damage(at, begin..begin + length, 0);
}

fn database(at: &Path) -> Vec<u8> {
    fs::read(at.join("events/db")).expect("read")
}

fn side_files(at: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(at.join("events")).expect("listed");
    let paths = listed.map(|entry| entry.expect("listed").path());
    let is_side = |path: &PathBuf| path.to_string_lossy().contains("/snap.");
    paths.filter(is_side).collect()
}

#[test]
fn a_segment_with_a_blank_header_is_not_taken_for_a_free_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, commits, length) = whole(&sound, 2, make);
    assert!(length > 2 * SEGMENT_BYTES, "{length}");
    assert!(!side_files(&sound).is_empty());
    let mut found = Found::default();
    for segment in 0..length.div_ceil(SEGMENT_BYTES) {
        let all = [SEGMENT_BYTES.min(length - segment * SEGMENT_BYTES)];
        for (index, bytes) in BLANK_BYTES.into_iter().chain(all).enumerate() {
            let damaged = temporary.path().join("damaged");
            copy(&sound, &damaged);
            if (segment + index) % 2 == 0 {
                let files = side_files(&damaged);
                files
                    .iter()
                    .for_each(|path| fs::remove_file(path).expect("removed"));
            }
            if bytes == 512 {
                // Nothing says how far it was acknowledged.
                fs::remove_file(damaged.join("events/journal")).expect("removed");
                fs::write(damaged.join("events.tail"), b"").expect("written");
            }
            behead(&damaged, segment, bytes);
            let (before, told) = (database(&damaged), found.told);
            found.judge(&damaged, newest, &commits);
            // Of a segment of which nothing is left, only a start can tell.
            let may_write = found.told == told || bytes > 4096;
            assert!(
                may_write || database(&damaged) == before,
                "{segment} {bytes}"
            );
            fs::remove_dir_all(&damaged).expect("removed");
        }
    }
    println!("{found:?}");
    assert!(found.all_there > BLANK_BYTES.len(), "{found:?}");
}

/// What sled reads, and blanks, depends on a side file, which a start sets aside if it is damaged.
#[test]
fn damage_to_a_side_file_too_takes_nothing_that_was_whole() {
    const PLACES: usize = 12;
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, commits, length) = whole(&sound, 2, make);
    // The side file is then of the end of the log.
    assert_eq!(open(&sound).expect("opened"), newest);
    let mut found = Found::default();
    for index in 0..PLACES {
        let damaged = temporary.path().join("damaged");
        copy(&sound, &damaged);
        for path in side_files(&damaged) {
            let mut bytes = fs::read(&path).expect("read");
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
            fs::write(path, bytes).expect("written");
        }
        let at = (index * length + length / 2) / PLACES;
        damage(&damaged, at..at + 1, index % 8);
        found.judge(&damaged, newest, &commits);
        fs::remove_dir_all(&damaged).expect("removed");
    }
    println!("{found:?}");
    assert!(found.all_there > 0, "{found:?}");
}

/// The engine reads the page that names its trees where its side file says, and everything once that fails.
#[test]
fn damage_to_what_names_the_trees_takes_nothing_that_was_whole() {
    const TREE: &[u8] = b"__sled__default";
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    let (newest, commits, _) = whole(at, 2, make);
    // The side file is then of the end of the log.
    assert_eq!(open(at).expect("opened"), newest);
    let sound = database(at);
    let named = sound.windows(TREE.len()).enumerate();
    let named: Vec<usize> = named.filter(|one| one.1 == TREE).map(|one| one.0).collect();
    assert!(!named.is_empty(), "it is there");
    named
        .into_iter()
        .for_each(|place| damage(at, place..place + 1, 0));
    let before = database(at);
    let mut found = Found::default();
    found.judge(at, newest, &commits);
    assert!(is_any_set_aside(at), "it had no second try");
    assert_eq!(found.all_there, 1, "{found:?}");
    assert!(database(at) == before, "something was blanked");
}

/// One object that is changed again and again, in frames of several values.
fn changes(at: &Path) -> Revision {
    let disk = Arc::new(Disk::default());
    let writer = script::open(&disk);
    let mut commands = Commands::default();
    let namespace = json!({"metadata": {"name": "default"}});
    let object = json!({"metadata": {"name": "c"}});
    let mut intents = vec![
        create("namespaces", "", namespace),
        create("configmaps", "default", object),
    ];
    intents.extend(
        (0..CHANGES).map(|number| patch("c", json!({"data": {"k": noise(number, LARGE_BYTES)}}))),
    );
    for intent in intents {
        let command = commands.command(intent);
        submit(&writer, &disk, vec![command]).expect("written");
    }
    let storage = Arc::new(SledStorage::open(&at.join("events")).expect("made"));
    let mut newest = Revision::ZERO;
    for (first, bytes) in disk.frames() {
        storage.append(first, &bytes).expect("appended");
        storage.sync().expect("synced");
        newest = frame::end(first, &bytes).expect("whole").previous();
        let hash = frame::hash(&bytes);
        storage.witness(&Tail {
            revision: newest,
            hash,
        });
    }
    let reader = Reader::new(Arc::clone(&storage) as Arc<dyn Records>);
    thin(&*storage, &reader, newest.previous(), empty(), &[]).expect("thinned");
    storage.sync().expect("synced");
    newest
}

/// sled blanks free segments when it opens, and does not sync that: a power cut leaves some of them blank
/// in part.
#[test]
fn a_free_segment_that_was_blanked_in_part_opens() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (before, after) = (
        temporary.path().join("before"),
        temporary.path().join("after"),
    );
    let newest = changes(&before);
    copy(&before, &after);
    assert_eq!(open(&after).expect("opened"), newest);
    let (old, new) = (database(&before), database(&after));
    let is_blank = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let mut freed = 0;
    for (segment, bytes) in old.chunks(SEGMENT_BYTES).enumerate() {
        let begin = segment * SEGMENT_BYTES;
        let now = new.get(begin..(begin + SEGMENT_BYTES).min(new.len()));
        if is_blank(bytes) || !now.is_none_or(is_blank) {
            continue;
        }
        freed += 1;
        for length in BLANK_BYTES {
            let cut = temporary.path().join("cut");
            copy(&before, &cut);
            behead(&cut, segment, length);
            assert_eq!(intact(&cut).until, newest);
            assert_eq!(open(&cut).expect("opened"), newest, "{segment}, {length}");
            fs::remove_dir_all(&cut).expect("removed");
        }
    }
    assert!(freed > 0, "nothing was freed");
}
