//! What is written between two syncs, what is left of what was replaced, and what is read meanwhile.

use super::{
    CHANGES_FOR_A_MOVE, IVec, MOVED_BYTES, PIECE_BYTES, TIMES_WRITTEN, UNSYNCED_BYTES, key,
};
use crate::storage::conformance::copy;
use crate::{SledStorage, Storage};
use hindsight_core::Revision;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

#[test]
fn no_more_is_written_without_a_sync_than_sled_keeps_apart() {
    const FRAME_BYTES: usize = 60 << 10;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let (unsynced, most) = (Cell::new(0), Cell::new(0));
    let sync = || {
        storage.frames.syncing();
        unsynced.set(0);
        Ok(())
    };
    for number in 1..=200 {
        unsynced.set(unsynced.get() + FRAME_BYTES * TIMES_WRITTEN);
        let frame = vec![7; FRAME_BYTES];
        let appended = storage.frames.append(Revision(number), &frame, &sync);
        appended.expect("appended");
        most.set(most.get().max(unsynced.get()));
    }
    assert!((1..=UNSYNCED_BYTES).contains(&most.get()), "{most:?}");
}

/// As if the frame had been found before it was replaced, and its pieces read after.
#[test]
fn a_frame_that_is_replaced_while_it_is_read_is_looked_for_again() {
    for (first, before, after) in [(1, 1, 6), (2, 2, 6), (3, 3, 3)] {
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(temporary.path()).expect("opened");
        for (number, length) in [(1, 9), (2, 9), (3, 3 * PIECE_BYTES), (6, 9)] {
            let appended = storage.append(Revision(number), &vec![7; length]);
            appended.expect("appended");
        }
        let frames = &storage.frames;
        let pair = || frames.first.get(key(Revision(3))).expect("read");
        let found = pair().map(|head| Ok((IVec::from(&key(Revision(3))), head)));
        let thinned = storage.replace(Revision(first), Revision(5), &[1; 50]);
        thinned.expect("replaced");
        let found = |look: &dyn Fn() -> Option<::sled::Result<(IVec, IVec)>>| {
            let stale = Cell::new(found.clone());
            let found = frames.find(|| stale.take().or_else(look));
            found.expect("read").expect("found").0.0
        };
        let until = Revision(3);
        let back = found(&|| frames.first.range(..=key(until)).next_back());
        let on = found(&|| frames.first.range(key(until)..).next());
        assert_eq!((back, on), (before, after), "{first}");
    }
}

#[test]
fn the_room_of_what_was_replaced_is_used_again() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let frame = vec![7; 60 << 10];
    let mut replaced = Revision::ZERO;
    let mut lengths = Vec::new();
    for number in 1..=3000 {
        storage.append(Revision(number), &frame).expect("appended");
        if number % 9 == 0 && number > 80 {
            let until = Revision(number - 80);
            let thinned = storage.replace(replaced.next(), until, &[1; 200]);
            thinned.expect("replaced");
            replaced = until;
            storage.sync().expect("synced");
        }
        if number % 1000 == 0 {
            let file = temporary.path().join("db").metadata();
            lengths.push(file.expect("it is there").len() >> 20);
        }
    }
    let (first, last) = (lengths[0], lengths[2]);
    assert!(last <= first + 8, "MiB: {lengths:?}");
}

/// A frame in pieces is longer than what may be written without a sync, so some of it may be durable
/// alone.
#[test]
fn of_a_frame_that_is_synced_in_the_middle_nothing_is_found() {
    let temporary = tempfile::tempdir().expect("a directory");
    let path = temporary.path().join("events");
    let storage = SledStorage::open(&path).expect("opened");
    storage.append(Revision(1), &[7; 9]).expect("appended");
    storage.sync().expect("synced");
    let syncs = Cell::new(0);
    let sync = || {
        syncs.set(syncs.get() + 1);
        storage.make_durable()?;
        let copied = tempfile::tempdir().expect("a directory");
        copy(temporary.path(), copied.path());
        let found = SledStorage::open(&copied.path().join("events")).expect("opened");
        let last = found.at_or_before(Revision(u64::MAX)).expect("read");
        assert_eq!(last.map(|(first, _)| first), Some(Revision(1)));
        Ok(())
    };
    let frame = vec![8; 20 * PIECE_BYTES + 1];
    let appended = storage.frames.append(Revision(2), &frame, &sync);
    appended.expect("appended");
    assert!(syncs.get() > 1);
    let last = storage.at_or_before(Revision(2)).expect("read");
    assert!(last == Some((Revision(2), frame)), "now it is there");
}

/// Pages that are moved are written too.
#[test]
fn what_is_moved_for_the_room_of_what_was_replaced_is_synced_as_well() {
    const MOVED_MAX: u64 = (UNSYNCED_BYTES / MOVED_BYTES + 1) as u64;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    for number in 1..=40 {
        let appended = storage.append(Revision(number), &vec![7; 60 << 10]);
        appended.expect("appended");
    }
    storage.sync().expect("synced");
    let frames = &storage.frames;
    let turn = || frames.turn.load(Ordering::Relaxed);
    let (synced, most) = (Cell::new(turn()), Cell::new(0));
    let unsynced = || most.set(most.get().max(turn() - synced.get()));
    let sync = || {
        frames.syncing();
        unsynced();
        synced.set(turn());
        Ok(())
    };
    let replaced = frames.replace(Revision(1), Revision(40), &[1; 200], &sync);
    replaced.expect("replaced");
    unsynced();
    let changes = CHANGES_FOR_A_MOVE as u64;
    assert!(turn() > 10 * MOVED_MAX * changes, "{}", turn());
    assert!(most.get() <= MOVED_MAX * changes, "{}", most.get());
}

#[test]
fn of_a_frame_that_was_replaced_no_piece_is_left() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let lengths = [(1, 9), (2, 300 << 10), (4, 200 << 10), (6, 300 << 10)];
    for (number, length) in lengths {
        let appended = storage.append(Revision(number), &vec![7; length]);
        appended.expect("appended");
    }
    let pieces = || {
        let keys = storage.frames.others.iter().keys();
        let firsts =
            keys.map(|one| u64::from_be_bytes(one.expect("read")[..8].try_into().expect("8")));
        firsts.collect::<BTreeSet<u64>>()
    };
    assert_eq!(pieces(), BTreeSet::from([2, 4, 6]));
    // Those of the frames behind the first, and its own.
    for (first, last, left) in [(1, 2, &[4, 6][..]), (4, 5, &[6])] {
        let replaced = storage.replace(Revision(first), Revision(last), &[1; 50]);
        replaced.expect("replaced");
        assert_eq!(pieces(), left.iter().copied().collect());
    }
}
