//! Accounts for what sled was given to write: how much of it may become durable on its own, and what must
//! be moved so that the space of replaced values is reused.

use super::super::{engine, open_tree};
use super::Sync;
use super::pieces::VALUE_BYTES_MAX;
use crate::{EngineCall, Error};
use ::sled::{Db, Tree};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How much sled may write before it is synced. It reuses the space of replaced values for new segments
/// once it has written what replaces them, not once that is durable. A segment of 8 MiB always lies
/// between the two, so syncing more often than that keeps the order.
pub(in super::super) const UNSYNCED_BYTES: usize = 2 << 20;
/// A value is written once, and again with its page, after every tenth change of that.
pub(in super::super) const TIMES_WRITTEN: usize = 3;
/// What sled writes of its own for each change.
const CHANGE_BYTES: usize = 1 << 10;

/// sled reuses a segment once all that is left in it was moved, one page at a time: it moves a page
/// whenever it rewrites one, which is at every eleventh change of a page. If much is replaced, this falls
/// behind for ever. So a value is changed for this alone: as many times as one move takes, for each
/// replaced value and for each `BYTES_FOR_A_MOVE` bytes of it. A surplus ends once nothing is left to move.
pub(super) const BYTES_FOR_A_MOVE: usize = 16 << 10;
pub(super) const CHANGES_FOR_A_MOVE: usize = 11;
/// The most values of a page; and what each takes besides itself.
const PAGE_VALUES: usize = 18;
const VALUE_BYTES: usize = 64;
/// A turn that moves nothing writes less than this. It may have been the turn of a page that was noted
/// for moving and rewritten meanwhile; after `IDLE_MAX` idle turns in a row nothing is left to move.
const TURN_BYTES: usize = 1 << 10;
pub(super) const IDLE_MAX: usize = 1 << 10;
const TURNS: &str = "turns-1";
const TURN: &[u8] = b"turn";
pub(super) const LARGEST: &[u8] = b"largest";

#[derive(Debug)]
pub(super) struct WriteAccount {
    /// Holds a value that is changed to make sled move pages, and the length of the largest value.
    pub(super) turns: Tree,
    pub(super) turn: AtomicU64,
    /// Replaced bytes for which no page was moved yet.
    pub(super) owed: AtomicUsize,
    /// Turns in a row that moved nothing.
    pub(super) idle: AtomicUsize,
    pub(super) unsynced: AtomicUsize,
    /// An upper bound of the length of every value, past ones too: a power of two.
    largest: AtomicUsize,
}

impl WriteAccount {
    /// `is_empty` says that there are no values yet.
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

    /// Must be called before every sync.
    pub(super) fn note_sync(&self) {
        self.unsynced.store(0, Ordering::Relaxed);
    }

    /// Notes the length of a value before the value is written, so that the note is there whenever the
    /// value is.
    pub(super) fn note_length(&self, length: usize) -> Result<(), Error> {
        if length <= self.largest.load(Ordering::Relaxed) {
            return Ok(());
        }
        let largest = length.next_power_of_two();
        let noted = self.turns.insert(LARGEST, &(largest as u64).to_be_bytes());
        noted.map_err(|error| engine(EngineCall::Write, error))?;
        self.largest.store(largest, Ordering::Relaxed);
        Ok(())
    }

    /// The most bytes that a page takes.
    pub(super) fn page_bytes(&self) -> usize {
        PAGE_VALUES * (self.largest.load(Ordering::Relaxed).min(VALUE_BYTES_MAX) + VALUE_BYTES)
    }

    /// Accounts for a value of this length that was put.
    pub(super) fn note_put(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        self.note_written(bytes.saturating_mul(TIMES_WRITTEN) + CHANGE_BYTES, sync)
    }

    /// Accounts for a value of this length that was removed.
    pub(super) fn note_removal(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        self.note_reusable(bytes);
        // sled also moves a page now and then.
        let moved = self.page_bytes() / CHANGES_FOR_A_MOVE;
        self.note_written(bytes * TIMES_WRITTEN + CHANGE_BYTES + moved, sync)
    }

    /// Notes that the space of this many bytes can be reused.
    pub(super) fn note_reusable(&self, bytes: usize) {
        self.owed
            .fetch_add(bytes.max(BYTES_FOR_A_MOVE), Ordering::Relaxed);
    }

    fn note_written(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        if self.unsynced.fetch_add(bytes, Ordering::Relaxed) + bytes <= UNSYNCED_BYTES {
            return Ok(());
        }
        sync().map(drop)
    }

    /// Has sled move some of the pages that replaced values call for, and makes that durable. False if no
    /// more need to be moved, or none is left.
    pub(super) fn move_pages(&self, sync: Sync<'_>) -> Result<bool, Error> {
        let at_once = (UNSYNCED_BYTES / self.page_bytes()).max(1);
        let paid = self.owed.load(Ordering::Relaxed) / BYTES_FOR_A_MOVE;
        let moves = paid.min(at_once);
        if moves == 0 {
            return Ok(false);
        }
        // What is moved may take all that is written between two syncs.
        if self.unsynced.load(Ordering::Relaxed) > 0 {
            sync()?;
        }
        for _ in 0..moves * CHANGES_FOR_A_MOVE {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            let changed = self.turns.insert(TURN, &turn.to_be_bytes());
            changed.map_err(|error| engine(EngineCall::Tidy, error))?;
        }
        let written = sync()?;
        self.owed
            .fetch_sub(moves * BYTES_FOR_A_MOVE, Ordering::Relaxed);
        let idle = if written < moves * TURN_BYTES {
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

/// The noted length; a database of an older release, which has no note, may have values of any length.
fn largest_of(is_empty: bool, turns: &Tree) -> Result<usize, Error> {
    let noted = turns.get(LARGEST);
    let noted = noted.map_err(|error| engine(EngineCall::Read, error))?;
    let length = noted.and_then(|noted| <[u8; 8]>::try_from(&*noted).ok());
    if let Some(length) = length {
        return Ok(usize::try_from(u64::from_be_bytes(length)).unwrap_or(VALUE_BYTES_MAX));
    }
    Ok(if is_empty { 0 } else { VALUE_BYTES_MAX })
}
