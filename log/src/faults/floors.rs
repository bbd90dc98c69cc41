//! Thinned logs that are damaged before their floor: of what is intact before the damage there is no state.

use super::copies::copy;
use super::damaged::{frames, intact, make};
use super::script::empty;
use crate::frame::decoded::FrameLinks;
use crate::retention::thin;
use crate::{Error, Reader, Records, SledStorage, Storage, Tail};
use hindsight_core::Revision;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const FLOOR: Revision = Revision(60);

/// Makes a thinned log, and returns the first revisions of its frames.
fn thinned(directory: &Path) -> Vec<Revision> {
    make(directory, &frames(9));
    let storage = SledStorage::open(&directory.join("events")).expect("opened");
    let storage = Arc::new(storage);
    let reader = Reader::new(Arc::clone(&storage) as Arc<dyn Records>);
    thin(&*storage, &reader, FLOOR, empty(), &[]).expect("thinned");
    storage.sync().expect("synced");
    let frames = reader.verified_frames(Tail::START).expect("read");
    frames
        .map(|frame| frame.expect("whole").links.first)
        .collect()
}

fn damage_every_copy(directory: &Path, first: Revision) {
    let path = directory.join("events/db");
    let mut bytes = fs::read(&path).expect("read");
    for range in intact(directory).ranges(first) {
        bytes[range.start + range.len() / 2] ^= 1;
    }
    fs::write(path, bytes).expect("written");
}

#[test]
fn of_a_log_that_is_damaged_before_its_floor_it_is_told_that_only_an_earlier_backup_helps() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let frames = thinned(&sound);
    let mut told = 0;
    for first in frames.into_iter().filter(|first| *first <= FLOOR) {
        let damaged = temporary.path().join(format!("damaged at {first}"));
        copy(&sound, &damaged);
        damage_every_copy(&damaged, first);
        let found = intact(&damaged);
        if found.until == Revision::ZERO {
            continue;
        }
        let refused = SledStorage::open(&damaged.join("events")).expect_err("it is damaged");
        for error in [found.check_state().expect_err("no state"), refused] {
            let Error::NoState { damaged, floor } = error else {
                panic!("{error}")
            };
            assert_eq!((damaged, floor), (found.until.next(), FLOOR));
        }
        told += 1;
    }
    assert!(told > 0, "no frame behind the first was damaged");
}

/// Where nothing is decoded, thinned frames still have to give the hash of the frame that they replaced.
#[test]
fn frames_without_their_commits_are_chained_as_they_are_with_them() {
    let temporary = tempfile::tempdir().expect("a directory");
    assert!(thinned(temporary.path()).len() > 2);
    let reader = intact(temporary.path()).reader;
    let link = |frame: Result<FrameLinks, Error>| {
        let frame = frame.expect("whole");
        let covered = (frame.first, frame.last(), frame.coverage);
        (covered, frame.previous, frame.hash)
    };
    let frames = reader.verified_frames(Tail::START).expect("read");
    let frames = frames.map(|frame| frame.map(|frame| frame.links));
    let links = reader.verified_links().expect("read");
    assert!(links.map(link).eq(frames.map(link)));
}
