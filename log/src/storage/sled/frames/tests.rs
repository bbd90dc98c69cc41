//! What is written between two syncs, what remains of replaced frames, and what readers see meanwhile.

mod bundled;

use super::pieces::{PIECE_BYTES, VALUE_BYTES_MAX, WHOLE_BYTES_MAX};
use super::write_account::{
    BYTES_FOR_A_MOVE, CHANGES_FOR_A_MOVE, IDLE_MAX, LARGEST, TIMES_WRITTEN,
};
use super::{Piece, key, other_key};
use crate::storage::Stored;
use crate::storage::conformance::copy;
use crate::{Error, Records, SledStorage, Storage, Witnessed};
use hindsight_core::Revision;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// The most that may be written without a sync: a quarter of a segment of sled.
const UNSYNCED_MAX: usize = 2 << 20;

/// Stores the frame as a value of its own.
fn put(storage: &SledStorage, number: u64, frame: &[u8]) {
    let frame = (Revision(number), frame.into());
    let put = storage
        .database
        .frames
        .append(&[frame], &|| storage.database.make_durable());
    put.expect("put");
}

#[test]
fn no_more_is_written_without_a_sync_than_sled_keeps_apart() {
    const FRAME_BYTES: usize = 60 << 10;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let (unsynced, most) = (Cell::new(0), Cell::new(0));
    let sync = || {
        storage.database.frames.note_sync();
        unsynced.set(0);
        Ok(0)
    };
    for number in 1..=200 {
        unsynced.set(unsynced.get() + FRAME_BYTES * TIMES_WRITTEN);
        let frame = (Revision(number), vec![7; FRAME_BYTES].into());
        let appended = storage.database.frames.append(&[frame], &sync);
        appended.expect("appended");
        most.set(most.get().max(unsynced.get()));
    }
    assert!((1..=UNSYNCED_MAX).contains(&most.get()), "{most:?}");
}

/// The frame was found before it was replaced, and its pieces are read afterwards.
#[test]
fn a_frame_that_is_replaced_while_it_is_read_is_looked_for_again() {
    for (first, before, after) in [(1, 1, 6), (2, 2, 6), (3, 3, 3)] {
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(temporary.path()).expect("opened");
        for (number, length) in [(1, 9), (2, 9), (3, 30 * PIECE_BYTES), (6, 9)] {
            let appended = storage.append(Revision(number), &vec![7; length]);
            appended.expect("appended");
        }
        let frames = &storage.database.frames;
        storage
            .write(|journal| storage.store(journal))
            .expect("stored");
        let head = frames.first.get(key(Revision(3))).expect("read");
        let head = head.map(|head| (Revision(3), head.to_vec()));
        let thinned = storage.replace(Revision(first), Witnessed::up_to(Revision(5)), &[1; 50]);
        thinned.expect("replaced");
        let stale = Cell::new(head.clone());
        let back = frames.find_whole(|| Ok(stale.take().or(frames.at_or_before(Revision(3))?)));
        stale.set(head);
        let on = frames.find_whole(|| Ok(stale.take().or(frames.at_or_after(Revision(3))?)));
        let found = |found: Result<Option<Stored>, Error>| found.expect("read").expect("found").0.0;
        let (back, on) = (found(back), found(on));
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
            let thinned = storage.replace(replaced.next(), Witnessed::up_to(until), &[1; 200]);
            thinned.expect("replaced");
            replaced = until;
            while storage.tidy().expect("tidied") {}
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

/// A frame in pieces is longer than what may be written without a sync, so a part of it may become
/// durable on its own.
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
        storage.database.make_durable()?;
        let copied = tempfile::tempdir().expect("a directory");
        copy(temporary.path(), copied.path());
        let found = SledStorage::open(&copied.path().join("events")).expect("opened");
        let last = found.at_or_before(Revision::MAX).expect("read");
        assert_eq!(last.map(|(first, _)| first), Some(Revision(1)));
        Ok(0)
    };
    let frame = vec![8; 200 * PIECE_BYTES + 1];
    let large = (Revision(2), frame.clone().into());
    let appended = storage.database.frames.append(&[large], &sync);
    appended.expect("appended");
    assert!(syncs.get() > 1);
    let last = storage
        .database
        .frames
        .at_or_before(Revision(2))
        .expect("read");
    assert!(last == Some((Revision(2), frame)), "now it is there");
}

