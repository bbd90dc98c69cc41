//! The contents of a journal after a crash, and what is refused.

use super::record::{BEGIN_BYTES, FORMAT, RecordHeader, Salt};
use super::{CAPACITY_BYTES, JOURNAL as NAME, JournalContents};
use crate::frame::{self, Format};
use crate::storage::conformance::copy;
use crate::{Error, SledStorage, Storage, Witnessed};
use hindsight_core::Revision;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The salt of [`records`].
const SALT: Salt = Salt(7);
/// What a record has besides its frame and the zeros that fill it up.
const RECORD_BYTES: usize = 45;

/// A log with these frames, all of them synced, as a kill leaves it.
fn killed(frames: &[u64]) -> (TempDir, SledStorage) {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(&temporary.path().join("events")).expect("opened");
    for first in frames {
        append(&storage, *first, 20);
        storage.sync().expect("synced");
    }
    (temporary, storage)
}

fn append(storage: &SledStorage, first: u64, length: usize) {
    let appended = storage.append(Revision(first), &vec![7; length]);
    appended.expect("appended");
}

/// A copy of the files as they are now, as if the process had been killed.
fn crashed(of: &TempDir) -> (TempDir, PathBuf) {
    let copied = tempfile::tempdir().expect("a directory");
    copy(of.path(), copied.path());
    let events = copied.path().join("events");
    (copied, events)
}

fn found(events: &Path) -> Vec<u64> {
    all(&SledStorage::open(events).expect("opened"))
}

fn all(storage: &dyn Storage) -> Vec<u64> {
    let mut found = Vec::new();
    let mut from = Revision::ZERO;
    while let Some((first, _)) = storage.at_or_after(from).expect("read") {
        found.push(first.0);
        from = first.next();
    }
    found
}

/// A journal file of these records.
fn file(parts: &[(u64, u64, u64)]) -> Vec<u8> {
    [&SALT.seal()[..], &records(parts)].concat()
}

fn records(parts: &[(u64, u64, u64)]) -> Vec<u8> {
    let records = parts.iter().map(|(before, first, synced)| {
        let mut bytes = Vec::new();
        let frame = format!("frame {first}");
        header(*before, *first, *synced).seal(frame.as_bytes(), &mut bytes);
        bytes
    });
    records.flatten().collect()
}

const fn header(before: u64, first: u64, synced: u64) -> RecordHeader {
    RecordHeader {
        salt: SALT,
        before: Revision(before),
        first: Revision(first),
        synced: Revision(synced),
    }
}

fn firsts(journal: &JournalContents) -> Vec<u64> {
    journal
        .records()
        .map(|(record, _)| record.header.first.0)
        .collect()
}

#[test]
fn what_was_synced_outlives_a_kill_without_a_sync_of_the_database() {
    let (temporary, storage) = killed(&[1, 2, 5]);
    let (without, events) = crashed(&temporary);
    fs::remove_file(events.join(NAME)).expect("removed");
    assert!(found(&events).is_empty(), "the database was not synced");
    drop(without);
    let (_copied, events) = crashed(&temporary);
    for _ in 0..2 {
        assert_eq!(found(&events), [1, 2, 5]);
        fs::remove_file(events.join(NAME)).expect("a start has put all of it into the database");
    }
    drop(storage);
    let (_copied, events) = crashed(&temporary);
    fs::remove_file(events.join(NAME)).expect("and so has a clean end");
    assert_eq!(found(&events), [1, 2, 5]);
}

#[test]
fn rounds_follow_each_other_and_nothing_is_lost_at_any_place_of_them() {
    let (temporary, storage) = killed(&[]);
    let mut begun = 0;
    for first in 1..=2_000 {
        let before = storage.lock_journal().at;
        append(&storage, first, 1_500);
        storage.sync().expect("synced");
        let now = storage.lock_journal().at;
        begun += u64::from(now < before);
        if now < before || first % 333 == 0 {
            let (_copied, events) = crashed(&temporary);
            assert_eq!(found(&events), (1..=first).collect::<Vec<_>>());
        }
    }
    assert!(begun > 3, "{begun} rounds");
}

