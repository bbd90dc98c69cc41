//! Frames as values of sled. A large frame is cut into pieces, for sled keeps what exceeds a quarter
//! of a segment, a value or a page of them, in blob files that it never syncs.

#[cfg(test)]
mod tests;

use super::{engine, open_tree};
use crate::Error;
use crate::storage::Stored;
use ::sled::{Db, IVec, Tree};
use hindsight_core::Revision;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A page holds up to 17 values before it is split; so many of this size stay under the limit.
pub(super) const PIECE_BYTES: usize = 96 << 10;
/// Frames of one format are in one tree; a release that knows more formats has more trees.
const FRAMES: &str = "frames-1";
const PIECES: &str = "pieces-1";

/// What sled may have written before it is synced. It takes the room of what was replaced for new
/// segments once it has written what replaces it, and not once that is durable; a segment of 8 MiB
/// always lies between the two, so with a sync in less than that the one is before the other.
const UNSYNCED_BYTES: usize = 2 << 20;
/// A value is written once, and again with its page, which is after every tenth change of that.
const TIMES_WRITTEN: usize = 3;
/// Of sled's own, for each change.
const CHANGE_BYTES: usize = 1 << 10;

/// sled takes a segment again once what is left in it was moved, a page at a time: whenever it rewrites
/// a page, which is at every eleventh change of that, it moves one. Where much is replaced it falls behind
/// for ever. So a page is changed for that alone, as often as it takes for one to be moved, for so many bytes
/// that were replaced, and for each value: what is left over ends once nothing is there to be moved.
const BYTES_FOR_A_MOVE: usize = 16 << 10;
const CHANGES_FOR_A_MOVE: usize = 11;
/// Values of a page, at most; and what each needs beside itself.
const PAGE_VALUES: usize = 18;
const VALUE_BYTES: usize = 64;
/// A turn that moves nothing writes less. It may be that of a page that was to be moved and was written
/// anew meanwhile; after so many in a row nothing is left to be moved.
const TURN_BYTES: usize = 1 << 10;
const IDLE_MAX: usize = 1 << 10;
const TURNS: &str = "turns-1";
const TURN: &[u8] = b"turn";
const LARGEST: &[u8] = b"largest";

/// The first piece of every frame by its first revision, and the others behind by their number.
#[derive(Debug)]
pub(super) struct FrameTrees {
    first: Tree,
    others: Tree,
    /// A value that is changed so that pages are moved, and how large values are.
    turns: Tree,
    turn: AtomicU64,
    /// Replaced bytes for which no page was moved yet.
    owed: AtomicUsize,
    /// Turns in a row that moved nothing.
    idle: AtomicUsize,
    unsynced: AtomicUsize,
    /// No value is or was larger: a power of two.
    largest: AtomicUsize,
}

/// Makes durable whatever was written, and tells how many bytes that is in the file.
type Sync<'a> = &'a dyn Fn() -> Result<usize, Error>;