/// The pattern of a client that waits for each answer: small frames, of which many are thinned at a time.
#[test]
fn the_room_of_many_small_frames_is_used_again() {
    const KEPT: u64 = 20_000;
    const ROUND: u64 = 5_000;
    const AT_ONCE: u64 = 64;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let mut lengths = Vec::new();
    for number in 1..=120_000 {
        let length = 200 + usize::try_from(number % 7).expect("small") * 100;
        let frame = vec![7; length];
        storage.append(Revision(number), &frame).expect("appended");
        if number % ROUND == 0 && number > KEPT {
            let begin = number - KEPT - ROUND;
            for last in (begin + AT_ONCE..=begin + ROUND).step_by(64) {
                let first = Revision(last - AT_ONCE + 1);
                let thinned = storage.replace(first, Witnessed::up_to(Revision(last)), &[1; 5_000]);
                thinned.expect("replaced");
                while storage.tidy().expect("tidied") {}
            }
        }
        if number % 30_000 == 0 {
            let file = temporary.path().join("db").metadata();
            lengths.push(file.expect("it is there").len() >> 20);
        }
    }
    // The part that is kept grows too, but by less than that.
    let (first, last) = (lengths[0], lengths[3]);
    assert!(last <= first + 32, "MiB: {lengths:?}");
}

/// Pages that are moved are written too, each of the largest possible size.
#[test]
fn what_is_moved_for_the_room_of_what_was_replaced_is_synced_as_well() {
    for (length, at_once) in [(60 << 10, 1), (10 << 10, 7), (900, 107)] {
        let temporary = tempfile::tempdir().expect("a directory");
        let storage = SledStorage::open(temporary.path()).expect("opened");
        for number in 1..=400 {
            put(&storage, number, &vec![7; length]);
        }
        storage.database.make_durable().expect("synced");
        let frames = &storage.database.frames;
        let replaced = storage.replace(Revision(1), Witnessed::up_to(Revision(400)), &[1; 200]);
        replaced.expect("replaced");
        let turn = || frames.written.turn.load(Ordering::Relaxed);
        let unsynced = || frames.written.unsynced.load(Ordering::Relaxed);
        assert!(unsynced() > 0, "what was replaced is not synced yet");
        let (synced, most) = (Cell::new(turn()), Cell::new(0));
        let sync = || {
            let moved = turn() - synced.get();
            most.set(most.get().max(moved));
            let moves = usize::try_from(moved).expect("small") / CHANGES_FOR_A_MOVE;
            assert!(unsynced() + moves * frames.written.page_bytes() <= UNSYNCED_MAX);
            synced.set(turn());
            storage.database.make_durable()
        };
        while frames.move_pages(&sync).expect("moved") {}
        let most = usize::try_from(most.get()).expect("small");
        assert_eq!(most, at_once * CHANGES_FOR_A_MOVE, "{length}");
        assert_eq!(synced.get(), turn(), "all of it");
        assert!(at_once * frames.written.page_bytes() <= UNSYNCED_MAX);
    }
}

#[test]
fn what_is_paid_for_and_not_there_is_not_moved() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    put(&storage, 1, &[7; 200]);
    storage.database.make_durable().expect("synced");
    let frames = &storage.database.frames;
    frames
        .written
        .owed
        .store(10_000 * BYTES_FOR_A_MOVE, Ordering::Relaxed);
    while storage.tidy().expect("tidied") {}
    let turns = frames.written.turn.load(Ordering::Relaxed);
    assert!(
        turns > 0 && turns < 3_000 * CHANGES_FOR_A_MOVE as u64,
        "{turns}"
    );
}

