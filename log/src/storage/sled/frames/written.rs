//! What sled was given to write: how much of it may be durable alone, and what has to be moved so that the room of
//! what was replaced is used again.

use super::super::{engine, open_tree};
use super::{PIECE_BYTES, Sync};
use crate::Error;
use ::sled::{Db, Tree};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What sled may have written before it is synced. It takes the room of what was replaced for new
/// segments once it has written what replaces it, and not once that is durable; a segment of 8 MiB
/// always lies between the two, so with a sync in less than that the one is before the other.
pub(in super::super) const UNSYNCED_BYTES: usize = 2 << 20;
/// A value is written once, and again with its page, which is after every tenth change of that.
pub(in super::super) const TIMES_WRITTEN: usize = 3;
/// Of sled's own, for each change.
const CHANGE_BYTES: usize = 1 << 10;

/// sled takes a segment again once what is left in it was moved, a page at a time: whenever it rewrites
/// a page, which is at every eleventh change of that, it moves one. Where much is replaced it falls behind
/// for ever. So a page is changed for that alone, as often as it takes for one to be moved, for so many bytes
/// that were replaced, and for each value: what is left over ends once nothing is there to be moved.
pub(super) const BYTES_FOR_A_MOVE: usize = 16 << 10;
pub(super) const CHANGES_FOR_A_MOVE: usize = 11;
/// Values of a page, at most; and what each needs beside itself.
const PAGE_VALUES: usize = 18;
const VALUE_BYTES: usize = 64;
/// A turn that moves nothing writes less. It may be that of a page that was to be moved and was written
/// anew meanwhile; after so many in a row nothing is left to be moved.
const TURN_BYTES: usize = 1 << 10;
pub(super) const IDLE_MAX: usize = 1 << 10;
const TURNS: &str = "turns-1";
const TURN: &[u8] = b"turn";
pub(super) const LARGEST: &[u8] = b"largest";

#[derive(Debug)]
pub(super) struct Written {
    /// A value that is changed so that pages are moved, and how large values are.
    pub(super) turns: Tree,
    pub(super) turn: AtomicU64,
    /// Replaced bytes for which no page was moved yet.
    pub(super) owed: AtomicUsize,
    /// Turns in a row that moved nothing.
    pub(super) idle: AtomicUsize,
    pub(super) unsynced: AtomicUsize,
    /// No value is or was larger: a power of two.
    largest: AtomicUsize,
}

impl Written {
    /// `is_empty` says whether there are any values.
    pub(super) fn open(database: &Db, is_empty: bool) -> Result<Self, Error> {
        let turns = open_tree(database, TURNS)?;
        let largest = largest_of(is_empty, &turns)?;
        Ok(Self {
            turns,
            turn: AtomicU64::new(0),
            owed: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            unsynced: AtomicUsize::new(0),
            largest: AtomicUsize::new(largest),
        })
    }

    /// Is told before every sync.
    pub(super) fn syncing(&self) {
        self.unsynced.store(0, Ordering::Relaxed);
    }

    /// Is there whenever the value is, for it is written before.
    pub(super) fn note_length(&self, length: usize) -> Result<(), Error> {
        if length <= self.largest.load(Ordering::Relaxed) {
            return Ok(());
        }
        let largest = length.next_power_of_two();
        let noted = self.turns.insert(LARGEST, &(largest as u64).to_be_bytes());
        noted.map_err(|error| engine("writing", error))?;
        self.largest.store(largest, Ordering::Relaxed);
        Ok(())
    }

    /// What a page takes at most.
    pub(super) fn page_bytes(&self) -> usize {
        PAGE_VALUES * (self.largest.load(Ordering::Relaxed).min(PIECE_BYTES) + VALUE_BYTES)
    }

    /// A value of this length was put.
    pub(super) fn changed(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        self.wrote(bytes.saturating_mul(TIMES_WRITTEN) + CHANGE_BYTES, sync)
    }

    /// A value of this length was removed.
    pub(super) fn removed(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        self.owe(bytes);
        // sled moves a page meanwhile too.
        let moved = self.page_bytes() / CHANGES_FOR_A_MOVE;
        self.wrote(bytes * TIMES_WRITTEN + CHANGE_BYTES + moved, sync)
    }

    /// The room of so many bytes is not needed any more.
    pub(super) fn owe(&self, bytes: usize) {
        self.owed
            .fetch_add(bytes.max(BYTES_FOR_A_MOVE), Ordering::Relaxed);
    }

    fn wrote(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        if self.unsynced.fetch_add(bytes, Ordering::Relaxed) + bytes <= UNSYNCED_BYTES {
            return Ok(());
        }
        sync().map(drop)
    }

    /// Has some of the pages moved that were paid for, and makes that durable. False where no more are to be
    /// moved, be it that none is left.
    pub(super) fn move_pages(&self, sync: Sync<'_>) -> Result<bool, Error> {
        let at_once = (UNSYNCED_BYTES / self.page_bytes()).max(1);
        let paid = self.owed.load(Ordering::Relaxed) / BYTES_FOR_A_MOVE;
        let moves = paid.min(at_once);
        if moves == 0 {
            return Ok(false);
        }
        let is_alone = self.unsynced.load(Ordering::Relaxed) == 0;
        for _ in 0..moves * CHANGES_FOR_A_MOVE {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            let changed = self.turns.insert(TURN, &turn.to_be_bytes());
            changed.map_err(|error| engine("tidying up", error))?;
        }
        self.owed
            .fetch_sub(moves * BYTES_FOR_A_MOVE, Ordering::Relaxed);
        let written = sync()?;
        let is_idle = is_alone && written < moves * TURN_BYTES;
        let idle = if is_idle {
            self.idle.fetch_add(moves, Ordering::Relaxed) + moves
        } else {
            self.idle.store(0, Ordering::Relaxed);
            0
        };
        if idle < IDLE_MAX {
            return Ok(moves < paid);
        }
        self.owed.store(0, Ordering::Relaxed);
        Ok(false)
    }
}

/// As it is noted; a database of before that may have any.
fn largest_of(is_empty: bool, turns: &Tree) -> Result<usize, Error> {
    let noted = turns.get(LARGEST);
    let noted = noted.map_err(|error| engine("reading", error))?;
    let length = noted.and_then(|noted| <[u8; 8]>::try_from(&*noted).ok());
    if let Some(length) = length {
        return Ok(usize::try_from(u64::from_be_bytes(length)).unwrap_or(PIECE_BYTES));
    }
    Ok(if is_empty { 0 } else { PIECE_BYTES })
}