impl FrameTrees {
    pub(super) fn open(database: &Db) -> Result<Self, Error> {
        let first = open_tree(database, FRAMES)?;
        let turns = open_tree(database, TURNS)?;
        let largest = largest_of(&first, &turns)?;
        Ok(Self {
            first,
            others: open_tree(database, PIECES)?,
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

    /// Whether nothing was written since the last of those.
    pub(super) fn is_synced(&self) -> bool {
        self.unsynced.load(Ordering::Relaxed) == 0
    }

    fn put(&self, tree: &Tree, key: &[u8], value: &[u8], sync: Sync<'_>) -> Result<(), Error> {
        self.note_length(value.len())?;
        tree.insert(key, value)
            .map_err(|error| engine("writing", error))?;
        self.changed(value.len(), sync)
    }

    /// Is there whenever the value is, for it is written before.
    fn note_length(&self, length: usize) -> Result<(), Error> {
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
    fn page_bytes(&self) -> usize {
        PAGE_VALUES * (self.largest.load(Ordering::Relaxed).min(PIECE_BYTES) + VALUE_BYTES)
    }

    fn drop_all(
        &self,
        tree: &Tree,
        found: impl Iterator<Item = ::sled::Result<(IVec, IVec)>>,
        sync: Sync<'_>,
    ) -> Result<(), Error> {
        let failed = |error| engine("replacing", error);
        for found in found {
            let (key, value) = found.map_err(failed)?;
            tree.remove(key).map_err(failed)?;
            let owed = value.len().max(BYTES_FOR_A_MOVE);
            self.owed.fetch_add(owed, Ordering::Relaxed);
            // sled moves a page meanwhile too.
            let moved = self.page_bytes() / CHANGES_FOR_A_MOVE;
            self.wrote(value.len() * TIMES_WRITTEN + CHANGE_BYTES + moved, sync)?;
        }
        Ok(())
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

    fn changed(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        self.wrote(bytes.saturating_mul(TIMES_WRITTEN) + CHANGE_BYTES, sync)
    }

    fn wrote(&self, bytes: usize, sync: Sync<'_>) -> Result<(), Error> {
        if self.unsynced.fetch_add(bytes, Ordering::Relaxed) + bytes <= UNSYNCED_BYTES {
            return Ok(());
        }
        sync().map(drop)
    }

    /// The first piece is written last: where that is there, the whole frame is. A first piece of full
    /// size is followed by others, the last of which is not of full size.
    pub(super) fn append(
        &self,
        first: Revision,
        frame: &[u8],
        sync: Sync<'_>,
    ) -> Result<(), Error> {
        let (head, mut rest) = split(frame);
        let mut number = 0_u32;
        let mut is_open = head.len() == PIECE_BYTES;
        while is_open {
            let (piece, after) = split(rest);
            let key = other_key(first, number);
            self.put(&self.others, &key, piece, sync)?;
            is_open = piece.len() == PIECE_BYTES;
            rest = after;
            number += 1;
        }
        self.put(&self.first, &key(first), head, sync)
    }

    /// sled shows what was written up to some point and nothing after it: where an old frame is gone,
    /// the one that replaces it is there.
    pub(super) fn replace(
        &self,
        first: Revision,
        last: Revision,
        frame: &[u8],
        sync: Sync<'_>,
    ) -> Result<(), Error> {
        self.put(&self.first, &key(first), frame, sync)?;
        let replaced = self.first.range(key(first.next())..=key(last));
        self.drop_all(&self.first, replaced, sync)?;
        let pieces = other_key(first, 0)..other_key(last.next(), 0);
        self.drop_all(&self.others, self.others.range(pieces), sync)
    }

    pub(super) fn at_or_after(&self, from: Revision) -> Result<Option<Stored>, Error> {
        self.find(|| self.first.range(key(from)..).next())
    }

    pub(super) fn at_or_before(&self, until: Revision) -> Result<Option<Stored>, Error> {
        self.find(|| self.first.range(..=key(until)).next_back())
    }

    /// Looks again where something came in the place of what was found while its pieces were read, be it
    /// under its own key or within the frame before. That has no pieces.
    fn find(
        &self,
        look: impl Fn() -> Option<::sled::Result<(IVec, IVec)>>,
    ) -> Result<Option<Stored>, Error> {
        while let Some(pair) = look() {
            let (key, head) = pair.map_err(|error| engine("reading", error))?;
            let key = <[u8; 8]>::try_from(&*key)
                .map_err(|_| Error::engine("reading", "a key is not a revision"))?;
            let first = Revision(u64::from_be_bytes(key));
            if let Some(frame) = self.whole(first, &head)? {
                return Ok(Some((first, frame)));
            }
        }
        Ok(None)
    }

    /// Nothing where it was replaced meanwhile.
    fn whole(&self, first: Revision, head: &IVec) -> Result<Option<Vec<u8>>, Error> {
        let mut frame = head.to_vec();
        let mut is_open = frame.len() == PIECE_BYTES;
        let mut number = 0;
        while is_open {
            let piece = self.others.get(other_key(first, number));
            let piece = piece.map_err(|error| engine("reading", error))?;
            if piece.is_none() && !self.is_there(first, head)? {
                return Ok(None);
            }
            // A piece that is gone leaves a frame that is too short for its own header.
            is_open = piece.as_ref().is_some_and(|one| one.len() == PIECE_BYTES);
            frame.extend_from_slice(&piece.unwrap_or_default());
            number += 1;
        }
        Ok(Some(frame))
    }

    /// Whether a frame still begins with this.
    fn is_there(&self, first: Revision, head: &IVec) -> Result<bool, Error> {
        let now = self.first.get(key(first));
        let now = now.map_err(|error| engine("reading", error))?;
        Ok(now.as_ref() == Some(head))
    }
}

/// As it is noted; a database of before that may have any.
fn largest_of(first: &Tree, turns: &Tree) -> Result<usize, Error> {
    let noted = turns.get(LARGEST);
    let noted = noted.map_err(|error| engine("reading", error))?;
    let length = noted.and_then(|noted| <[u8; 8]>::try_from(&*noted).ok());
    if let Some(length) = length {
        return Ok(usize::try_from(u64::from_be_bytes(length)).unwrap_or(PIECE_BYTES));
    }
    Ok(if first.is_empty() { 0 } else { PIECE_BYTES })
}

fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len().min(PIECE_BYTES))
}

const fn key(revision: Revision) -> [u8; 8] {
    revision.0.to_be_bytes()
}

fn other_key(first: Revision, number: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    let whole = key(first).into_iter().chain(number.to_be_bytes());
    bytes
        .iter_mut()
        .zip(whole)
        .for_each(|(to, from)| *to = from);
    bytes
}