#[test]
fn a_frame_that_finds_no_room_is_synced_in_the_database_with_all_before_it() {
    let (temporary, storage) = killed(&[1, 2]);
    append(&storage, 3, CAPACITY_BYTES / 2);
    append(&storage, 4, CAPACITY_BYTES);
    assert!(!storage.lock_journal().holds_all());
    storage.sync().expect("synced");
    let (_copied, events) = crashed(&temporary);
    fs::remove_file(events.join(NAME)).expect("removed");
    assert_eq!(found(&events), [1, 2, 3, 4]);
    append(&storage, 5, 20);
    append(&storage, 6, 20);
    storage.sync().expect("synced");
    let (_copied, events) = crashed(&temporary);
    assert_eq!(found(&events), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_was_replaced_is_not_brought_back() {
    for (first, last, left) in [
        (2, 3, &[1, 2, 4, 5][..]),
        (4, 5, &[1, 2, 3, 4]),
        (1, 9, &[1]),
    ] {
        let (temporary, storage) = killed(&[1, 2, 3, 4, 5]);
        let replaced = storage.replace(Revision(first), Witnessed::up_to(Revision(last)), &[1; 50]);
        replaced.expect("replaced");
        storage.sync().expect("synced");
        let (_copied, events) = crashed(&temporary);
        assert_eq!(found(&events), left);
        append(&storage, 10, 20);
        storage.sync().expect("synced");
        let (_copied, events) = crashed(&temporary);
        let more: Vec<_> = left.iter().copied().chain([10]).collect();
        assert_eq!(found(&events), more);
    }
}

/// Old history is thinned while others write: that must take nothing out of the journal.
#[test]
fn what_is_replaced_far_behind_leaves_the_journal_as_it_is() {
    let (temporary, storage) = killed(&[1, 2, 3]);
    append(&storage, 4, CAPACITY_BYTES);
    storage.sync().expect("a round begins");
    append(&storage, 5, 20);
    storage.sync().expect("synced");
    let journal = || fs::read(temporary.path().join("events").join(NAME)).expect("read");
    let before = journal();
    let replaced = storage.replace(Revision(1), Witnessed::up_to(Revision(3)), &[1; 20]);
    replaced.expect("replaced");
    assert!(journal() == before && storage.lock_journal().at > BEGIN_BYTES);
    let (_copied, events) = crashed(&temporary);
    assert!(found(&events).ends_with(&[4, 5]));
}

/// Until something of a round is synced, a crash may leave the records of the one before.
#[test]
fn records_that_a_crash_may_leave_are_not_thinned_before_the_journal_is_emptied() {
    for meanwhile in ["nothing", "append", "sync"] {
        let (temporary, storage) = killed(&[1, 2, 3]);
        let left = || {
            let (_copied, events) = crashed(&temporary);
            firsts(&JournalContents::of(&events).expect("read"))
        };
        append(&storage, 4, CAPACITY_BYTES);
        storage.sync().expect("a round begins");
        assert_eq!(left(), [1, 2, 3]);
        match meanwhile {
            "append" => append(&storage, 5, 20),
            "sync" => storage.sync().expect("nothing to sync"),
            _ => {}
        }
        let replaced = storage.replace(Revision(1), Witnessed::up_to(Revision(2)), &[1; 20]);
        replaced.expect("replaced");
        assert!(left().is_empty(), "{meanwhile}");
    }
}

/// Some 24 KB, of records of many lengths.
#[test]
fn a_turned_bit_ends_the_journal_or_is_told() {
    let (mut bytes, mut filled, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
    for before in 0..32 {
        let frame = vec![b'f'; before * 661 % 1400];
        let revision = before as u64;
        header(revision, revision + 1, revision).seal(&frame, &mut sealed);
        filled.push(bytes.len() + RECORD_BYTES + frame.len()..bytes.len() + sealed.len());
        bytes.append(&mut sealed);
    }
    let begin = SALT.seal();
    let read = |bytes: &[u8]| JournalContents::read([&begin[..], bytes].concat());
    let whole = read(&bytes).expect("read");
    let all: Vec<u64> = (1..=32).collect();
    assert_eq!(firsts(&whole), all);
    assert!(whole.check_end(Revision(31)).is_ok());
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let journal = read(&bytes).expect("read");
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = firsts(&journal);
        let record = filled.partition_point(|zeros| zeros.end <= bit / 8);
        if filled[record].contains(&(bit / 8)) {
            assert_eq!(found, all, "bit {bit} of what fills a record up");
            continue;
        }
        assert_eq!(found, all[..record], "bit {bit}");
        let newest = Revision(found.last().copied().unwrap_or_default());
        // Whether the last record was acknowledged is not known.
        let is_told = journal.check_end(newest).is_err();
        assert_eq!(is_told, record < 31, "bit {bit}");
    }
}

#[test]
fn a_damaged_record_that_was_acknowledged_refuses_the_log() {
    let (temporary, storage) = killed(&[1, 2, 3]);
    let (_copied, events) = crashed(&temporary);
    let path = events.join(NAME);
    let mut bytes = fs::read(&path).expect("read");
    let second = bytes.windows(4).rposition(|four| four == b"HSLJ");
    let second = second.expect("the third") - 8;
    bytes[second] ^= 1;
    fs::write(&path, bytes).expect("written");
    let refused = SledStorage::open(&events).expect_err("a frame is lost");
    assert!(
        matches!(refused, Error::Gap { revision, newest } if (revision, newest) == (Revision(2), Revision(1))),
        "{refused}"
    );
    drop(storage);
    assert_eq!(found(&temporary.path().join("events")), [1, 2, 3]);
}

#[test]
fn what_does_not_follow_the_database_is_refused() {
    for (parts, taken) in [
        (&[(2, 3, 2), (3, 4, 3)][..], Ok(&[1, 2, 3, 4][..])),
        (&[(1, 2, 1), (2, 3, 2)], Ok(&[1, 2, 3])),
        (&[(1, 2, 1)], Ok(&[1, 2])),
        (&[(5, 7, 5)], Err("to a record at revision 5")),
        (&[(1, 3, 1)], Err("to a record at revision 3")),
        (&[(2, 3, 9)], Err("to a record at revision 9")),
    ] {
        let (temporary, storage) = killed(&[1, 2]);
        drop(storage);
        let events = temporary.path().join("events");
        fs::write(events.join(NAME), file(parts)).expect("written");
        let opened = SledStorage::open(&events).map(|storage| all(&storage));
        match (opened, taken) {
            (Ok(found), Ok(taken)) => assert_eq!(found, taken, "{parts:?}"),
            (Err(error), Err(part)) => {
                assert!(error.to_string().contains(part), "{parts:?} {error}");
            }
            (opened, _) => panic!("{parts:?} {opened:?}"),
        }
    }
}

#[test]
fn records_of_an_earlier_round_are_not_read() {
    let new = file(&[(5, 6, 5), (6, 7, 6)]);
    let old = file(&[(0, 1, 0), (1, 2, 1), (2, 3, 2), (3, 4, 3)]);
    let rest = &old[new.len()..];
    let journal = JournalContents::read([&new[..], rest].concat()).expect("read");
    assert_eq!(firsts(&journal), [6, 7]);
    assert!(journal.check_end(Revision(7)).is_ok());
}

/// It would follow if its salt were that of the new one: here it ends up right behind that.
#[test]
fn what_was_torn_does_not_follow_what_comes_in_its_place() {
    let (temporary, storage) = killed(&[]);
    drop(storage);
    let events = temporary.path().join("events");
    let mut bytes = records(&[(0, 1, 0), (1, 2, 0), (2, 3, 0)]);
    let length = bytes.len() / 3;
    bytes[length + 40] ^= 1;
    let file = [&SALT.seal()[..], &bytes].concat();
    fs::write(events.join(NAME), file).expect("written");
    let storage = SledStorage::open(&events).expect("opened");
    append(&storage, 2, length + 8);
    storage.sync().expect("synced");
    assert_eq!(storage.lock_journal().at, BEGIN_BYTES + 2 * length);
    let (_copied, events) = crashed(&temporary);
    assert_eq!(found(&events), [1, 2]);
}

/// Bytes that a user stored are in the file unchanged, possibly at offsets of records.
#[test]
fn what_looks_like_a_record_and_does_not_know_the_salt_is_none() {
    let others = |format: u8, salt: u64| {
        let mut bytes = Vec::new();
        let header = RecordHeader {
            salt: Salt(salt),
            ..header(7, 8, 7)
        };
        header.seal_as(format, b"frame", &mut bytes);
        bytes
    };
    let read = |begin: &[u8], other: &[u8]| {
        JournalContents::read([begin, &records(&[(0, 1, 0), (1, 3, 1)]), other].concat())
    };
    for other in [others(FORMAT, 0), others(FORMAT, 6), others(FORMAT + 1, 6)] {
        let journal = read(&SALT.seal(), &other).expect("it is nothing");
        assert_eq!(firsts(&journal), [1, 3]);
        assert!(journal.check_end(Revision(3)).is_ok());
    }
    // With the right salt it does show that.
    let journal = read(&SALT.seal(), &others(FORMAT, SALT.0)).expect("read");
    assert!(journal.check_end(Revision(3)).is_err());
}

/// The first record has the salt too.
#[test]
fn damage_to_what_a_journal_begins_with_takes_no_record() {
    let parts = [(0, 1, 0), (1, 3, 1)];
    for bit in 0..BEGIN_BYTES * 8 {
        let mut bytes = file(&parts);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let journal = JournalContents::read(bytes.clone()).expect("read");
        assert_eq!(firsts(&journal), [1, 3], "bit {bit}");
        // If that is damaged too, any whole record shows what is lost.
        bytes[BEGIN_BYTES] ^= 1;
        let journal = JournalContents::read(bytes).expect("read");
        assert!(firsts(&journal).is_empty() && journal.check_end(Revision::ZERO).is_err());
    }
    let (temporary, _storage) = killed(&[1, 2]);
    let (_copied, events) = crashed(&temporary);
    let mut bytes = fs::read(events.join(NAME)).expect("read");
    bytes[5] ^= 1;
    fs::write(events.join(NAME), bytes).expect("written");
    assert_eq!(found(&events), [1, 2]);
}

/// What two starts answer to this journal in the place of the log's own; neither may change it.
fn refusals(of: &TempDir, journal: &[u8]) -> [Error; 2] {
    let events = of.path().join("events");
    fs::write(events.join(NAME), journal).expect("written");
    [(); 2].map(|()| {
        let refused = SledStorage::open(&events).expect_err("it does not fit");
        assert!(fs::read(events.join(NAME)).expect("read") == journal);
        refused
    })
}

/// sled may consider the first message that it cannot read the end of a segment, and show what comes
/// after that.
#[test]
fn a_database_that_lacks_what_the_journal_has_is_refused_and_the_journal_left_as_it_is() {
    let (with, storage) = killed(&[1, 2, 3]);
    drop(storage);
    let journal = fs::read(with.path().join("events").join(NAME)).expect("read");
    for (frames, told, newest) in [(&[1, 3][..], 2, 1), (&[3], 1, 0)] {
        let (lacks, storage) = killed(frames);
        drop(storage);
        for refused in refusals(&lacks, &journal) {
            assert!(
                matches!(refused, Error::Gap { revision: first, newest: last }
                    if (first, last) == (Revision(told), Revision(newest))),
                "{refused}"
            );
        }
    }
}

/// Whole frames, each of one commit and chained to the one before.
fn chained(payload: u8, count: u64) -> Vec<Vec<u8>> {
    let mut previous = frame::Hash::default();
    let frames = (1..=count).map(|first| {
        let mut bytes = Vec::new();
        frame::begin(&mut bytes);
        bytes.extend([payload; 20]);
        frame::seal(&mut bytes, Format::Commits, Revision(first), 1, &previous);
        previous = frame::hash(&bytes);
        bytes
    });
    frames.collect()
}

/// A log of them, as a kill leaves it.
fn killed_with(frames: &[Vec<u8>]) -> (TempDir, SledStorage) {
    let (temporary, storage) = killed(&[]);
    for (first, frame) in (1..).zip(frames) {
        storage.append(Revision(first), frame).expect("appended");
        storage.sync().expect("synced");
    }
    (temporary, storage)
}

#[test]
fn a_journal_of_another_log_whose_revisions_fit_is_refused_and_left_as_it_is() {
    let ours = chained(1, 3);
    // What the other journal has begins behind what its database has.
    for (of_others, their_start, told) in [(5, 3, 4), (3, 0, 1), (2, 0, 1), (3, 2, 3)] {
        let (others, storage) = killed_with(&chained(2, their_start));
        drop(storage);
        let events = others.path().join("events");
        let storage = SledStorage::open(&events).expect("opened");
        for (first, frame) in (1..).zip(chained(2, of_others)) {
            if first > their_start {
                storage.append(Revision(first), &frame).expect("appended");
                storage.sync().expect("synced");
            }
        }
        let journal = fs::read(events.join(NAME)).expect("read");
        let (mixed, storage) = killed_with(&ours);
        drop(storage);
        for refused in refusals(&mixed, &journal) {
            assert!(
                matches!(refused, Error::Corrupt { revision, .. } if revision == Revision(told)),
                "{refused}"
            );
        }
    }
}

#[test]
fn what_was_thinned_since_the_journal_had_it_is_no_other_log() {
    let (temporary, storage) = killed_with(&chained(1, 3));
    let journal = fs::read(temporary.path().join("events").join(NAME)).expect("read");
    let mut stands = Vec::new();
    frame::begin(&mut stands);
    let (first, last) = (Revision(1), Witnessed::up_to(Revision(2)));
    let previous = frame::Hash::default();
    frame::seal(&mut stands, Format::Placeholder, first, 2, &previous);
    storage.replace(first, last, &stands).expect("replaced");
    drop(storage);
    let events = temporary.path().join("events");
    fs::write(events.join(NAME), journal).expect("written");
    assert_eq!(found(&events), [1, 3]);
}

#[test]
fn every_start_and_all_that_is_thinned_has_a_salt_of_its_own() {
    let (temporary, storage) = killed(&[1, 2]);
    let events = temporary.path().join("events");
    let salt = || Salt::of(&fs::read(events.join(NAME)).expect("read")).expect("sound");
    let first = salt();
    let replaced = storage.replace(Revision(1), Witnessed::up_to(Revision(2)), &[1; 20]);
    replaced.expect("replaced");
    let second = salt();
    drop(storage);
    drop(SledStorage::open(&events).expect("opened"));
    let all = std::collections::BTreeSet::from([first, second, salt()].map(|one| one.0));
    assert_eq!(all.len(), 3);
}

#[test]
fn a_journal_of_a_newer_release_is_refused() {
    let (temporary, storage) = killed(&[1]);
    drop(storage);
    let events = temporary.path().join("events");
    let mut newer = Vec::new();
    header(1, 2, 1).seal_as(FORMAT + 1, b"frame", &mut newer);
    let file = [&SALT.seal()[..], &newer].concat();
    fs::write(events.join(NAME), file).expect("written");
    let refused = SledStorage::open(&events).expect_err("newer");
    assert!(
        matches!(refused, Error::NewerFormat { found: 3, known: 2, revision: Some(at) } if at == Revision(2)),
        "{refused}"
    );
}

#[test]
fn without_a_file_everything_is_synced_in_the_database() {
    let (temporary, storage) = killed(&[]);
    // As a start leaves it that finds no disk space.
    let mut journal = storage.lock_journal();
    (journal.file, journal.holds_all) = (None, false);
    drop(journal);
    for first in 1..=3 {
        append(&storage, first, 20);
        storage.sync().expect("synced");
        let (_copied, events) = crashed(&temporary);
        fs::remove_file(events.join(NAME)).expect("removed");
        assert_eq!(found(&events), (1..=first).collect::<Vec<_>>());
    }
}