/// A page that sled has noted for moving may have been rewritten meanwhile.
#[test]
fn a_turn_that_moves_nothing_is_not_taken_for_the_last() {
    const PAID: usize = 3 * IDLE_MAX;
    const AT_ONCE: usize = 7;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    put(&storage, 1, &[7; 10 << 10]);
    storage.database.make_durable().expect("synced");
    let frames = &storage.database.frames;
    let turns = |moved_at: usize| {
        let before = frames.written.turn.load(Ordering::Relaxed);
        if moved_at > 1 {
            frames.written.idle.store(0, Ordering::Relaxed);
        }
        frames
            .written
            .owed
            .store(PAID * BYTES_FOR_A_MOVE, Ordering::Relaxed);
        let syncs = Cell::new(0);
        let sync = || {
            frames.note_sync();
            syncs.set(syncs.get() + 1);
            Ok(if syncs.get() == moved_at { 1 << 20 } else { 0 })
        };
        while frames.move_pages(&sync).expect("moved") {}
        let turns = frames.written.turn.load(Ordering::Relaxed) - before;
        usize::try_from(turns).expect("small") / CHANGES_FOR_A_MOVE
    };
    let never = turns(0);
    assert!((IDLE_MAX..IDLE_MAX + AT_ONCE).contains(&never), "{never}");
    assert!(turns(0) <= AT_ONCE, "nothing has come since");
    let later = turns(1);
    assert!(
        (IDLE_MAX..IDLE_MAX + 2 * AT_ONCE).contains(&later),
        "{later}"
    );
    let once = turns(100);
    assert!(once > IDLE_MAX + 600 && once < PAID, "{once}");
}

/// The one sync that fails may have lost every page that was moved.
#[test]
fn what_was_moved_and_not_synced_is_an_error_and_still_owed() {
    const OWED: usize = 3 * BYTES_FOR_A_MOVE;
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    put(&storage, 1, &[7; 200]);
    storage.database.make_durable().expect("synced");
    let written = &storage.database.frames.written;
    written.owed.store(OWED, Ordering::Relaxed);
    written.idle.store(5, Ordering::Relaxed);
    let syncs = Cell::new(0);
    let failing = || {
        syncs.set(syncs.get() + 1);
        Err(Error::io("syncing")(std::io::Error::other("gone")))
    };
    let error = written.move_pages(&failing).expect_err("not synced");
    assert!(error.to_string().contains("gone"), "{error}");
    assert_eq!(syncs.get(), 1, "nothing is retried");
    assert!(written.turn.load(Ordering::Relaxed) > 0, "some were moved");
    let accounts = [&written.owed, &written.idle].map(|one| one.load(Ordering::Relaxed));
    assert_eq!(accounts, [OWED, 5]);
}

#[test]
fn how_large_values_are_is_known_at_the_next_start() {
    let temporary = tempfile::tempdir().expect("a directory");
    let path = temporary.path().join("events");
    let page_bytes = |storage: &SledStorage| storage.database.frames.written.page_bytes();
    let largest = {
        let storage = SledStorage::open(&path).expect("opened");
        let empty = page_bytes(&storage);
        put(&storage, 1, &[7; 5_000]);
        put(&storage, 2, &[7; 50]);
        assert!(page_bytes(&storage) > empty);
        page_bytes(&storage)
    };
    let storage = SledStorage::open(&path).expect("opened");
    assert_eq!(page_bytes(&storage), largest);
    // The database of a release that did not note it.
    storage
        .database
        .frames
        .written
        .turns
        .remove(LARGEST)
        .expect("removed");
    storage.sync().expect("synced");
    drop(storage);
    let storage = SledStorage::open(&path).expect("opened");
    assert!(page_bytes(&storage) > 17 * VALUE_BYTES_MAX);
}

#[test]
fn of_a_frame_that_was_replaced_no_piece_is_left() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let lengths = [(1, 9), (2, 300 << 10), (4, 200 << 10), (6, 300 << 10)];
    for (number, length) in lengths {
        put(&storage, number, &vec![7; length]);
    }
    let pieces = || {
        let keys = storage.database.frames.others.iter().keys();
        let firsts =
            keys.map(|one| u64::from_be_bytes(one.expect("read")[..8].try_into().expect("8")));
        firsts.collect::<BTreeSet<u64>>()
    };
    assert_eq!(pieces(), BTreeSet::from([2, 4, 6]));
    // The pieces of the frames behind the first, and its own.
    for (first, last, left) in [(1, 2, &[4, 6][..]), (4, 5, &[6])] {
        let replaced = storage.replace(Revision(first), Witnessed::up_to(Revision(last)), &[1; 50]);
        replaced.expect("replaced");
        assert_eq!(pieces(), left.iter().copied().collect());
    }
}

/// No release writes such a piece, and the checks of the engine do not notice who does.
#[test]
fn a_first_piece_of_no_bytes_has_an_end() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    put(&storage, 1, b"HSLP");
    let found = storage.at_or_after(Revision(1)).expect("read");
    assert_eq!(found, Some((Revision(1), Vec::new())));
}

/// Databases before `frames-3` have longer pieces, the first of them without a magic.
#[test]
fn frames_in_the_pieces_of_earlier_releases_are_read() {
    let temporary = tempfile::tempdir().expect("a directory");
    let storage = SledStorage::open(temporary.path()).expect("opened");
    let lengths = [1, 2, 3].map(|number| (number, number * VALUE_BYTES_MAX));
    let lengths = lengths
        .into_iter()
        .chain([(4, VALUE_BYTES_MAX - 1), (5, 2 * VALUE_BYTES_MAX + 1)]);
    let frames: Vec<_> = lengths
        .map(|(first, length)| (first as u64, vec![7_u8; length]))
        .collect();
    let trees = &storage.database.frames;
    for (first, frame) in &frames {
        let mut pieces = frame.chunks(VALUE_BYTES_MAX).chain([&[][..]]);
        let head = pieces.next().expect("not empty");
        trees
            .first
            .insert(key(Revision(*first)), head)
            .expect("written");
        for (number, piece) in (0..).zip(pieces) {
            trees
                .others
                .insert(other_key(Revision(*first), number), piece)
                .expect("written");
        }
    }
    for (first, frame) in frames {
        let found = storage.at_or_after(Revision(first)).expect("read");
        assert!(found == Some((Revision(first), frame)), "{first}");
    }
}

#[test]
fn a_frame_is_cut_only_if_one_value_is_not_enough() {
    let seven = [PIECE_BYTES; 7];
    for (length, others) in [
        (9, vec![]),
        (WHOLE_BYTES_MAX, vec![]),
        (WHOLE_BYTES_MAX + 1, [&seven[..], &[33]].concat()),
        (
            9 * PIECE_BYTES - 1,
            [&seven[..], &[PIECE_BYTES - 1]].concat(),
        ),
        (9 * PIECE_BYTES, [&seven[..], &[PIECE_BYTES, 0]].concat()),
        (
            9 * PIECE_BYTES + 1,
            [&seven[..], &[PIECE_BYTES, 1]].concat(),
        ),
    ] {
        let frame = vec![7; length];
        let (first, rest) = super::pieces::cut(&frame);
        assert_eq!(
            rest.map(<[u8]>::len).collect::<Vec<_>>(),
            others,
            "{length}"
        );
        let is_cut = matches!(Piece::of(&first), Piece::First(piece) if piece.len() == PIECE_BYTES);
        assert_eq!(is_cut, !others.is_empty(), "{length}");
    }
}
